"""Quarantine: what is damaged or nobody's leaves its place, and is kept for people to look at."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import MissingError, from_os_error
from kgfs.failpoints import border
from kgfs.stores.backup.layout import write
from kgfs.stores.garage.durable import make_folder
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.log_files import elder
from kgfs.stores.stores import Stores


def quarantine(config: Config, stores: Stores, key: str, why: str) -> None:
    """Move an object of the garage, as it is, to the home's quarantine/, with a note beside it."""
    try:
        content = stores.garage.objects.salvage(key)
    except MissingError:
        return
    _keep(config, key, content, why)
    border("quarantined")
    stores.garage.objects.delete(key)


def quarantine_file(config: Config, path: Path, why: str) -> None:
    """The same for a file of the home."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    _keep(config, str(path.relative_to(config.home)), content, why)
    border("quarantined")
    path.unlink(missing_ok=True)


def erase(config: Config, doc_ids: Sequence[str], sha256s: Sequence[str]) -> None:
    """What is purged is erased here too; with it every copy of the names database, which may hold contents."""
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
    """What the logs of the home say of these documents, which may quote them. In place, since others append to them: words that
    come while the last bytes are moved, for microseconds, are lost. Harmless when repeated."""
    marks = [doc_id.encode() for doc_id in doc_ids]
    logs = (config.errors_log, config.logs / "worker.log", config.logs / "mount.log")
    # In this order: the one may become the other meanwhile.
    for path in [file for log in logs for file in (log, elder(log))]:
        try:
            with path.open("r+b") as log:
                said = log.read()
                kept = b"".join(_not_about(marks, said.splitlines(keepends=True)))
                if len(kept) < len(said):
                    log.seek(0)
                    log.write(kept)
                    log.seek(len(said))
                    since = log.read()
                    log.seek(len(kept))
                    log.write(since)
                    log.truncate()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise from_os_error(error, f"{path}: what it says of purged documents cannot be removed") from error


_BEGINS = re.compile(rb'\{"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ')
"""The first line of a record: of errors.ndjson, or of a log for people (kgfs.cli.logs)."""


def _not_about(marks: Sequence[bytes], lines: Iterable[bytes]) -> Iterator[bytes]:
    """The first lines of records in which none of the marks stands. What follows one, as a traceback does, may quote any
    document without saying which: it goes in any case."""
    record: list[bytes] = []
    for line in (*lines, b""):
        if not line or _BEGINS.match(line):
            if record and _BEGINS.match(record[0]) and not any(mark in part for mark in marks for part in record):
                yield record[0]
            record = []
        record.append(line)


def _keep(config: Config, name: str, content: bytes, why: str) -> None:
    """Durable when it returns: what it is a copy of goes after it."""
    at = time.time_ns()
    target = config.home / "quarantine" / f"{at}-{name.replace('/', '_')}"
    try:
        make_folder(target.parent)
        for path, body in ((target, content), (target.with_name(f"{target.name}.note.json"), _note(name, why, at))):
            write(path, body)
    except OSError as error:
        raise from_os_error(error, f"Moving {name} to {target.parent}") from error


def _note(name: str, why: str, at: int) -> bytes:
    return json.dumps({"was": name, "why": why, "at": at}).encode()
