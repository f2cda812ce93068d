"""The vectors of one model as one file that every process maps: line ``slot`` is the vector in that slot.

A cache beside the database: safe to delete at any time, made again from the rows. Within one layout a line never gets
another vector, so several processes may extend the file at once (they write the same bytes), and what a process has
mapped stays right. A file of another layout is replaced by rename; who has the old one mapped keeps it.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgfs.errors import from_os_error

Matrix = npt.NDArray[np.float32]
VectorReader = Callable[[int], Iterable[tuple[int, bytes]]]
"""Gives (slot, vector bytes) for the slots from the given one on; slots without a row are left out."""

_HEADER = struct.Struct("<8s16sIxxxxQ")  # magic, layout, dimensions, lines that are complete
_MAGIC = b"kgfsvec1"
_START = 64


class MatrixFile:
    """Not for several threads at once; what :meth:`map` returned may be read by any."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mapped: tuple[str, int, Matrix] | None = None
        """Layout and inode number of the file, and all of it."""

    def map(self, layout: str, dimensions: int, lines: int, read: VectorReader) -> Matrix:
        """The first ``lines`` lines, shape (lines, dimensions), read-only; those missing in the file are added with
        ``read``."""
        if not lines:
            return np.zeros((0, dimensions), np.float32)
        try:
            descriptor = self._open(layout, dimensions)
            try:
                complete = self._complete(descriptor, layout, dimensions) or 0
                if complete < lines:
                    self._extend(descriptor, layout, dimensions, complete, lines, read)
                return self._whole(descriptor, layout, dimensions, lines)[:lines]
            finally:
                os.close(descriptor)
        except OSError as error:
            raise from_os_error(error, str(self._path)) from error

    def _whole(self, descriptor: int, layout: str, dimensions: int, lines: int) -> Matrix:
        # Each new mapping costs a page fault for every 4 KiB of it, so one is kept while the file is the same.
        status = os.fstat(descriptor)
        if self._mapped and self._mapped[:2] == (layout, status.st_ino) and len(self._mapped[2]) >= lines:
            return self._mapped[2]
        room = (status.st_size - _START) // (4 * dimensions)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            matrix = np.memmap(file, np.float32, "r", _START, (room, dimensions))
        self._mapped = (layout, status.st_ino, matrix)
        return matrix

    def _open(self, layout: str, dimensions: int) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            pass
        else:
            if self._complete(descriptor, layout, dimensions) is not None:
                return descriptor
            os.close(descriptor)
        descriptor, fresh = tempfile.mkstemp(".new", self._path.name, self._path.parent)
        os.pwrite(descriptor, _header(layout, dimensions, 0), 0)
        Path(fresh).rename(self._path)
        return descriptor

    @staticmethod
    def _complete(descriptor: int, layout: str, dimensions: int) -> int | None:
        """How many lines are complete; None when the file is of another layout, or is none."""
        raw = os.pread(descriptor, _HEADER.size, 0)
        if len(raw) < _HEADER.size:
            return None
        magic, found_layout, found_dimensions, lines = _HEADER.unpack(raw)
        if (magic, found_layout, found_dimensions) != (_MAGIC, layout.encode(), dimensions):
            return None
        size = os.fstat(descriptor).st_size
        return min(int(lines), max(0, size - _START) // (4 * dimensions))

    @staticmethod
    def _extend(descriptor: int, layout: str, dimensions: int, complete: int, lines: int, read: VectorReader) -> None:
        width = 4 * dimensions
        if os.fstat(descriptor).st_size < _START + lines * width:
            # Only ever grows the file, which others may have mapped; and with room, so that it is seldom mapped anew.
            os.posix_fallocate(descriptor, 0, _START + (lines + lines // 8 + 64) * width)
        for slot, vector in read(complete):
            os.pwrite(descriptor, vector, _START + slot * width)
        # The count may not reach the disk before the lines that it counts.
        os.fdatasync(descriptor)
        os.pwrite(descriptor, _header(layout, dimensions, lines), 0)


def _header(layout: str, dimensions: int, lines: int) -> bytes:
    return _HEADER.pack(_MAGIC, layout.encode(), dimensions, lines)
