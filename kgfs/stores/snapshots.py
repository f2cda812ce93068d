"""Snapshots: copies of a home's databases in its bucket, with which a home on another machine begins when it takes over.

A snapshot is a set of objects below ``snapshots/<position>-<random>/``: the SQLite files ``names``, ``graph`` and
``vectors`` (where the home keeps vectors in a file), each in compressed parts, and ``manifest.json``, which is put last
and makes the snapshot complete. It is made only while everything is shipped and nothing is owed, so every file shows
exactly the ledger up to the position. A purge deletes all snapshots, since they hold the purged text. The worker of the
owner makes snapshots (:func:`keeping_snapshots`); :func:`install` begins a home with one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

from kgfs.config import Config
from kgfs.errors import AWAY, BusyError, CorruptError, KgfsError, MissingError, NoSpaceError, StoreError
from kgfs.failpoints import border
from kgfs.stores import timing
from kgfs.stores.database import remove_database, typed
from kgfs.stores.disk_reserve import leave_free
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import os_errors, sync_folder
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.merging import remove_some
from kgfs.stores.graph.rows import LEAVING, SHOWN
from kgfs.stores.locks import alone, locked
from kgfs.stores.run_files import BEGUN, write_note
from kgfs.stores.sqlite_files import HOME_FORMAT
from kgfs.stores.stores import Stores

SNAPSHOTS = "snapshots/"
MANIFEST = "manifest.json"
NAMES, GRAPH, VECTORS = "names", "graph", "vectors"
KEPT = 2
"""The number of complete snapshots that stay when a newer one is put."""
PART, LEVEL = 16 << 20, 1
"""Bytes of a part before compression, and the level of zlib: level 1 halves the bytes at 100 MB/s a core."""
CONCURRENCY = 3
"""Parts that are put or fetched at the same time. Each takes at most 32 MiB of memory."""
STEPS = 10_000
"""Steps of SQLite's virtual machine between two checks whether to give up: about a millisecond."""
LOCK = "snapshot.lock"
MAKING, FETCHED = "snapshot.making", "snapshot.fetched"
"""Folders in the run folder: the copies while they are put, and what was fetched so far of one to begin with."""
EVER = 2**63 - 1

