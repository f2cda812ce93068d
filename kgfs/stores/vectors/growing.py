"""Arrays to which rows are appended, again and again, without a copy of what they have already."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

SPARE = 8
"""An array that is full gets room for a SPARE-th more than it needs."""
LEAST_SPARE = 1024
Array = npt.NDArray[Any]


class Growing:
    """Room for an array that grows along its last axis. What was returned never changes; any thread may read it.

    Any thread may extend it. Threads that extend the same array at the same time append the same values.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._room: Array | None = None

    def extended(self, known: Array | None, added: Array) -> Array:
        """Return ``known`` with ``added`` behind it. ``known`` is what this object returned before, None for nothing; the
        first time it may be any array."""
        length = known.shape[-1] if known is not None else 0
        total = length + added.shape[-1]
        with self._lock:
            room = self._room
            if room is None or room.shape[-1] < total:
                room = np.empty((*added.shape[:-1], total + total // SPARE + LEAST_SPARE), added.dtype)
                if known is not None:
                    room[..., :length] = known
                self._room = room
            room[..., length:total] = added
            return room[..., :total]
