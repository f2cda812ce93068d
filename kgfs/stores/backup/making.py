"""Make a snapshot of a home that may be in use."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kgfs.config import Config
from kgfs.errors import BusyError, CorruptError, MissingError, StoreError, from_os_error
from kgfs.failpoints import border
from kgfs.stores.backup.layout import MANIFEST, Manifest, Progress, carry, copy, folders, snapshots, write
from kgfs.stores.catalog.schema import typed
from kgfs.stores.database import copy_database
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import make_folder
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.prefixes import everything
from kgfs.stores.garage.segments import lines, segments
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.locks import alone

ATTEMPTS = 5
"""The number of attempts, each from the beginning, when something leaves the home while it is copied."""
NAMED = "%Y-%m-%dT%H%M%S.%fZ"
"""The format of a snapshot's name, for the time at which it was made."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """The result of a backup."""

    name: str
    objects: int
    """The number of objects that the snapshot lists."""
    copied: int
    """The number of objects that this backup copied."""
    rotten: tuple[str, ...]
    """Keys of objects that are corrupt in the home and not in the pool of backups. The snapshot does not list
    them."""


@dataclass(slots=True)
class _Objects:
    listed: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each object, by key."""
    copied: int = 0
    rotten: list[str] = field(default_factory=list)


class _LeftMeanwhileError(Exception):
    """The copy of the names refers to something that is not in the home any more."""


def back_up(config: Config, objects: Objects, folder: Path, keep: int, progress: Progress) -> BackedUp:
    """Make a new snapshot of the home in ``folder`` and delete all but the newest ``keep`` snapshots, the new one
    included. ``objects`` are those that are stored (:attr:`GarageObjects.stored`). Corrupt objects are never taken into a backup. Raises StoreError if ``folder`` is inside the home or
    contains it, and BusyError while another backup to ``folder`` runs or if the home changed during each attempt."""
    if folder.absolute().is_relative_to(config.home) or config.home.is_relative_to(folder.absolute()):
        raise StoreError(
            f"{folder}: a backup within the home, or around it, would save nothing. Choose another folder."
        )
    try:
        make_folder(folder.absolute())
        with alone(folder / "lock", f"Another backup to {folder} is under way."):
            for left in folders(folder):
                if not (left / MANIFEST).exists():
                    shutil.rmtree(left)
            pool = FileObjects(folder / "objects")
            for attempt in range(ATTEMPTS):
                try:
                    done = _snapshot(config, objects, pool, folder, progress)
                    break
                except _LeftMeanwhileError as error:
                    if attempt == ATTEMPTS - 1:
                        raise BusyError(f"{error} left the home while it was copied. Try again later.") from error
            _drop_old(folder, pool, keep)
            return done
    except OSError as error:
        raise from_os_error(error, f"Backing up to {folder}") from error


def _snapshot(config: Config, objects: Objects, pool: FileObjects, folder: Path, progress: Progress) -> BackedUp:
    name = _name_behind([path.name for path in folders(folder)])
    target = folder / "snapshots" / name
    make_folder(target)
    try:
        copy_database(config.catalog_db, target / "front.sqlite")
        newest = newest_fact(target / "front.sqlite")
        make_folder(target / "spool")
        for file in working_copies(target / "front.sqlite"):
            try:
                copy(config.spool / file, target / "spool" / file)
            except FileNotFoundError as error:
                raise _LeftMeanwhileError(f"The working copy {file}") from error
        make_folder(target / "ledger")
        _copy_ledger(config.garage / "ledger", target / "ledger", newest)
        settings = config.home / "config.toml"
        if settings.exists():
            copy(settings, target / "config.toml")
        border("snapshot-copied")
        found = _copy_objects(objects, pool, target, progress)
        files = {str(path.relative_to(target)): sums_of(path).sha256 for path in _files(target)}
        write(target / MANIFEST, json.dumps(asdict(Manifest(name, found.listed, files)), indent=1).encode())
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return BackedUp(name, len(found.listed), found.copied, tuple(found.rotten))


def _name_behind(names: Sequence[str]) -> str:
    """Return a name for a new snapshot that sorts after all ``names``: the present time, or one microsecond after
    the last name if the clock has been set back since. The newest snapshot must sort last, because the first ones
    are deleted."""
    now = datetime.now(UTC)
    with suppress(ValueError, IndexError):  # there is no snapshot, or its name is not a time
        now = max(now, datetime.strptime(names[-1], NAMED).replace(tzinfo=UTC) + timedelta(microseconds=1))
    return now.strftime(NAMED)


def _copy_objects(objects: Objects, pool: FileObjects, room: Path, progress: Progress) -> _Objects:
    """Copy the objects that the pool lacks. An object that is corrupt in the home is listed if the pool has a
    right copy."""
    keys = everything(objects)
    found = _Objects()
    for done, key in enumerate(keys, 1):
        try:
            if not pool.exists(key):
                carry(objects, pool, key, room)
                found.copied += 1
            found.listed[key] = pool.stat(key).sha256
        except MissingError as error:
            raise _LeftMeanwhileError(key) from error
        except CorruptError:
            found.rotten.append(key)
        progress(done, len(keys))
    return found


def _copy_ledger(source: Path, target: Path, newest: int) -> None:
    """Copy the segments of the ledger up to entry ``newest``."""
    found = segments(source)
    for index, (first, path) in enumerate(found):
        if first > newest:
            break
        raw, end = path.read_bytes(), 0
        for line in lines(path.name, raw, first, last=index == len(found) - 1):
            if line.seq > newest:
                break
            end = line.end
        write(target / path.name, raw[:end])


def _drop_old(folder: Path, pool: FileObjects, keep: int) -> None:
    """Delete the snapshots before the newest ``keep``, and the objects that no remaining snapshot lists."""
    found = snapshots(folder)
    old, kept = found[:-keep], found[-keep:]
    for manifest in old:
        (folder / "snapshots" / manifest.name / MANIFEST).unlink()
        shutil.rmtree(folder / "snapshots" / manifest.name)
    held = {key for manifest in kept for key in manifest.objects}
    for key, _ in list(pool.keys("")):
        if key not in held:
            pool.delete(key)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def newest_fact(path: Path) -> int:
    """Return the number of the newest fact that the file knows of: recorded in it, or in the ledger for certain."""
    newest: int = _rows(path, "SELECT max(coalesce((SELECT max(seq) FROM entry), 0), (SELECT upto FROM shipped))")[0][0]
    return newest


def working_copies(path: Path) -> Iterator[str]:
    """Return the names of the spool files that live files and the trash need."""
    sql = "SELECT key FROM name WHERE place = 'spool' UNION SELECT key FROM trash WHERE place = 'spool'"
    return (key for (key,) in _rows(path, sql))


def _rows(path: Path, sql: str) -> list[Any]:
    try:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(sql).fetchall()
    except sqlite3.Error as error:
        raise typed(error, path) from error