Stop = Callable[[], bool]  # called often; returns True if the snapshot is to be given up


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a file, stored compressed as one object. Size and SHA-256 are those before compression."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class File:
    """One SQLite file of a snapshot."""

    name: str
    size: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One complete snapshot."""

    folder: str
    """The prefix of its keys, which ends with a slash."""
    made_at: int
    """Unix time in seconds."""
    files: tuple[File, ...]

    @property
    def position(self) -> int:
        """The number of the last fact that every file holds. The folder is named after it."""
        return int(self.folder.removeprefix(SNAPSHOTS).partition("-")[0])


# ------------------------------------------------------------------------------------------ what the bucket has


def manifests(objects: Objects) -> Iterator[Manifest | StoreError]:
    """Yield the manifest of each complete snapshot, the newest first; the error for one that cannot be read."""
    for folder, keys in sorted(_folders(objects).items(), reverse=True):
        if folder + MANIFEST not in keys:
            continue
        try:
            body = json.loads(objects.get(folder + MANIFEST))
            if body["format"] != HOME_FORMAT:
                yield StoreError(f"{folder}: passed over, since it has format {body['format']}.")
                continue
            files = [File(**{**file, "parts": tuple(Part(**part) for part in file["parts"])}) for file in body["files"]]
            yield Manifest(folder, body["made_at"], tuple(files))
        except MissingError:
            continue  # deleted since the listing
        except StoreError as error:
            yield error
        except (ValueError, LookupError, TypeError) as error:
            yield StoreError(f"{folder}: no manifest ({error}).")


def delete_all(config: Config, objects: Objects) -> None:
    """Delete every snapshot, complete or not, and the copies on this machine. For a purge, which repeats this until it
    succeeds.

    Waits for a snapshot that is being made; its maker gives it up once a purge is owed.
    """
    if config.garage_store.store == "files":
        return
    with locked(config.run / LOCK):
        _remove(config.run / MAKING)
        for keys in _folders(objects).values():
            _delete(objects, keys)


def _folders(objects: Objects) -> dict[str, list[str]]:
    """Return the keys of each snapshot, complete or not. One listing."""
    found: dict[str, list[str]] = {}
    for key, _ in objects.keys(SNAPSHOTS):
        found.setdefault(key.rpartition("/")[0] + "/", []).append(key)
    return found


def _delete(objects: Objects, keys: list[str]) -> None:
    """Delete a snapshot, the manifest first, so that no half of it looks complete."""
    for key in sorted(keys, key=lambda key: not key.endswith(f"/{MANIFEST}")):
        objects.delete(key)


def _key(folder: str, name: str, number: int) -> str:
    return f"{folder}{name}.sqlite.{number:05}"


# ---------------------------------------------------------------------------------------------------- making


@contextmanager
def keeping_snapshots(config: Config, stores: Stores) -> Iterator[None]:
    """Run a thread that makes a snapshot whenever one is due. For the worker of a home in a bucket.

    A snapshot is due ``garage.snapshot_facts`` facts after the newest one (0: never). At the end of the context the
    thread gives up what it is making.
    """
    if config.garage_store.store == "files" or not config.garage_store.snapshot_facts:
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
                newest = next((found for found in manifests(garage.objects) if isinstance(found, Manifest)), None)
                if upto - (newest.position if newest else 0) >= config.garage_store.snapshot_facts:
                    make_snapshot(config, stores, garage.objects, model, ending.is_set)
                checked = upto
                trouble.over()
            except BusyError:
                continue  # the home is being written to: the next check tries again
            except KgfsError as error:
                trouble.met(error)
                pause = timing.SNAPSHOT_RETRY


def make_snapshot(config: Config, stores: Stores, objects: Objects, model: str, stop: Stop = lambda: False) -> Manifest:
    """Copy this home's databases, put them as a snapshot, and return its manifest. The newest ``KEPT`` stay.

    ``objects`` are those of the garage, without a cache. ``model`` is the embedding model whose vectors are copied, ''
    for none. Raise BusyError, with nothing left in the bucket, while anything is owed or not shipped, or if the home
    changes meanwhile, a purge is ordered or ``stop`` returns True. Raise NoSpaceError if the copies would use the last
    of the disk.
    """
    refusal = "Another process of this home is making a snapshot. Try again later."
    with alone(config.run / LOCK, refusal):
        folders = _folders(objects)
        for folder, keys in folders.items():
            if folder + MANIFEST not in keys:  # its maker was killed
                _delete(objects, keys)
        before = _state(stores)
        folder = f"{SNAPSHOTS}{before[0]:012}-{secrets.token_hex(4)}/"

        def is_over() -> bool:
            return stop() or any(owed.purge for owed in stores.catalog.names.forgettings())

        try:
            copies = _copies(config, model, is_over)
            _give_up(_state(stores) != before, "The home was changed while it was copied.")
            files = tuple(_put(objects, folder, name, path, is_over) for name, path in copies.items())
            manifest = Manifest(folder, int(time.time()), files)
            body = {"format": HOME_FORMAT, "made_at": manifest.made_at, "files": [*map(asdict, files)]}
            objects.put(folder + MANIFEST, json.dumps(body).encode())
            border("snapshot-put")
            _give_up(is_over(), "The snapshot was given up.")
        except BaseException:
            with suppress(KgfsError):  # else the next snapshot, or the purge, deletes the rest
                _delete(objects, [key for key, _ in objects.keys(folder)])
            raise
        finally:
            _remove(config.run / MAKING)
        complete = sorted(folder for folder, keys in folders.items() if folder + MANIFEST in keys)
        for old in complete[: -(KEPT - 1)]:
            _delete(objects, folders[old])
        return manifest


def _give_up(needed: bool, why: str) -> None:
    if needed:
        raise BusyError(f"{why} Try again later.")


def _state(stores: Stores) -> tuple[int, int]:
    """Return the newest fact and the graph's epoch. Raise BusyError while anything is owed or not shipped."""
    found = stores.catalog.seq(), stores.graph.epoch()
    behind = stores.catalog.confirmed() < found[0] or stores.catalog.jobs.owed() or stores.catalog.names.forgettings()
    _give_up(bool(behind), "Not everything is read and shipped yet.")
    return found


