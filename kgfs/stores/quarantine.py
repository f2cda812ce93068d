"""Quarantine: move damaged or orphaned data out of the way, and keep it for people to look at."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import CorruptError, MissingError, from_os_error
from kgfs.failpoints import border
from kgfs.render.words import instant_of
from kgfs.stores.backup.layout import write
from kgfs.stores.error_log import elder
from kgfs.stores.garage.contract import BLOCK, Objects
from kgfs.stores.garage.durable import make_folder
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.stores import Stores


def quarantine(config: Config, stores: Stores, key: str, why: str) -> None:
    """Move an object of the garage, unverified, to the home's quarantine/, with a note beside it that says why.

    The copy is durable before the object is deleted. Does nothing where the object is absent.
    """
    try:
        content = stores.garage.objects.salvage(key)
    except MissingError:
        return
    for earlier in stores.garage.objects.resting_on(key):
        if not _is_whole(stores.garage.objects, earlier):  # else it is written out before the object goes
            quarantine(config, stores, earlier, why)
    _keep(config, key, content, why)
    border("quarantined")
    stores.garage.objects.delete(key)


def _is_whole(objects: Objects, key: str) -> bool:
    try:
        with closing(objects.open(key)) as reader:
            for start in range(0, reader.sums.size, BLOCK):
                reader.read_at(start, BLOCK)
    except (CorruptError, MissingError):
        return False
    return True


def quarantine_file(config: Config, path: Path, why: str) -> None:
    """Move a file of the home to quarantine/ in the same way. Does nothing where the file is absent."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    _keep(config, str(path.relative_to(config.home)), content, why)
    border("quarantined")
    path.unlink(missing_ok=True)


def erase(config: Config, doc_ids: Sequence[str], sha256s: Sequence[str]) -> None:
    """Delete from quarantine/ what was purged, and every copy of the names database, which may hold purged contents.

    A file is deleted if its name has one of ``doc_ids``, or the first 32 digits of one of ``sha256s``, or if its
    bytes have one of ``sha256s``.
    """
    marks = [*doc_ids, *(sha256[:32] for sha256 in sha256s), "-front.sqlite"]
    for path in sorted((config.home / "quarantine").glob("*")):
        try:
            of_it = any(mark in path.name for mark in marks) or sums_of(path).sha256 in sha256s
            if of_it:
                path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise from_os_error(error, f"{path}: what was purged cannot be removed from quarantine") from error


def erase_logged(config: Config, doc_ids: Iterable[str]) -> None:
    """Remove from the home's logs the records about these documents, which may quote them. Idempotent.

    The files are changed in place, since other processes append to them. A record that is appended while the last
    bytes are being moved, which takes microseconds, is lost.
    """
    marks = [doc_id.encode() for doc_id in doc_ids]
    logs = (config.errors_log, config.logs / "worker.log", config.logs / "mount.log")
    # In this order, since a log may be rotated meanwhile.
    for path in [file for log in logs for file in (log, elder(log))]:
        try:
            with path.open("r+b") as log:
                logged = log.read()
                kept = b"".join(_not_about(marks, logged.splitlines(keepends=True)))
                if len(kept) < len(logged):
                    log.seek(0)
                    log.write(kept)
                    log.seek(len(logged))
                    since = log.read()
                    log.seek(len(kept))
                    log.write(since)
                    log.truncate()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise from_os_error(error, f"{path}: what it says of purged documents cannot be removed") from error


_BEGINS = re.compile(rb'\{"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ')
"""Matches the first line of a record, of errors.ndjson or of a log for people (kgfs.cli.options)."""


def _not_about(marks: Sequence[bytes], lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the first line of each record that contains none of ``marks``.

    The further lines of a record, as those of a traceback, may quote any document without naming it. They are dropped
    in any case.
    """
    record: list[bytes] = []
    for line in (*lines, b""):
        if not line or _BEGINS.match(line):
            if record and _BEGINS.match(record[0]) and not any(mark in part for mark in marks for part in record):
                yield record[0]
            record = []
        record.append(line)


def _keep(config: Config, name: str, content: bytes, why: str) -> None:
    """Write a copy to quarantine/, with its note. Both are durable when this returns, since the source is deleted
    afterwards."""
    at = time.time_ns()
    target = config.home / "quarantine" / f"{at}-{name.replace('/', '_')}"
    try:
        make_folder(target.parent)
        for path, body in ((target, content), (target.with_name(f"{target.name}.note.json"), _note(name, why, at))):
            write(path, body)
    except OSError as error:
        raise from_os_error(error, f"Moving {name} to {target.parent}") from error


def _note(name: str, why: str, at: int) -> bytes:
    return json.dumps({"was": name, "why": why, "at": instant_of(at)}).encode()
