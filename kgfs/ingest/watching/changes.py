"""Decide what a scan of a watched folder means: which files to take, to move and to remove. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgfs.ingest import timing
from kgfs.ingest.watching.scan import Scan, Seen

FEWEST_HELD = 10
"""Removals below which no share of the files counts as a loss."""
TRANSCRIPT = ".jsonl"
"""The suffix of files that grow line by line: sessions of agents, logs of events."""
SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Noted:
    """A file that was taken."""

    seen: Seen
    taken_at: int
    """Nanoseconds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do after a scan, in this order."""

    move: tuple[tuple[str, str], ...] = ()
    """Pairs of the former and the present path of a file that is otherwise unchanged."""
    take: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    held: str = ""
    """Why removals wait for a confirmation; '' where none do."""
    again: float = float("inf")
    """Seconds until files that were left alone are due."""


def plan(noted: Mapping[str, Noted], device: int, found: Scan, now: int, *, confirmed: bool) -> Plan:
    """Return what brings the ontology in step with the folder.

    ``noted`` are the files that were taken before, and ``device`` the filesystem that they lay on (0: not known);
    ``now`` is in nanoseconds. A file that changed within QUIET seconds is left alone, and so is a growing transcript
    that was taken within GROWING seconds. Removals are held back, unless ``confirmed``, where the folder has no file
    left, lies on another filesystem, or lacks more than half of the noted files and at least FEWEST_HELD.
    """
    again = float("inf")
    take: list[str] = []
    for path, seen in sorted(found.files.items()):
        known = noted.get(path)
        if known is not None and known.seen == seen:
            continue
        due = seen.mtime + int(timing.WATCH_QUIET * SECOND)
        if seen.mtime > now:  # a clock that runs ahead must not keep the file out for good
            due = now
        if known is not None and path.endswith(TRANSCRIPT):
            due = max(due, known.taken_at + int(timing.WATCH_GROWING * SECOND))
        if due > now:
            again = min(again, (due - now) / SECOND)
        else:
            take.append(path)
    gone = [path for path in noted if path not in found.files and not path.startswith(tuple(found.unread))]
    moves = _moves(noted, gone, take, found)
    left = {former for former, _ in moves}
    arrived = {present for _, present in moves}
    gone = sorted(path for path in gone if path not in left)
    held = "" if confirmed or not gone else _loss(len(gone), len(noted), device, found)
    return Plan(
        tuple(moves),
        tuple(path for path in take if path not in arrived),
        () if held else tuple(gone),
        held,
        again,
    )


def _moves(noted: Mapping[str, Noted], gone: list[str], take: list[str], found: Scan) -> list[tuple[str, str]]:
    """Return the files that were renamed: a new path has the inode, size and time of a path that is gone."""
    was = {noted[path].seen: path for path in gone}
    moves = []
    for path in take:
        former = was.pop(found.files[path], None) if path not in noted else None
        if former is not None:
            moves.append((former, path))
    return moves


def _loss(gone: int, noted: int, device: int, found: Scan) -> str:
    if not found.files:
        return f"it is empty, and had {noted} file{'s' if noted != 1 else ''}"
    if device and device != found.device:
        return "it lies on another filesystem than before"
    if gone >= FEWEST_HELD and 2 * gone > noted:
        return f"{gone} of its {noted} files are gone at once"
    return ""
