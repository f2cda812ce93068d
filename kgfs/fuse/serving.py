"""The main loop: requests of the kernel, each read and answered by one task.

``pyfuse3.main`` passes the device on to another task before it answers, which costs every request a second turn of the
event loop. Nearly all answers here are made without waiting for anything, so the task that read a request keeps the
device until its handler really waits. For that the lock of pyfuse3 is replaced, through the same door by which its
asyncio layer replaces it.

Most clients ask their next question as soon as they have the answer to the one before. So who has just answered looks
for it directly, for a moment, before the event loop is asked to: a turn of the loop takes longer than many an answer.
"""

from __future__ import annotations

import select
import time
import types
from collections.abc import Callable, Coroutine, Generator
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar

import pyfuse3
import trio

T = TypeVar("T")

SPARES = 8
"""Tasks that are kept although there is nothing to do for them; each has a buffer for the largest request."""

AT_ONCE = 1
"""Milliseconds to look for the next request before the event loop does; nothing else goes on in the loop meanwhile."""

STREAK = 0.01
"""Seconds after which the event loop has its turn, however many requests there are."""

_inside = vars(pyfuse3)
"""What its stubs do not tell of."""

_NEVER = -(2**31)
"""As many tasks as pyfuse3 may start by itself."""
_ALL = 2**31 - 1


class Waiting(Protocol):
    """Whoever answers requests: calls ``waits`` when it begins to wait, and ``waited`` when it has its answer (see
    :func:`noticed`)."""

    waits: Callable[[], None]
    waited: Callable[[], None]

    def meanwhile(self) -> None:
        """Called after an answer, before the next request is looked for: for what is likely to be asked for next. Raises
        nothing, and takes no longer than that would take."""


async def serve(answering: Waiting) -> None:
    """Returns once nothing is mounted any more, or ``pyfuse3.terminate`` was called, and all requests are answered."""
    try:
        async with trio.open_nursery() as nursery:
            device = Device(nursery, answering.meanwhile)
            answering.waits, answering.waited = device.pass_on, device.done
            _inside["trio"] = SimpleNamespace(
                Lock=lambda: device,
                lowlevel=SimpleNamespace(**{**vars(trio.lowlevel), "wait_readable": device.readable}),
                ClosedResourceError=trio.ClosedResourceError,
            )
            nursery.start_soon(device.work)
    finally:
        _inside["trio"] = trio


class Device:
    """What pyfuse3 takes for a lock: whoever holds it reads the next request. The event loop owns it."""

    def __init__(self, nursery: trio.Nursery, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._nursery = nursery
        self._meanwhile = meanwhile
        self._held = False
        self._surplus = False
        """The task that runs is ended because there are enough."""
        self._over = False
        """A task ended for any other reason: there is nothing to read any more."""
        self._spare = trio.lowlevel.ParkingLot()
        self._waiting = 0
        """Handlers that wait for something, which only the event loop can tell them of."""
        self._streak_ends = 0.0
        self._poll: select.poll | None = None

    async def work(self) -> None:
        """One task."""
        try:
            await _inside["_session_loop"](self._nursery, _ALL, _NEVER)
        finally:
            surplus, self._surplus = self._surplus, False
            if not surplus:
                self._over = True
                self._spare.unpark_all()

    async def __aenter__(self) -> None:
        if self._over or not self._held:
            self._held = True
        elif len(self._spare) >= SPARES:
            self._surplus = True
            raise trio.ClosedResourceError  # for pyfuse3: this task is to end
        else:
            await self._spare.park()

    async def __aexit__(self, *failure: object) -> None:
        self._held = False

    async def readable(self, descriptor: int) -> None:
        """Return when the device has a request."""
        self._meanwhile()
        if not self._waiting and time.monotonic() < self._streak_ends:
            if self._poll is None:
                self._poll = select.poll()
                self._poll.register(descriptor, select.POLLIN)
            if self._poll.poll(AT_ONCE):
                return
        await trio.lowlevel.wait_readable(descriptor)
        self._streak_ends = time.monotonic() + STREAK

    def pass_on(self) -> None:
        """The task that read last begins to wait, so that another must read."""
        self._waiting += 1
        if self._held:
            return
        if self._spare:
            self._held = True
            self._spare.unpark()
        else:
            self._nursery.start_soon(self.work)

    def done(self) -> None:
        """A handler that waited has its answer."""
        self._waiting -= 1


@types.coroutine
def noticed(
    work: Coroutine[Any, Any, T], waits: Callable[[], None], waited: Callable[[], None]
) -> Generator[Any, Any, T]:
    """Await ``work``; call ``waits`` when it waits for the first time, and then ``waited`` at its end."""
    begun = False
    try:
        trap = work.send(None)
        begun = True
        waits()
        while True:
            trap = work.send((yield trap))
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        work.close()
        if begun:
            waited()
