"""Start a new home from a snapshot in its shared bucket, instead of deriving all of it from the ledger."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import AWAY, KgfsError, NoSpaceError, StoreError
from kgfs.failpoints import border
from kgfs.stores import hosts
from kgfs.stores.database import remove_database
from kgfs.stores.disk_reserve import leave_free
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import os_errors, sync_folder
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.locks import locked
from kgfs.stores.run_files import write_note
from kgfs.stores.snapshots import layout
from kgfs.stores.snapshots.fetching import fetch_file
from kgfs.stores.snapshots.layout import GRAPH, NAMES, VECTORS, File, Manifest
from kgfs.stores.sqlite_files import HOME_FORMAT
from kgfs.stores.sync_cursors import vectors_note

FETCHED = "snapshot.fetched"
"""Folder in the run folder with the files of snapshots that were fetched so far. Each subfolder is named after the
last part of the snapshot's name in the bucket.
"""

EVER = 2**63 - 1

log = logging.getLogger("kgfs.snapshot")


def begin_with_snapshot(
    config: Config,
    progress: Callable[[int, int], None] = lambda done, total: None,
    report: Callable[[str], None] = lambda step: None,
) -> bool:
    """Fetch the newest usable snapshot of the bucket and install its files in a home that has no names yet.

    Return whether a snapshot was installed. From there the home follows the ledger. One process does the work while
    other processes wait. After a kill, the next call continues with the files that were already fetched. A snapshot
    that is damaged, incomplete or of another version is skipped with one line in the log. Raise UnavailableError or
    TimedOutError if the bucket is away, and NoSpaceError if the disk has no room. ``progress`` is called with (done,
    total) in MiB, and ``report`` with a step in words.
    """
    if config.catalog_db.exists():
        return False
    from kgfs.app.home import RESTORING

    with locked(config.run / RESTORING), closing(open_garage(config, cached=False)) as garage:
        if config.catalog_db.exists():
            return False
        report("Looking in the bucket for a snapshot to begin with")
        for found in layout.manifests(garage.objects):
            if isinstance(found, StoreError):
                log.warning("passed over: %s", found)
            elif _take(config, garage.objects, found, progress):
                return True
        _remove_fetched(config)
        return False


def _take(config: Config, objects: Objects, found: Manifest, progress: Callable[[int, int], None]) -> bool:
    """Start the home from this snapshot. Return False if the snapshot is skipped."""
    files = [file for file in found.files if _is_wanted(config, file)]
    if not files:
        log.warning("passed over: %s has no file of a format that this kgfs has.", found.folder)
        return False
    folder = config.run / FETCHED / found.folder.rstrip("/").rpartition("/")[2]
    has_own = any(config.spool.iterdir()) or config.garage_cache.exists()
    try:
        _fetch(config, objects, found, files, folder, progress, has_own=has_own)
    except (NoSpaceError, *AWAY):
        raise
    except KgfsError as error:  # damaged, or deleted meanwhile; the next snapshot, or the ledger, has the same data
        log.warning("passed over: %s: %s", found.folder, error)
        return False
    border("snapshot-fetched")
    if has_own:
        from kgfs.sharing.apply_purges import note_all_purges  # needed by shared homes only

        note_all_purges(config)
    _put_in_place(config, folder, files)
    log.info("begun with the snapshot of fact %d, %d MiB", found.position, found.size >> 20)
    return True


def _is_wanted(config: Config, file: File) -> bool:
    if file.schema != HOME_FORMAT:
        return False
    if file.name == layout.VECTORS:
        return config.vectors.store == "sqlite" and config.models.embedder != "none"
    return file.name in (layout.NAMES, layout.GRAPH)


def _fetch(
    config: Config,
    objects: Objects,
    found: Manifest,
    files: Sequence[File],
    folder: Path,
    progress: Callable[[int, int], None],
    *,
    has_own: bool,
) -> None:
    with os_errors(f"Making {folder}"):
        for other in (config.run / FETCHED).glob("*"):
            if other != folder:
                shutil.rmtree(other)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = sum(path.stat().st_size for path in folder.iterdir())
    done, total = 0, sum(file.size for file in files)
    leave_free(folder, "the snapshot that this home is to begin with", EVER, max(0, total - there))
    # This must precede the arrival of any text of the snapshot: from now on purges wait for this home too.
    hosts.say(config, objects, 0 if has_own else found.position)

    def more(size: int) -> None:
        nonlocal done
        done += size
        progress(done >> 20, total >> 20)

    for file in files:
        fetch_file(objects, found.folder, file, folder / file.name, more)


def _put_in_place(config: Config, folder: Path, files: Sequence[File]) -> None:
    """Move the fetched files into the home, the names last.

    While the names are missing, the next call after a kill repeats all of this.
    """
    targets = {VECTORS: config.vectors_db, GRAPH: config.graph_db, NAMES: config.catalog_db}
    with os_errors(f"Putting the snapshot in place in {config.home}"):
        for target in targets.values():
            remove_database(target)
        for note in config.run.glob("vectors-*.upto"):
            note.unlink(missing_ok=True)
        for file in sorted(files, key=lambda file: list(targets).index(file.name)):
            if file.name == VECTORS:
                write_note(vectors_note(config, file.model), [file.position])
            (folder / file.name).rename(targets[file.name])
            sync_folder(config.home)
            border("snapshot-in-place")
    _remove_fetched(config)


def _remove_fetched(config: Config) -> None:
    with os_errors(f"Removing {config.run / FETCHED}"), suppress(FileNotFoundError):
        shutil.rmtree(config.run / FETCHED)
