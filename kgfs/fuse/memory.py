"""Return memory to the system after the kernel has forgotten many inodes."""

from __future__ import annotations

import ctypes
import gc


def give_back() -> None:
    """Collect garbage and trim the C heap. Takes some milliseconds.

    Neither Python nor the C library trims by itself: a million names that were looked up once would cost memory as
    long as the mount exists.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # only glibc has it
        trim(0)
