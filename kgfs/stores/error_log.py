"""The log at ``.kgfs/errors.ndjson`` for people: one JSON object a line, appended atomically by any process."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from kgfs.errors import AWAY
from kgfs.stores.log_files import open_log


class ErrorLog:
    """Append to and read the error log. An append is atomic for lines of ordinary length (O_APPEND). Appending
    ignores errors of the log file, so that they never hide the error that is logged."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, where: str, error: BaseException | str, **about: str | int) -> None:
        """Append an entry: the place ``where`` the error was met, the error or a note, and further fields. Never
        raises OSError."""
        kind = "Note" if isinstance(error, str) else type(error).__name__
        line = {"at": time.time(), "where": where, "error": kind, "message": str(error), **about}
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
