"""Since when the server of a replica cannot be followed, and why, known to all processes of a home by one small file."""

from __future__ import annotations

import os
from pathlib import Path

from kgfs.errors import AWAY
from kgfs.stores.error_log import ErrorLog


class Outage:
    """The first process that meets an outage notes and logs it, the first that gets through removes the note. One that turns into
    one of another kind, a server that was away and came back without the graph, is logged again, and lasts since it began."""

    def __init__(self, path: Path, errors: ErrorLog) -> None:
        self._path = path
        self._errors = errors

    def begins(self, error: BaseException) -> None:
        kind, noted = _kind(type(error)), self._noted()
        if noted is not None and noted[0] in (kind, ""):
            return
        flags = os.O_CREAT | os.O_EXCL if noted is None else os.O_TRUNC
        try:
            before = self._path.stat() if noted is not None else None
            note = os.open(self._path, flags | os.O_CLOEXEC | os.O_WRONLY, 0o600)
            try:
                os.write(note, f"{kind}\n{error}".encode("utf-8", "replace"))
                if before is not None:
                    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
            finally:
                os.close(note)
        except FileExistsError:
            return
        except OSError:
            pass  # a full disk say: then each attempt is logged, which is better than none
        self._errors.add("replica", error)

    def ends(self) -> None:
        self._path.unlink(missing_ok=True)

    def tell(self, said: str) -> None:
        """What was noticed of the server, though it can be followed."""
        self._errors.add("replica", said)

    def reason(self) -> str:
        """What was met first of the kind; '' while all is well."""
        noted = self._noted()
        return noted[1] if noted else ""

    def is_of(self, kind: type[BaseException]) -> bool:
        noted = self._noted()
        return noted is not None and noted[0] == _kind(kind)

    def since(self) -> float | None:
        """Unix time, None while all is well."""
        try:
            return self._path.stat().st_mtime
        except FileNotFoundError:
            return None

    def _noted(self) -> tuple[str, str] | None:
        """Kind and words; an older kgfs noted the words alone. No kind where another is just noting it, or had no room for that."""
        try:
            text = self._path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None
        kind, ended, said = text.partition("\n")
        return (kind, said) if ended or not text else ("unknown", text)


def _kind(error: type[BaseException]) -> str:
    """A server that is away is of one, whichever way it says so."""
    return "away" if issubclass(error, AWAY) else error.__name__
