"""Programs that copy a whole folder to the mount, as a new ontology.

In such a folder a name may be one of kgfs's own: archive, text, concepts. While the program that made the ontology writes,
it sees an ontology without views, so that all it copies arrives in ``documents/``. Everybody else sees the views.
"""

from __future__ import annotations

import os
from pathlib import Path

COPIERS = frozenset(("bsdtar", "cp", "git", "install", "mv", "rsync", "scp", "sftp-server", "tar", "unzip"))
"""The names of programs that copy folders, as the kernel has them."""
MOST = 64
"""The most ontologies of which the maker is kept."""


class Copying:
    """Which process group made an ontology by copying. Used on the event loop only."""

    def __init__(self) -> None:
        self._makers: dict[int, int] = {}
        """Inode of the ontology's folder → the process group that made it."""

    def made(self, inode: int, pid: int) -> None:
        """Record that a process made the ontology's folder."""
        group = _group(pid)
        if group and _name(pid) in COPIERS:
            self._makers[inode] = group
            while len(self._makers) > MOST:
                del self._makers[next(iter(self._makers))]

    def is_by_maker(self, inode: int, pid: int) -> bool:
        """Return whether a request in a folder is one of the program that made it by copying."""
        maker = self._makers.get(inode)
        return maker is not None and _group(pid) == maker and _name(pid) in COPIERS


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid) if pid else 0
    except OSError:  # it has ended, or is in another namespace
        return 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""