def _copies(config: Config, model: str, stop: Stop) -> dict[str, Path]:
    """Copy the databases, and take out what only this home may have. Return the path of each copy by name."""
    sources = {NAMES: config.catalog_db, GRAPH: config.graph_db}
    if model and config.vectors.store == "sqlite":
        sources[VECTORS] = config.vectors_db
    sources = {name: path for name, path in sources.items() if path.exists()}
    folder = config.run / MAKING
    _remove(folder)
    leave_free(folder, "a snapshot of this home", EVER, sum(path.stat().st_size for path in sources.values()))
    with os_errors(f"Making {folder}"):
        folder.mkdir(mode=0o700)
    take_out = {NAMES: _take_out_of_names, GRAPH: _take_out_of_graph, VECTORS: _take_out_of_vectors}
    for name, source in sources.items():
        _vacuum_into(source, folder / name, stop)
        with _opened(folder / name, stop) as db:
            if take_out[name](db, model):
                db.execute("VACUUM")  # what was removed may be text
    return {name: folder / name for name in sources}


def _take_out_of_names(db: sqlite3.Connection, model: str) -> int:
    db.execute("BEGIN")
    gone = db.execute("DELETE FROM inbox").rowcount
    db.execute("UPDATE name SET session = '' WHERE session != ''")
    db.execute("COMMIT")
    return gone


def _take_out_of_graph(db: sqlite3.Connection, model: str) -> int:
    """Take out editions that readers may still see, and the change feed, which begins again at the copy's epoch."""
    gone = db.execute(f"UPDATE document SET state = {LEAVING} WHERE state != {SHOWN}").rowcount
    while db.execute(f"SELECT 1 FROM document WHERE state = {LEAVING} LIMIT 1").fetchone():
        remove_some(db, 1 << 30)
    gone += db.execute("DELETE FROM change").rowcount
    db.execute("UPDATE meta SET value = (SELECT value FROM meta WHERE name = 'epoch') WHERE name = 'changes_above'")
    return gone


def _take_out_of_vectors(db: sqlite3.Connection, model: str) -> int:
    """Take out the vectors of other models."""
    gone = 0
    for (key,) in db.execute("SELECT key FROM model WHERE name != ?", (model,)).fetchall():
        for table in ("gone", "vector", "row"):
            gone += db.execute(f"DELETE FROM {table} WHERE model = ?", (key,)).rowcount
        db.execute("DELETE FROM model WHERE key = ?", (key,))
    return gone


