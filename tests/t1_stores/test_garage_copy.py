"""Copying inside a garage: what a copy is, wherever there is one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from kgfs.errors import ExistsError
from kgfs.stores.garage.s3.bucket import Span
from kgfs.stores.garage.s3.names import UPLOADS, object_name
from kgfs.stores.garage.s3.objects import S3Objects
from tests.support.peers.buckets import GARAGES, S3, garage_of

LARGE = random.Random(7).randbytes((9 << 20) + 5)
MIDDLE, SMALL = LARGE[: (1 << 20) + 1], b"small"
KEY, WAITS = "sources/Zen/0123.bin", "sources/Other/0123.bin"


@pytest.mark.parametrize("kind", GARAGES)
def test_a_copy_is_the_object_or_none(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    objects = garage_of(kind, tmp_path, request).objects
    assert not objects.copy(WAITS, KEY) and not objects.exists(KEY), "what is absent is not copied"
    for content in (LARGE, MIDDLE, SMALL):
        sums = objects.put(WAITS, content)
        done = objects.copy(WAITS, KEY)
        assert done is objects.exists(KEY)
        assert done is objects.copy(WAITS, KEY), "twice is once"
        if content is not SMALL:
            assert done is (kind != "files")
        if done:
            assert objects.stat(KEY) == sums and objects.get(KEY) == content
        assert objects.put(KEY, content) == sums
        for key in (WAITS, KEY):
            objects.delete(key)


@pytest.mark.parametrize("kind", S3)
def test_what_is_probably_there_is_not_sent_where_it_is(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = garage_of(kind, tmp_path, request).objects
    sums = objects.put(KEY, MIDDLE, likely=True)
    assert objects.get(KEY) == MIDDLE
    with monkeypatch.context() as patched:
        patched.setattr(S3Objects, "_place", lambda *_: pytest.fail("bytes are sent"))
        assert objects.put(KEY, MIDDLE, likely=True) == sums
    with pytest.raises(ExistsError):
        objects.put(KEY, LARGE, likely=True)


@pytest.mark.parametrize("kind", S3)
def test_what_took_the_place_of_what_was_to_be_copied_is_not_copied(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = garage_of(kind, tmp_path, request).objects.stored
    assert isinstance(objects, S3Objects)
    objects.put(WAITS, MIDDLE)
    bucket = objects._bucket
    put_parts = bucket.put_parts

    def late(name: str, parts: Iterable[bytes | Span], meta: Mapping[str, str]) -> bool:
        bucket.replace(object_name(WAITS), MIDDLE[::-1], meta)
        return put_parts(name, parts, meta)

    monkeypatch.setattr(bucket, "put_parts", late)
    assert not objects.copy(WAITS, KEY)
    assert not objects.exists(KEY)
    assert list(bucket.listed(UPLOADS)) == []
