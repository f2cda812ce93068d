"""A machine on which the next thing can be timed."""

from __future__ import annotations

import os
from pathlib import Path

_PIECE = bytes(1 << 20)


def settle(folder: Path, size: int) -> None:
    """Have the disk of ``folder`` take what waits for it, and the machine have so many bytes of memory for files.

    A virtual machine may give memory that is free back to its host; the first write into it then takes longer, twelve times
    where this was found (2.4 ms a MiB, balloon with free page reporting), whoever writes.
    """
    os.sync()
    file = folder / "settling"
    try:
        with file.open("wb", buffering=0) as out:
            for _ in range(-(-size // len(_PIECE))):
                out.write(_PIECE)
    finally:
        file.unlink(missing_ok=True)
