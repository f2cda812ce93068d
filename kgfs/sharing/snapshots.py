"""Make snapshots of this home for new homes, and delete those that may hold purged data.

A snapshot is made under the lease ``snapshot``, so that one home at a time makes one. It is also made under a lock of
the home, so that the home does not report a purge as obeyed while it may still put a copy from before that purge.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import BusyError, KgfsError
from kgfs.failpoints import border
from kgfs.sharing import timing
from kgfs.stores.disk_reserve import leave_free
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.hosts import host_id, purges_between
from kgfs.stores.leases.bucket import BucketLeases
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import Holding
from kgfs.stores.locks import alone, locked_within
from kgfs.stores.snapshots import layout
from kgfs.stores.snapshots.copying import copy_graph, copy_names, copy_vectors
from kgfs.stores.snapshots.layout import GRAPH, MANIFEST, NAMES, VECTORS, File, Manifest
from kgfs.stores.snapshots.putting import put_file
from kgfs.stores.stores import Stores
from kgfs.stores.sync_cursors import read_note, vectors_note

LEASE = "snapshot"
LOCK = "snapshot.lock"
COPIES = "snapshot.making"
"""A folder in the run folder that holds the copies while they are put."""
GROWN_BYTES, GROWN_SHARE = 64 << 20, 1.25
"""A graph that has grown by ``GROWN_BYTES``, and by a quarter, since the newest snapshot is worth another one."""
EVER = 2**63 - 1

Stop = Callable[[], bool]


@contextmanager
def keeping_snapshots(config: Config, stores: Stores) -> Iterator[None]:
    """Run a thread that makes a snapshot whenever one is due and no document is queued. For the worker of a home.

    At the end of the context the thread ends, and gives up a snapshot that is under way. Does nothing where the home
    shares no garage, or ``garage.snapshot_facts`` is 0.
    """
    if not (stores.catalog.sharing and config.garage_store.snapshot_facts):
        yield
        return
    ending = threading.Event()
    thread = threading.Thread(target=_keep, args=(config, stores, ending), name="kgfs-snapshots", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def _keep(config: Config, stores: Stores, ending: threading.Event) -> None:
    trouble, pause, checked = Trouble(ErrorLog(config.errors_log), "snapshot"), timing.SNAPSHOT_POLL, -1
    model = stores.vectors.model if stores.vectors is not None else ""
    with closing(open_garage(config, cached=False)) as garage:
        while not ending.wait(pause):
            pause = timing.SNAPSHOT_POLL
            try:
                upto = stores.catalog.confirmed()
                if upto == checked or stores.catalog.jobs.owed():
                    continue
                if is_due(config, garage.objects, upto):
                    make_snapshot(config, stores, garage.objects, model, ending.is_set)
                checked = upto
                trouble.over()
            except BusyError:
                continue  # another home makes one, or the graph is being changed: the next check retries
            except KgfsError as error:
                trouble.met(error)
                pause = timing.SNAPSHOT_RETRY


def is_due(config: Config, objects: Objects, upto: int) -> bool:
    """Return whether the facts up to ``upto``, or the graph's growth, since the newest snapshot make another one
    worthwhile. Asks the bucket."""
    newest = next((found for found in layout.manifests(objects) if isinstance(found, Manifest)), None)
    if upto - (newest.position if newest else 0) >= config.garage_store.snapshot_facts:
        return True
    graph = newest.file(GRAPH) if newest else None
    now = config.graph_db.stat().st_size if config.graph_db.exists() else 0
    before = graph.size if graph else 0
    return now >= before + GROWN_BYTES and now >= before * GROWN_SHARE


def make_snapshot(config: Config, stores: Stores, objects: Objects, model: str, stop: Stop = lambda: False) -> Manifest:
    """Copy this home's databases, put them as a snapshot, and return its manifest. Only the newest ``layout.KEPT``
    snapshots stay.

    ``objects`` are those of the shared garage, without a cache. ``model`` is the embedding model whose vectors are
    copied, '' for none. Raise BusyError where another home, or another process of this one, makes a snapshot, where
    the graph is being changed, where a document was purged meanwhile, or where ``stop`` returns True; then no
    snapshot is left. Raise NoSpaceError where the copies would use the last of the disk.
    """
    refusal = "Another process of this home is making a snapshot. Try again later."
    with alone(config.run / LOCK, refusal), closing(Holding(BucketLeases(objects), config.pipeline.lease)) as holding:
        lease = holding.take(LEASE)
        if lease is None:
            raise BusyError("Another home is making a snapshot. Try again later.")
        try:
            for keys in layout.folders(objects).values():
                if not layout.is_complete(keys):  # its maker was killed, or will notice that it lost the lease
                    layout.delete_folder(objects, keys)
            return _make(config, stores, objects, model, stop, lambda: _surely(holding, lease))
        finally:
            remove_copies(config)
            holding.release(lease)


def delete_purged(config: Config, objects: Objects, fact: int) -> bool:
    """Delete every snapshot from before the purging fact ``fact``, and the copies that a killed process left on this
    machine.

    Return False, with nothing done, while this home makes a snapshot: it checks for purges itself when it is done.
    Else return True.
    """
    with locked_within(config.run / LOCK, 0) as ours:
        if ours:
            remove_copies(config)
            layout.delete_before(objects, fact)
        return ours


def remove_copies(config: Config) -> None:
    """Delete the copies on this machine."""
    with os_errors(f"Removing {config.run / COPIES}"), suppress(FileNotFoundError):
        shutil.rmtree(config.run / COPIES)


def _make(config: Config, stores: Stores, objects: Objects, model: str, stop: Stop, is_ours: Stop) -> Manifest:
    copies = _copied(config, model, stop)
    position = min(at for _, _, at in copies)
    _refuse_purged(stores, position)
    folder = layout.new_folder(position, host_id(config))
    try:
        files: list[File] = []
        for name, path, at in copies:
            files.append(put_file(objects, folder, name, path, at, stop, model if name == VECTORS else ""))
            path.unlink()
        _refuse(not is_ours(), "The lease of the snapshot ran out while it was put.")
        manifest = Manifest(folder, int(time.time()), tuple(files))
        objects.put(folder + MANIFEST, layout.encode(manifest))
        border("snapshot-put")
        _refuse_purged(stores, position)
        put = {layout.key_of_part(folder, file.name, n) for file in files for n in range(len(file.parts))}
        there = {key for key, _ in objects.keys(folder)}
        _refuse(not put <= there, "Another home took the snapshot for one that was left half put.")
    except BaseException:
        with suppress(KgfsError):  # the next snapshot, or the next purge, deletes the rest
            layout.delete_folder(objects, [key for key, _ in objects.keys(folder)])
        raise
    layout.delete_old(objects)
    return manifest


def _copied(config: Config, model: str, stop: Stop) -> list[tuple[str, Path, int]]:
    """Copy the databases; return (name, path of the copy, the last fact that it holds) of each."""
    # Facts after the cursor that are in the vectors already are applied to the copy once more, which is harmless.
    followed = read_note(vectors_note(config, model)) if config.vectors.store == "sqlite" and model else None
    vectors = config.vectors_db if followed else None
    sizes = [path.stat().st_size for path in (config.catalog_db, config.graph_db, vectors) if path and path.exists()]
    folder = config.run / COPIES
    remove_copies(config)
    leave_free(folder, "a snapshot of this home", EVER, sum(sizes))
    with os_errors(f"Making {folder}"):
        folder.mkdir(mode=0o700)
    found = []
    if followed and vectors and vectors.exists():
        copy_vectors(vectors, folder / VECTORS, model, stop)
        found.append((VECTORS, folder / VECTORS, followed[0]))
    found.append((GRAPH, folder / GRAPH, copy_graph(config.graph_db, folder / GRAPH, stop)))
    # Last, so that the names know every fact that the other copies hold.
    found.append((NAMES, folder / NAMES, copy_names(config.catalog_db, folder / NAMES, stop)))
    return found


def _refuse_purged(stores: Stores, position: int) -> None:
    """Raise BusyError where the ledger has a purge after the fact ``position``: the copies may hold the purged
    text."""
    purged = any(True for _ in purges_between(stores, position, EVER))
    _refuse(purged, "A document was purged since the copies were made.")


def _refuse(wrong: bool, why: str) -> None:
    if wrong:
        raise BusyError(f"{why} Try again later.")


def _surely(holding: Holding, lease: Lease) -> bool:
    """Return whether the lease is still held, by a check of the bucket too."""
    return holding.holds(lease) and holding.surely_holds(lease)
