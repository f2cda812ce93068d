"""The mounts that the kernel knows. Nothing is asked of a mount itself, so a dead one keeps nobody waiting."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

TYPE = "fuse.kgfs"
_SOURCE = "kgfs="
"""What a mount of kgfs is called begins so, then comes its home. No colon: desktops would take it for a remote one."""
_LONGEST = 1500
"""Characters; the kernel has a page for all options of a mount."""


@dataclass(frozen=True, slots=True)
class Mount:
    path: str
    type: str
    source: str
    device: str
    """Its numbers, as ``major:minor``."""

    def may_show(self, home: Path) -> bool:
        """Return whether this is a mount of kgfs, and not one that is known to be another home's."""
        return self.type == TYPE and self.source in (source_of(None), source_of(home))


def mounts() -> list[Mount]:
    """Return all mounts this process sees, in the order they were made."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        _, _, device, _, named = before.split(" ")[:5]
        kind, source = after.split(" ")[:2]
        found.append(Mount(_plain(named), kind, _plain(source), device))
    return found


def source_of(home: Path | None) -> str:
    """Return what a mount of this home is called in the table of mounts."""
    named = quote(os.fsencode(home), safe="/~") if home is not None else ""
    return f"{_SOURCE}{named}" if 0 < len(named) <= _LONGEST else "kgfs"


def home_at(path: Path) -> Path | None:
    """Return the home whose mount has this absolute path, if one has. The path is taken as it is, no link is followed."""
    above = [mount for mount in mounts() if path.is_relative_to(mount.path)]
    nearest = max(reversed(above), key=lambda mount: len(mount.path), default=None)  # of two at one place the later
    if nearest is None or nearest.type != TYPE or not nearest.source.startswith(_SOURCE):
        return None
    return Path(os.fsdecode(unquote(nearest.source.removeprefix(_SOURCE), errors="surrogateescape")))


def _plain(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), word)
