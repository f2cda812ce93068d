"""Identity as programs see it through a mount: duplicates, moves, versions brought back."""

from __future__ import annotations

import json
import os
from errno import EEXIST
from pathlib import Path

import pytest

from tests.scenarios.filesystem import fails_with
from tests.t5_mount.mounting import Library, journal_of, mounted_place, run, sha
from tests.t6_whole.running import until

pytestmark = pytest.mark.mounted
claim = pytest.mark.claim

NOTE = "The garbage collector is a program that reclaims memory. Reference counting is a form of garbage collection.\n"


@claim("DUP-1")
@pytest.mark.logs("was refused")
def test_duplicates_are_refused_where_that_is_wanted(tmp_path: Path) -> None:
    refusing = {"KGFS_TREE_ON_DUPLICATE": "refuse"}
    with (
        mounted_place(tmp_path / "place", "--no-worker", env=refusing, declared=("was refused",)) as place,
        journal_of(place) as journal,
    ):
        library = Library(place, journal, "A")
        library.top.mkdir()
        documents = library.documents
        (documents / "a.txt").write_text(NOTE)
        (documents / "other.txt").write_text("Other bytes.\n")
        library.settled()
        said = run("cp", documents / "a.txt", documents / "b.txt", code=1)
        assert os.strerror(EEXIST) in said
        until(lambda: (documents / "b.txt").read_bytes() == b"", 1.0)  # as empty as cp made it
        assert os.strerror(EEXIST) in run("cp", documents / "a.txt", documents / "other.txt", code=1)
        until(lambda: (documents / "other.txt").read_text() == "Other bytes.\n", 1.0)
        assert (documents / "other.txt").stat().st_size == 13
        (documents / ".hidden").write_text(NOTE)
        with fails_with(EEXIST):
            (documents / ".hidden").rename(documents / "c.txt")
        descriptor = os.open(documents / "d.txt", os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, NOTE.encode())
        with fails_with(EEXIST):
            os.fsync(descriptor)
        with fails_with(EEXIST):
            os.close(descriptor)
        log = (place.mountpoint / ".kgfs" / "errors.ndjson").read_text()
        refused = [line for line in map(json.loads, log.splitlines()) if line["where"] == "refuse"]
        assert [line["path"] for line in refused] == ["b.txt", "other.txt", "c.txt", "d.txt"]
        assert {line["sha256"] for line in refused} == {sha(NOTE.encode())}
        assert all(line["at"] and line["held_by"] == "a.txt" for line in refused)
        library.settled()
        assert {path for path, _, _ in library.minted()} == {"a.txt", "other.txt"}
        outside = tmp_path / "copy.txt"
        outside.write_text(NOTE)
        said = place.run("ingest", outside, "--ontology", "A", "--no-wait", expect=5).stderr
        assert "copy.txt" in said
