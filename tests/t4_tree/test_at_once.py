"""New small files are made and kept on the event loop, which waits for the disk alone; where it would have to wait for
somebody else, threads do."""

from __future__ import annotations

import os
import sqlite3
import time

import pytest
import trio

from kgfs.tree.node import ROOT_INODE, Caller
from kgfs.tree.vfs import Vfs, space_of
from tests.support.depositing import Desk
from tests.support.documents_tree import root_of

ME = Caller(os.getuid(), os.getgid())


async def copy(vfs: Vfs, folder: int, number: int) -> None:
    """What the kernel asks for when ``cp`` makes a file."""
    name = f"{number:03d}.txt".encode()
    assert await vfs.lookup(folder, name) is None
    fh, attr = await vfs.create(folder, name, 0o100644, os.O_WRONLY | os.O_CREAT | os.O_EXCL, ME)
    assert await vfs.files.write(fh, 0, b"content %d" % number) > 0
    await vfs.files.flush(fh)
    await vfs.files.release(fh)
    vfs.forget([(attr.inode, 1)])


async def copy_many(vfs: Vfs, count: int) -> None:
    attr = await vfs.lookup(ROOT_INODE, b"documents")
    assert attr is not None
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(copy, vfs, attr.inode, number)
    vfs.forget([(attr.inode, 1)])


def kept(desk: Desk) -> list[str]:
    return [name.name for name in desk.catalog.names.children(desk.ontology().root) if name.sha256]


async def test_small_files_take_no_threads_and_share_syncs(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    vfs = Vfs(root_of(desk), lambda: space_of("/"))
    syncs, sync = [0], os.fdatasync

    def counted(descriptor: int) -> None:
        """A disk so slow that all others come while the first waits for it."""
        syncs[0] += 1
        end = time.monotonic() + 30
        while len(kept(desk)) < 64:
            assert time.monotonic() < end
            time.sleep(0.01)
        sync(descriptor)

    async def no_thread(call: object) -> None:
        raise AssertionError("a thread was asked")

    monkeypatch.setattr(os, "fdatasync", counted)
    monkeypatch.setattr("kgfs.stores.timing.SYNC_WITHIN", 3600.0)
    monkeypatch.setattr("kgfs.stores.timing.SLOW_COMMIT", 3600.0)
    monkeypatch.setattr(vfs._threads, "change", no_thread)
    await copy_many(vfs, 64)
    assert len(kept(desk)) == 64
    assert 1 <= syncs[0] <= 2
    assert len(vfs.handles) == 0


async def test_while_another_process_writes_threads_wait_for_it(desk: Desk) -> None:
    vfs = Vfs(root_of(desk), lambda: space_of("/"))
    other = sqlite3.connect(desk.config.catalog_db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(copy_many, vfs, 8)
        await trio.sleep(0.2)
        assert kept(desk) == []
        with trio.fail_after(5):  # nobody else waits
            assert await vfs.lookup(ROOT_INODE, b"nothing") is None
        other.execute("ROLLBACK")
        other.close()
    assert len(kept(desk)) == 8
