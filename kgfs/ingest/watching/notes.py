"""Keep the notes of a watched folder: which of its files were taken, in a file of the home.

The notes can be lost: then every file is taken again, which is skipped where its bytes stand at its path, and nothing
is removed that was taken before.

Notes and a scan together decide which files to take, to move and to remove; that is a pure function.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgfs.errors import from_os_error
from kgfs.ingest import timing
from kgfs.ingest.watching.scan import Scan, Seen

FEWEST_HELD = 10
"""Removals below which no share of the files counts as a loss."""
TRANSCRIPT = ".jsonl"
"""The suffix of files that grow line by line: sessions of agents, logs of events."""
SECOND = 10**9

SPARE = 1000
"""Lines that may be out of date before the file is written anew."""


class FolderNotes:
    """The notes of one folder and one ontology, by its id. One process at a time; the caller holds a lock.

    A change is durable after :meth:`sync`. Notes of another ontology, which had the same name, are dropped.
    """

    def __init__(self, path: Path, ontology: str) -> None:
        self._path, self._ontology = path, ontology
        self.device = 0
        """The filesystem that the folder lay on; 0 before the first scan."""
        self._files: dict[str, Noted] = {}
        self._lines = 0
        self._read()

    @property
    def files(self) -> Mapping[str, Noted]:
        """Return the files that were taken, by path."""
        return self._files

    def set_device(self, device: int) -> None:
        """Note the filesystem of the folder."""
        if device != self.device:
            self.device = device
            self._write_all()

    def take(self, path: str, noted: Noted) -> None:
        """Note that a file was taken."""
        self._files[path] = noted
        self._append([path, *asdict(noted.seen).values(), noted.taken_at])

    def drop(self, path: str) -> None:
        """Note that a file left the ontology."""
        if self._files.pop(path, None) is not None:
            self._append([path])

    def sync(self) -> None:
        """Make the notes durable. Raise a StoreError where the disk refuses."""
        if self._lines > 2 * len(self._files) + SPARE:
            self._write_all()
            return
        try:
            with self._path.open("ab") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise from_os_error(error, f"Writing {self._path}") from error

    def _read(self) -> None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        lines = [line for line in (_decoded(line) for line in content.split(b"\n")) if line is not None]
        if not lines or not isinstance(lines[0], dict) or lines[0].get("ontology") != self._ontology:
            return
        self.device = int(lines[0].get("device", 0))
        for line in lines[1:]:
            if not isinstance(line, list):
                continue
            if len(line) == 1:
                self._files.pop(str(line[0]), None)
            elif len(line) == 5:
                self._files[str(line[0])] = Noted(Seen(*line[1:4]), line[4])
        self._lines = len(lines)
        if not content.endswith(b"\n"):  # a kill left a line half written; the next one must not continue it
            self._write_all()

    def _append(self, line: list[Any]) -> None:
        if not self._lines:
            self._write_all()
            return
        try:
            with self._path.open("ab") as file:
                file.write(_encoded(line))
        except OSError as error:
            raise from_os_error(error, f"Writing {self._path}") from error
        self._lines += 1

    def _write_all(self) -> None:
        lines: list[Any] = [{"ontology": self._ontology, "device": self.device}]
        lines += [[path, *asdict(noted.seen).values(), noted.taken_at] for path, noted in self._files.items()]
        fresh = self._path.with_suffix(".new")
        try:
            with fresh.open("wb") as file:
                file.writelines(map(_encoded, lines))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
        except OSError as error:
            raise from_os_error(error, f"Writing {self._path}") from error
        self._lines = len(lines)


def _encoded(line: Any) -> bytes:
    return json.dumps(line).encode() + b"\n"  # surrogates of undecodable names become \\udcXX


def _decoded(line: bytes) -> Any:
    """Return the content of a line; None for one that a kill left half written."""
    try:
        return json.loads(line)
    except ValueError:
        return None


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
