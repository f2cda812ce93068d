"""Since when the server of a replica has been away, known to all processes of a home by one small file."""

from __future__ import annotations

import os
from pathlib import Path

from kgfs.stores.error_log import ErrorLog


class Outage:
    """The first process that meets an outage notes and logs it, the first that gets through removes the note."""

    def __init__(self, path: Path, errors: ErrorLog) -> None:
        self._path = path
        self._errors = errors

    def begins(self, error: BaseException) -> None:
        try:
            note = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_WRONLY, 0o600)
            try:
                os.write(note, str(error).encode("utf-8", "replace"))
            finally:
                os.close(note)
        except FileExistsError:
            return
        except OSError:
            pass  # a full disk say: then each attempt is logged, which is better than none
        self._errors.add("replica", error)

    def ends(self) -> None:
        self._path.unlink(missing_ok=True)

    def reason(self) -> str:
        """What was met first; '' while all is well."""
        try:
            return self._path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def since(self) -> float | None:
        """Unix time, None while all is well."""
        try:
            return self._path.stat().st_mtime
        except FileNotFoundError:
            return None
