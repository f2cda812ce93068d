"""Giving memory back to the system once the kernel has forgotten much."""

from __future__ import annotations

import ctypes
import gc


def give_back() -> None:
    """Neither Python nor the C library does it by itself: a million names that were looked at once would be paid for as
    long as the mount stands. Takes some milliseconds."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # only glibc has it
        trim(0)
