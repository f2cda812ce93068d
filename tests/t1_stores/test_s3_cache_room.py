"""What the cache of contents leaves of a disk to the rest of the home."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kgfs.stores.disk_reserve import LEFT_FREE
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.sums import sums_of

MIB = 1 << 20
DISKS = {"large": (1 << 40, LEFT_FREE), "small": (400 * MIB, 100 * MIB)}
"""Size of the disk, and what is to be left of it."""


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", 1 << 30)


@pytest.fixture(params=DISKS)
def disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has so many bytes more free than are to be left."""
    size, left = DISKS[request.param]

    def has(more: int) -> None:
        about = (4096, 4096, size // 4096, *[(left + more) // 4096] * 2, 1, 1, 1, 0, 255)
        monkeypatch.setattr("kgfs.stores.garage.s3.cache.os.statvfs", lambda _: os.statvfs_result(about))

    return has


def kept(cache: Cache, key: str) -> bool:
    content = os.urandom(MIB // 2)
    cache.keep_whole(key, sums_of(content), content, cache.round())
    return cache.kept(key) is not None


@pytest.mark.claim("AWAY-5")
def test_nothing_is_kept_in_the_last_of_a_disk(cache: Cache, disk: Callable[[int], None]) -> None:
    disk(MIB)
    assert kept(cache, "first")
    disk(MIB // 4)
    assert not kept(cache, "second")
    assert cache.kept("first")


@pytest.mark.claim("AWAY-5")
def test_it_goes_when_others_fill_the_disk(cache: Cache, disk: Callable[[int], None]) -> None:
    disk(3 * MIB)
    for name in ("first", "second", "third"):
        assert kept(cache, name)
    disk(-MIB // 4)
    cache.leave_room()
    assert sum(cache.kept(name) is not None for name in ("first", "second", "third")) == 2
    disk(-2 * MIB)
    cache.leave_room()
    assert cache.used() == 0
