"""Making an object of another: what that asks of this machine."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.domain.documents import Name, NameKind
from kgfs.errors import KgfsError, MissingError
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.object_copies import copy_within
from kgfs.stores.stores import Stores
from tests.support.peers.buckets import garage_of

CONTENT = random.Random(9).randbytes(BLOCK + 1)


@pytest.fixture(name="no_spool")
def a_spool_without_room(tmp_path: Path) -> Path:
    """Not a folder, so that no file can be made in it."""
    spool = tmp_path / "spool"
    spool.write_bytes(b"")
    return spool


def called(sums: Sums) -> Name:
    return Name(1, "Zen", 2, "1.bin", NameKind.FILE, 0o644, 0, 0, 0, 0, 0, size=sums.size, sha256=sums.sha256)


@pytest.mark.parametrize("kind", ["files", "seaweedfs", "minio"])
def test_what_is_one_block_needs_no_room_on_the_disk(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, no_spool: Path
) -> None:
    with closing(Stores(garage_of(kind, tmp_path, request), Catalog(None), Graph())) as stores:
        sums = stores.garage.objects.put("sources/Zen/1.bin", CONTENT[:BLOCK])
        copy_within(stores, no_spool, "sources/Zen/1.bin", called(sums), "sources/Other/1.bin")
        assert stores.garage.objects.stat("sources/Other/1.bin") == sums
        with pytest.raises(MissingError):
            copy_within(stores, no_spool, "sources/Zen/absent.bin", called(sums), "sources/Other/absent.bin")


def test_where_the_disk_has_no_room_nothing_stays_open(
    request: pytest.FixtureRequest, tmp_path: Path, no_spool: Path
) -> None:
    with closing(Stores(garage_of("files", tmp_path, request), Catalog(None), Graph())) as stores:
        sums = stores.garage.objects.put("sources/Zen/1.bin", CONTENT)
        before = os.listdir("/proc/self/fd")
        for _ in range(8):
            with pytest.raises(KgfsError):
                copy_within(stores, no_spool, "sources/Zen/1.bin", called(sums), "sources/Zen/2.bin")
        assert os.listdir("/proc/self/fd") == before
