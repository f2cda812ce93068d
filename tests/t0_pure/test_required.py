"""What ``KGFS_REQUIRE`` names is never skipped, and it names nothing that no test asks for."""

from __future__ import annotations

import pytest

from tests.support import required


def test_what_is_required_fails_and_the_rest_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(required, "REQUIRED", required.required("fuse,neo4j,"))
    ends = (pytest.fail.Exception, pytest.skip.Exception)  # both: one that is not expected would skip this test
    for name, end in (("neo4j", pytest.fail.Exception), ("minio", pytest.skip.Exception)):
        with pytest.raises(ends, match=f"{name}.* it is not there") as told:
            required.missing(name, "it is not there")
        assert isinstance(told.value, end)


def test_a_name_that_no_test_asks_for_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match="'neo5j' is none of"):
        required.required("fuse,neo5j")
    with pytest.raises(AssertionError):
        required.missing("neo5j", "it is not there")
