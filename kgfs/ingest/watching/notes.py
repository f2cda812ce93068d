"""Keep the notes of a watched folder: which of its files were taken, in a file of the home.

The notes can be lost: then every file is taken again, which is skipped where its bytes stand at its path, and nothing
is removed that was taken before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kgfs.errors import from_os_error
from kgfs.ingest.watching.changes import Noted
from kgfs.ingest.watching.scan import Seen

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
