"""Serve a rendered file of any size part by part, so that memory does not grow with it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from kgfs.errors import GoneError
from kgfs.stores.thread_slots import blocks
from kgfs.tree.node import Fixed

P = TypeVar("P")

AT_ONCE = 1 << 16
"""Bytes of a file that is small enough to be rendered at once, when it is opened."""


class Streamed(Fixed, Generic[P]):
    """A handle on a file whose parts are rendered when they are read. It keeps the last part."""

    __slots__ = ("_ends", "_kept", "_parts", "_render")

    def __init__(self, content_id: Hashable, parts: Sequence[tuple[P, int]], render: Callable[[P], bytes]) -> None:
        """Create a handle. ``parts`` are in order, each with its exact number of bytes."""
        super().__init__(content_id)
        self._parts = parts
        self._ends = list(accumulate(size for _, size in parts))
        self._render = render
        self._kept: tuple[int, bytes] = (-1, b"")

    @property
    def size(self) -> int:
        return self._ends[-1] if self._ends else 0

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes. Raise GoneError where a part is not what it was when the file was opened."""
        found: list[bytes] = []
        at, end = offset, min(offset + length, self.size)
        while at < end:
            place = bisect_right(self._ends, at)
            first = self._ends[place] - self._parts[place][1]
            piece = self._part(place)[at - first : end - first]
            found.append(piece)
            at += len(piece)
        return b"".join(found)

    def _part(self, place: int) -> bytes:
        kept, content = self._kept
        if kept != place:
            blocks()
            part, size = self._parts[place]
            content = self._render(part)
            if len(content) != size:
                raise GoneError("This file has changed since it was opened. Open it again.")
            self._kept = (place, content)
        return content
