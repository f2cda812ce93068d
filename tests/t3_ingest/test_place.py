"""Making an object of another: what that asks of this machine."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.errors import KgfsError
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.object_copies import duplicate
from kgfs.stores.stores import Stores
from tests.support.peers.buckets import garage_of

CONTENT = random.Random(9).randbytes(BLOCK + 1)


@pytest.fixture(name="no_spool")
def a_spool_without_room(tmp_path: Path) -> Path:
    """Not a folder, so that no file can be made in it."""
    spool = tmp_path / "spool"
    spool.write_bytes(b"")
    return spool


@pytest.mark.parametrize("kind", ["files", "seaweedfs", "minio"])
def test_what_is_one_block_needs_no_room_on_the_disk(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, no_spool: Path
) -> None:
    with closing(Stores(garage_of(kind, tmp_path, request), Catalog(None), Graph())) as stores:
        sums = stores.garage.objects.put("sources/Zen/1.bin", CONTENT[:BLOCK])
        assert duplicate(stores, no_spool, "sources/Zen/1.bin", "leaving/1/sources/Zen/1.bin")
        assert stores.garage.objects.stat("leaving/1/sources/Zen/1.bin") == sums
        assert not duplicate(stores, no_spool, "sources/Zen/absent.bin", "leaving/1/sources/Zen/absent.bin")


def test_where_the_disk_has_no_room_nothing_stays_open(
    request: pytest.FixtureRequest, tmp_path: Path, no_spool: Path
) -> None:
    with closing(Stores(garage_of("files", tmp_path, request), Catalog(None), Graph())) as stores:
        stores.garage.objects.put("sources/Zen/1.bin", CONTENT)
        before = os.listdir("/proc/self/fd")
        for _ in range(8):
            with pytest.raises(KgfsError):
                duplicate(stores, no_spool, "sources/Zen/1.bin", "sources/Zen/2.bin")
        assert os.listdir("/proc/self/fd") == before
