"""What a mounted tree shows, entry by entry, so that two states of it can be compared."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

LIVE = frozenset({".kgfs", "search", "README.md", "AGENTS.md"})
"""At the top: what tells of this moment or is worked out for whoever asks, and what has the time of the mount."""

Shown = tuple[int, int, int, str]
"""Mode, size, mtime in nanoseconds, and the SHA-256 of a file's content or a link's target."""


def walk(top: Path, share: float = 1.0) -> dict[str, Shown]:
    """Every entry below ``top``, by its path, read whole; of the folders of concepts that share, always the same."""
    skip = len(os.fspath(top)) + 1
    with os.scandir(top) as entries:
        names = sorted(entry.name for entry in entries if entry.name not in LIVE)
    return {path[skip:]: _shown(path) for name in names for path in _entries(f"{top}/{name}", share)}


def _entries(path: str, share: float) -> Iterator[str]:
    """It and, of a folder, everything below it. Strings, since half a million paths of objects take long."""
    yield path
    if stat.S_ISDIR(os.lstat(path).st_mode):
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if not name.endswith(".concept") or _drawn(name) < share:
                yield from _entries(f"{path}/{name}", share)


def _drawn(name: str) -> float:
    """From 0 to 1, of the name alone."""
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogateescape")).digest()[:4]) / 2**32


def _shown(path: str) -> Shown:
    found = os.lstat(path)
    content = ""
    if stat.S_ISLNK(found.st_mode):
        content = os.readlink(path)  # noqa: PTH115
    elif stat.S_ISREG(found.st_mode):
        with open(path, "rb") as file:
            raw = file.read()
        if len(raw) != found.st_size:
            raise SystemExit(f"{path}: {len(raw)} bytes read, {found.st_size} said")
        content = hashlib.sha256(raw).hexdigest()
    return found.st_mode, found.st_size, found.st_mtime_ns, content


def differences(before: Mapping[str, Shown], after: Mapping[str, Shown]) -> list[str]:
    """One line for each entry that is not the same in both; empty if the trees are one."""
    lines = [f"gone: {path}" for path in sorted(before.keys() - after.keys())]
    lines += [f"new: {path}" for path in sorted(after.keys() - before.keys())]
    for path in sorted(before.keys() & after.keys()):
        changed = [
            f"{what} {was} → {now}"
            for what, was, now in zip(("mode", "size", "mtime", "content"), before[path], after[path], strict=True)
            if was != now
        ]
        if changed:
            lines.append(f"changed: {path}: {', '.join(changed)}")
    return lines


def kinds(found: Mapping[str, Shown]) -> dict[str, int]:
    """How many entries there are by kind: concept pages, evidence, citations …, for showing what was compared."""
    counted: Counter[str] = Counter()
    for path, (mode, _, _, _) in found.items():
        name = path.rpartition("/")[2]
        if stat.S_ISDIR(mode):
            counted["folders"] += 1
        elif stat.S_ISLNK(mode):
            counted["links"] += 1
        elif name in {"concept.md", "source.txt", "quote.txt", "citation.json", "metadata.json", "text.txt"}:
            counted[name] += 1
        else:
            counted[_room(path)] += 1
    return dict(counted)


def _room(path: str) -> str:
    parts = path.split("/")
    return f"{parts[1]}/" if len(parts) > 2 else "others"