def _put(objects: Objects, folder: str, name: str, path: Path, stop: Stop) -> File:
    """Put a copy in parts, and return its entry for the manifest."""

    def put(number: int) -> Part:
        with path.open("rb") as file:
            file.seek(number * PART)
            piece = file.read(PART)
        _give_up(stop(), f"{folder}: the snapshot was given up.")
        objects.put(_key(folder, name, number), zlib.compress(piece, LEVEL))
        return Part(len(piece), hashlib.sha256(piece).hexdigest())

    size = path.stat().st_size
    with os_errors(f"Reading {path}"), ThreadPoolExecutor(CONCURRENCY) as pool:
        parts = tuple(pool.map(put, range(-(-size // PART))))
    path.unlink()
    return File(name, size, parts)


def _vacuum_into(source: Path, target: Path, stop: Stop) -> None:
    """Copy a database as it is at one moment, without its free pages, while others write it."""
    os.close(os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    address = f"file:{quote(str(source))}?mode=ro"
    with _translated(source), closing(sqlite3.connect(address, uri=True, timeout=timing.WAL_BUSY)) as db:
        db.set_progress_handler(stop, STEPS)
        db.execute("PRAGMA cache_size=-8000")
        db.execute("VACUUM INTO ?", (str(target),))


@contextmanager
def _opened(path: Path, stop: Stop) -> Iterator[sqlite3.Connection]:
    """Open a copy that only this process uses, in autocommit mode and unsynced: after a crash it is made again."""
    with _translated(path), closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.set_progress_handler(stop, STEPS)
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA journal_mode=MEMORY")
        yield db


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            raise BusyError(f"{path}: the copy was given up. Try again later.") from error
        raise typed(error, path, "Nothing is lost: it is a copy, and is made again.") from error


def _remove(folder: Path) -> None:
    with os_errors(f"Removing {folder}"), suppress(FileNotFoundError):
        shutil.rmtree(folder)


# ---------------------------------------------------------------------------------------------- beginning with one


def install(
    config: Config, objects: Objects, progress: Callable[[int, int], None] = lambda done, total: None
) -> Manifest | None:
    """Begin a home that has no databases with the newest usable snapshot; return it, None if there is none.

    The databases then show the ledger up to its position, which :func:`.begun` returns from then on. A damaged snapshot
    is passed over with a line in the log. After a kill the next call goes on with the parts that were fetched. Raise
    UnavailableError or TimedOutError if the bucket is away, and NoSpaceError if the disk has no room. ``progress`` is
    called with (done, total) in bytes.
    """
    errors = ErrorLog(config.errors_log)
    for found in manifests(objects):
        if isinstance(found, StoreError):
            errors.add("snapshot", found)
            continue
        try:
            _install(config, objects, found, progress)
        except (NoSpaceError, *AWAY):
            raise
        except KgfsError as error:  # damaged, or deleted meanwhile: an older one, or the ledger, has the same
            errors.add("snapshot", error)
            continue
        return found
    _remove(config.run / FETCHED)
    return None


def _install(config: Config, objects: Objects, found: Manifest, progress: Callable[[int, int], None]) -> None:
    files = [file for file in found.files if file.name != VECTORS or config.vectors.store == "sqlite"]
    folder = config.run / FETCHED / found.folder.removeprefix(SNAPSHOTS).rstrip("/")
    total, done, telling = sum(file.size for file in files), 0, threading.Lock()

    def more(size: int) -> None:
        nonlocal done
        with telling:
            done += size
            progress(done, total)

    with os_errors(f"Making {folder}"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = sum(path.stat().st_size for path in folder.iterdir())
    leave_free(folder, "the snapshot that this home is to begin with", EVER, max(0, total - there))
    for file in files:
        _fetch(objects, found.folder, file, folder / file.name, more)
    border("snapshot-fetched")
    write_note(config.run / BEGUN, found.position, durable=True)
    # The names last: while they are missing, the next call repeats all of this.
    targets = {VECTORS: config.vectors_db, GRAPH: config.graph_db, NAMES: config.catalog_db}
    with os_errors(f"Putting the snapshot in place in {config.home}"):
        for target in targets.values():
            remove_database(target)
        for name in (name for name in targets if any(file.name == name for file in files)):
            (folder / name).rename(targets[name])
            sync_folder(config.home)
            border("snapshot-in-place")
    _remove(config.run / FETCHED)


def _fetch(objects: Objects, folder: str, file: File, target: Path, more: Callable[[int], None]) -> None:
    """Make ``target`` a file of the snapshot, durably. Parts that are there from an earlier attempt are kept."""
    with os_errors(f"Writing {target}"):
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            there = os.fstat(descriptor).st_size

            def fetch(number: int, start: int, part: Part) -> None:
                if not (there > start and _is_right(os.pread(descriptor, part.size, start), part)):
                    os.pwrite(descriptor, _fetched(objects, _key(folder, file.name, number), part), start)
                    border("snapshot-part-fetched")
                more(part.size)

            starts = accumulate((part.size for part in file.parts), initial=0)
            with ThreadPoolExecutor(CONCURRENCY) as pool:
                for _ in pool.map(fetch, range(len(file.parts)), starts, file.parts):
                    pass
            os.ftruncate(descriptor, file.size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _fetched(objects: Objects, key: str, part: Part) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        piece = unpacking.decompress(objects.salvage(key), part.size + 1)
    except zlib.error as error:
        raise CorruptError(f"{key}: damaged ({error}).") from error
    if not _is_right(piece, part):
        raise CorruptError(f"{key}: damaged; its hash is another one.")
    return piece


def _is_right(piece: bytes, part: Part) -> bool:
    return len(piece) == part.size and hashlib.sha256(piece).hexdigest() == part.sha256
