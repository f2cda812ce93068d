"""Pace what a mount polls: often while something happens in the home or in the mount, seldom else."""

from __future__ import annotations

import time

import trio

from kgfs.fuse import timing
from kgfs.stores.change_watch import ChangeWatch


class Pulse:
    """The pace of one mount. Used on the event loop only."""

    def __init__(self, watch: ChangeWatch | None = None, lively: float = 5.0) -> None:
        """``watch`` is that of the home; without one, or without one that works, polls are always quick. ``lively`` is
        how many seconds after a change polls are quick, since time must pass before a change is dealt with.
        """
        self._watch = watch
        self._lively = lively
        self._changed = trio.Event()
        self._until = time.monotonic() + lively
        self._works = watch is not None and watch.works

    async def listen(self) -> None:
        """Wait for changes of the home, without end. For a task of the mount."""
        while self._watch is not None and self._works:
            await trio.lowlevel.wait_readable(self._watch.fileno())
            if self._watch.changed():
                self._stir(self._lively)
            await trio.sleep(timing.PULSE_QUICK)  # a busy home wakes this no more often

    def requested(self) -> None:
        """Note that the kernel has sent a request. Quick."""
        self._stir(timing.PULSE_AFTER_REQUEST)

    def _stir(self, seconds: float) -> None:
        self._until = max(self._until, time.monotonic() + seconds)
        if self._changed.statistics().tasks_waiting:
            self._changed.set()
            self._changed = trio.Event()

    async def rest(self, quick: float = timing.PULSE_QUICK, slow: float = timing.PULSE_SLOW) -> None:
        """Pause between two polls: ``quick`` seconds while something happens, else until something does, or ``slow``
        seconds.
        """
        if not self._works or time.monotonic() < self._until:
            await trio.sleep(quick)
            return
        with trio.move_on_after(slow):
            await self._changed.wait()
