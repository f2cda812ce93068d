"""Quarantine: what is damaged or nobody's leaves its place, and is kept for people to look at."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import MissingError, from_os_error
from kgfs.failpoints import border
from kgfs.stores.garage.sums import sums_of
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


def erase_lines(log: Path, doc_ids: Iterable[str]) -> None:
    """Lines that speak of these documents may quote them. In place, since others append to the file."""
    marks = [doc_id.encode() for doc_id in doc_ids]
    try:
        lines = log.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not any(mark in line for mark in marks)]
        if len(kept) < len(lines):
            with log.open("r+b") as file:
                file.write(b"".join(kept))
                file.truncate()
    except FileNotFoundError:
        return
    except OSError as error:
        raise from_os_error(error, f"{log}: lines about purged documents cannot be removed") from error


def _keep(config: Config, name: str, content: bytes, why: str) -> None:
    at = time.time_ns()
    target = config.home / "quarantine" / f"{at}-{name.replace('/', '_')}"
    try:
        target.parent.mkdir(mode=0o700, exist_ok=True)
        for path, body in ((target, content), (target.with_name(f"{target.name}.note.json"), _note(name, why, at))):
            path.touch(mode=0o600)
            path.write_bytes(body)
    except OSError as error:
        raise from_os_error(error, f"Moving {name} to {target.parent}") from error


def _note(name: str, why: str, at: int) -> bytes:
    return json.dumps({"was": name, "why": why, "at": at}).encode()
