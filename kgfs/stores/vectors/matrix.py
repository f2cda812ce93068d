"""The vectors of one model in one file that all processes map into memory. Line ``slot`` is the vector of that slot.

The file is a cache beside the database. It may be deleted at any time, and is made again from the rows. Within one
layout a line never gets another vector. So several processes may extend the file at the same time, for they write the
same bytes, and existing mappings stay correct. A file of another layout is replaced by rename; processes that have
mapped the old file keep it.
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
"""A function that yields (slot, vector bytes) for the slots from the given one on. Slots without a row are
omitted."""

_HEADER = struct.Struct("<8s16sIxxxxQ")  # magic, layout, dimensions, number of complete lines
_MAGIC = b"kgfsvec1"
_START = 64
WRITTEN_TOGETHER = 1 << 20
"""Bytes of lines, one behind another, that are written at once."""


class MatrixFile:
    """A matrix file of one process. Not for several threads at the same time. Any thread may read what :meth:`map`
    returned."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mapped: tuple[str, int, Matrix] | None = None
        """The layout, the inode number and the whole matrix of the mapped file."""

    def map(self, layout: str, dimensions: int, lines: int, read: VectorReader) -> Matrix:
        """Return the first ``lines`` lines as a read-only array of shape (lines, dimensions).

        Lines that the file lacks are read with ``read`` and appended. Raise the typed error of an OSError if the file
        cannot be used.
        """
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
        """Return all lines that the file has room for, mapped into memory."""
        # A new mapping costs a page fault for every 4 KiB, so the mapping is kept while the file is the same.
        status = os.fstat(descriptor)
        if self._mapped and self._mapped[:2] == (layout, status.st_ino) and len(self._mapped[2]) >= lines:
            return self._mapped[2]
        room = (status.st_size - _START) // (4 * dimensions)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            matrix = np.memmap(file, np.float32, "r", _START, (room, dimensions))
        self._mapped = (layout, status.st_ino, matrix)
        return matrix

    def _open(self, layout: str, dimensions: int) -> int:
        """Return a descriptor of the file with this layout. Replace a file that has another one, or does not
        exist."""
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
        """Return the number of complete lines, or None if the file has another layout or is no matrix file."""
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
        """Append the missing lines, and make them count."""
        width = 4 * dimensions
        if os.fstat(descriptor).st_size < _START + lines * width:
            # Never shrink the file, which other processes may have mapped. Allocate spare room, so that it is seldom
            # mapped again.
            os.posix_fallocate(descriptor, 0, _START + (lines + lines // 8 + 64) * width)
        together, first = bytearray(), complete
        for slot, vector in read(complete):
            if len(together) >= WRITTEN_TOGETHER or slot != first + len(together) // width:
                os.pwrite(descriptor, together, _START + first * width)
                together, first = bytearray(), slot
            together += vector
        os.pwrite(descriptor, together, _START + first * width)
        # The count must not reach the disk before the lines that it counts.
        os.fdatasync(descriptor)
        os.pwrite(descriptor, _header(layout, dimensions, lines), 0)


def _header(layout: str, dimensions: int, lines: int) -> bytes:
    return _HEADER.pack(_MAGIC, layout.encode(), dimensions, lines)
