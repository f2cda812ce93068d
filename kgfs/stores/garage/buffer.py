"""Memory that blocks are read into, one after the other."""

from __future__ import annotations

import mmap
import weakref


def buffer_of(size: int) -> memoryview:
    """So many bytes (1 at least), which can be written, from the start of a page on. The C library puts what is large to the
    16th byte of a page, and there the kernel's copying from its own pages takes 2.4 times as long on some processors."""
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


class Buffers:
    """Memory that is used again once nobody holds it, by any thread: getting a MiB anew costs as much as filling it."""

    def __init__(self, size: int, spare: int) -> None:
        """``spare``: how many of ``size`` bytes are kept that nobody holds."""
        self._size = size
        self._spare = spare
        self._free: list[memoryview] = []

    def take(self, size: int) -> memoryview:
        """Filled with anything. It is held as long as this very view is: who reads parts of it keeps it meanwhile."""
        try:
            memory = self._free.pop()
        except IndexError:
            memory = buffer_of(self._size)
        view = memory[:size]
        weakref.finalize(view, self._put_back, memory).atexit = False
        return view

    def _put_back(self, memory: memoryview) -> None:
        if len(self._free) < self._spare:
            self._free.append(memory)
