"""Sessions: which mounts and commands are alive. A session is a lock file that its process keeps locked.

The kernel releases the lock when the process ends, however it ends. So the unsettled work of a dead session can be
told from that of a living one.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from kgfs.stores.locks import lock_nowait

_PREFIX, _SUFFIX = "session-", ".lock"


class Session:
    """A living session, by its id. It ends with :meth:`close` or with the process."""

    def __init__(self, session_id: str, path: Path, descriptor: int) -> None:
        self.id = session_id
        self._path = path
        self._descriptor = descriptor

    def close(self) -> None:
        """End the session, and remove its lock file. Idempotent."""
        if self._descriptor < 0:
            return
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def open_session(run: Path) -> Session:
    """Return a new session. It is alive until it is closed or this process ends."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        session_id = secrets.token_hex(4)
        path = run / f"{_PREFIX}{session_id}{_SUFFIX}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # Another process that looked between the opening and the locking took the file for that of a dead session,
        # and removed it. Then a new file is made.
        try:
            if lock_nowait(descriptor) and path.stat().st_ino == os.fstat(descriptor).st_ino:
                return Session(session_id, path, descriptor)
        except FileNotFoundError:
            pass
        os.close(descriptor)


def alive_sessions(run: Path) -> list[str]:
    """Return the ids of the sessions whose process lives, sorted. Remove the lock files of the others."""
    alive = []
    for path in sorted(run.glob(f"{_PREFIX}*{_SUFFIX}")):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            if lock_nowait(descriptor):
                path.unlink(missing_ok=True)
            else:
                alive.append(path.name[len(_PREFIX) : -len(_SUFFIX)])
        finally:
            os.close(descriptor)
    return alive
