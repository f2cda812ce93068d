"""Making a snapshot of a home that may be in use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import BusyError, MissingError, RotError, StoreError, from_os_error
from kgfs.failpoints import border
from kgfs.stores.backup.layout import MANIFEST, Manifest, Progress, carry, copy, folders, snapshots, write
from kgfs.stores.database import copy_database
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import make_folder
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.segments import lines, segments
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.journal.copied import newest_fact, working_copies
from kgfs.stores.locks import alone

ATTEMPTS = 5
"""How often what left in the middle is met by beginning again."""
NAMED = "%Y-%m-%dT%H%M%S.%fZ"
"""How a snapshot is called, by when it was made."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    name: str
    objects: int
    """How many the snapshot lists."""
    copied: int
    """How many of them were new."""
    rotten: tuple[str, ...]
    """Keys of objects that are not what was kept, and of which no backup has the right bytes: they are not listed."""


@dataclass(slots=True)
class _Objects:
    listed: dict[str, str] = field(default_factory=dict)
    """Key → SHA-256."""
    copied: int = 0
    rotten: list[str] = field(default_factory=list)


class _LeftMeanwhileError(Exception):
    """Something that the copy of the names refers to is not in the home any more."""


def back_up(config: Config, objects: Objects, folder: Path, keep: int, progress: Progress) -> BackedUp:
    """A new snapshot of the home in ``folder``; of the older ones the newest ``keep - 1`` stay, of which
    there is one at least. Nothing is taken for good that is not what was kept. BusyError while another backup runs."""
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
        copy_database(config.front_db, target / "front.sqlite")
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
    """When it is, or a moment behind the last of these, which a clock that was set back since has made: the newest is to be the last, for
    the first are those that are dropped."""
    now = datetime.now(UTC)
    with suppress(ValueError, IndexError):  # it has another name, which says nothing of when it was made
        now = max(now, datetime.strptime(names[-1], NAMED).replace(tzinfo=UTC) + timedelta(microseconds=1))
    return now.strftime(NAMED)


def _copy_objects(objects: Objects, pool: FileObjects, room: Path, progress: Progress) -> _Objects:
    """What is rotten at home may still be right in the pool."""
    keys = [key for key, _ in objects.keys("")]
    found = _Objects()
    for done, key in enumerate(keys, 1):
        try:
            if not pool.exists(key):
                carry(objects, pool, key, room)
                found.copied += 1
            found.listed[key] = pool.stat(key).sha256
        except MissingError as error:
            raise _LeftMeanwhileError(key) from error
        except RotError:
            found.rotten.append(key)
        progress(done, len(keys))
    return found


def _copy_ledger(source: Path, target: Path, newest: int) -> None:
    """The segments up to entry ``newest``."""
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
    """Snapshots beyond the newest ``keep``, and objects that no other lists."""
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
