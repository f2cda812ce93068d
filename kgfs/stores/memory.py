"""Return memory to the system after much of it was given up: many inodes that the kernel forgot, or a long text."""

from __future__ import annotations

import ctypes
import gc


def give_back() -> None:
    """Collect garbage and trim the C heap. Takes some milliseconds.

    Neither Python nor the C library trims by itself: a million names that were looked up once would cost memory as
    long as the mount exists, and what a text of 500 MB was read with, as long as the worker.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # only glibc has it
        trim(0)
