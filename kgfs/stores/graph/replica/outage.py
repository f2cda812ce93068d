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
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            return
        except OSError:
            pass  # a full disk say: then each attempt is logged, which is better than none
        self._errors.add("replica", error)

    def ends(self) -> None:
        self._path.unlink(missing_ok=True)

    def since(self) -> float | None:
        """Unix time, None while all is well."""
        try:
            return self._path.stat().st_mtime
        except FileNotFoundError:
            return None
