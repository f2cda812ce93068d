"""Copying inside a garage: what a copy is, wherever there is one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.peers.buckets import GARAGES, garage_of

LARGE = random.Random(7).randbytes((9 << 20) + 5)
KEY, WAITS = "sources/Zen/0123.bin", "inbox/1f.0123"


@pytest.mark.parametrize("kind", GARAGES)
def test_a_copy_is_the_object_or_none(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    objects = garage_of(kind, tmp_path, request).objects
    assert not objects.copy(WAITS, KEY) and not objects.exists(KEY), "what is absent is not copied"
    for content in (LARGE, b"small"):
        sums = objects.put(WAITS, content)
        done = objects.copy(WAITS, KEY)
        assert done is objects.exists(KEY)
        assert done is objects.copy(WAITS, KEY), "twice is once"
        if content is LARGE:
            assert done is (kind != "files")
        if done:
            assert objects.stat(KEY) == sums and objects.get(KEY) == content
        assert objects.put(KEY, content) == sums
        for key in (WAITS, KEY):
            objects.delete(key)
