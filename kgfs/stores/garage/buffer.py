"""Memory that blocks are read into, one after the other."""

from __future__ import annotations

import mmap


def buffer_of(size: int) -> memoryview:
    """So many bytes (1 at least), which can be written, from the start of a page on. The C library puts what is large to the
    16th byte of a page, and there the kernel's copying from its own pages takes 2.4 times as long on some processors."""
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
