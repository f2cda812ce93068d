"""The kernel's table of mounts. No mount itself is queried, so a dead mount never blocks the caller."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

TYPE = "fuse.kgfs"
_SOURCE = "kgfs="
"""The prefix of the source of a kgfs mount in the table; the home's path follows. Without a colon, because
desktops take a source with one for a remote mount."""
_LONGEST = 1500
"""Characters of a source at most; the kernel has one page for all options of a mount."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table."""

    path: str
    type: str
    source: str
    device: str
    """The device numbers, as ``major:minor``."""

    def may_show(self, home: Path) -> bool:
        """Return whether this is a kgfs mount of ``home`` or one whose home is unknown."""
        return self.type == TYPE and self.source in (source_of(None), source_of(home))


def mounts() -> list[Mount]:
    """Return all mounts that this process sees, in the order in which they were made."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        _, _, device, _, named = before.split(" ")[:5]
        kind, source = after.split(" ")[:2]
        found.append(Mount(_plain(named), kind, _plain(source), device))
    return found


def source_of(home: Path | None) -> str:
    """Return the source that a mount of this home has in the table; without a home, or for a path that is too
    long, the source of a mount whose home is unknown."""
    named = quote(os.fsencode(home), safe="/~") if home is not None else ""
    return f"{_SOURCE}{named}" if 0 < len(named) <= _LONGEST else "kgfs"


def home_at(path: Path) -> Path | None:
    """Return the home of the mount that contains this absolute path; None if the mount is not of kgfs or its home
    is unknown. The path is taken literally; no link is followed."""
    above = [mount for mount in mounts() if path.is_relative_to(mount.path)]
    nearest = max(
        reversed(above), key=lambda mount: len(mount.path), default=None
    )  # the later one of two at the same path
    if nearest is None or nearest.type != TYPE or not nearest.source.startswith(_SOURCE):
        return None
    return Path(os.fsdecode(unquote(nearest.source.removeprefix(_SOURCE), errors="surrogateescape")))


def _plain(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), word)
