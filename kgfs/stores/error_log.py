"""The log files of a home. Any number of processes append to one file, which is rotated before it grows without bound.

``.kgfs/errors.ndjson`` is for people: one JSON object a line, appended atomically.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

from kgfs.errors import AWAY
from kgfs.render.words import instant_of

ENOUGH = 8 << 20
"""Bytes of a log file from which the next opening rotates it, replacing the previously rotated file."""


class ErrorLog:
    """Append to and read the error log. An append is atomic for lines of ordinary length (O_APPEND). Appending
    ignores errors of the log file, so that they never hide the error that is logged."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, where: str, error: BaseException | str, **about: str | int) -> None:
        """Append an entry: the place ``where`` the error was met, the error or a note, and further fields. Never
        raises OSError."""
        kind = "Note" if isinstance(error, str) else type(error).__name__
        line = {"at": instant_of(time.time_ns()), "where": where, "error": kind, "message": str(error), **about}
        try:
            descriptor = open_log(self._path)
            try:
                os.write(descriptor, json.dumps(line, ensure_ascii=True).encode() + b"\n")
            finally:
                os.close(descriptor)
        except OSError:
            return

    def read(self) -> bytes:
        """Return the content of the log; empty if there is no file."""
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""


class Trouble:
    """Log the failures of a repeated operation without repetition: a failure is logged once while it lasts, and
    again if its kind changes. All errors of an unreachable server are of one kind."""

    def __init__(self, log: ErrorLog, where: str) -> None:
        self._log = log
        self._where = where
        self._lasting: object = None

    def met(self, error: BaseException) -> None:
        """Log a failure unless one of the same kind lasts already."""
        kind = AWAY if isinstance(error, AWAY) else type(error)
        if kind is not self._lasting:
            self._log.add(self._where, error)
        self._lasting = kind

    def over(self) -> None:
        """Record that the operation succeeded, so that the next failure is logged."""
        self._lasting = None


def open_log(path: Path) -> int:
    """Open a log file for appending and return its descriptor. The file has mode 0600. Rotates it first if it is
    too large. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size < ENOUGH:
                return descriptor
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(path, descriptor) and not _made_elder(path):  # else it has been rotated; open the new file
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def elder(path: Path) -> Path:
    """Return the path of the rotated log."""
    return path.with_name(f"{path.name}.1")


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _made_elder(path: Path) -> bool:
    try:
        path.rename(elder(path))
    except OSError:
        return False  # an oversized log is better than none
    return True
