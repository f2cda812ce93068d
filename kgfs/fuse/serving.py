"""Run the main loop, in which one task reads a request of the kernel and answers it.

``pyfuse3.main`` hands the device over to another task before it answers, which costs every request a second turn of
the event loop. Nearly all answers here are made without waiting, so the task that read a request keeps the device
until its handler really waits. For that, the lock of pyfuse3 is replaced in the same way as its asyncio layer
replaces it.

Most clients send their next request as soon as they have an answer. So a task that has just answered polls the device
directly for a moment before it returns to the event loop, since a turn of the loop takes longer than many an answer.
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

from kgfs.fuse import timing

T = TypeVar("T")

SPARES = 8
"""Number of idle tasks that are kept. Each has a buffer for the largest request."""


_inside = vars(pyfuse3)
"""Names of pyfuse3 that its stubs do not declare."""

_NEVER = -(2**31)
"""Number of tasks that pyfuse3 may start by itself."""
_ALL = 2**31 - 1


class Waiting(Protocol):
    """An object that answers requests. It calls ``waits`` when a handler begins to wait, and ``waited`` when that
    handler ends (see :func:`noticed`).
    """

    waits: Callable[[], None]
    waited: Callable[[], None]

    def meanwhile(self) -> None:
        """Prepare what is likely to be requested next. Called after an answer, before the next request is awaited.
        Raises nothing, and takes no longer than answering that request would.
        """


async def serve(answering: Waiting, requested: Callable[[], None] = lambda: None) -> None:
    """Serve requests. Return once nothing is mounted any more or ``pyfuse3.terminate`` was called, and all requests
    are answered. ``requested`` is called when a request comes after a pause.
    """
    try:
        async with trio.open_nursery() as nursery:
            device = Device(nursery, answering.meanwhile, requested)
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
    """Stand in for the lock of pyfuse3: the task that holds it reads the next request. Used on the event loop only."""

    def __init__(
        self,
        nursery: trio.Nursery,
        meanwhile: Callable[[], None] = lambda: None,
        requested: Callable[[], None] = lambda: None,
    ) -> None:
        self._nursery = nursery
        self._meanwhile = meanwhile
        self._requested = requested
        self._held = False
        self._surplus = False
        """Whether the running task is ended because there are enough tasks."""
        self._over = False
        """Whether a task ended for any other reason: no more requests can be read."""
        self._spare = trio.lowlevel.ParkingLot()
        self._waiting = 0
        """Number of handlers that wait for something. Only the event loop can wake them."""
        self._streak_ends = 0.0
        self._poll: select.poll | None = None

    async def work(self) -> None:
        """Run one task that reads and answers requests."""
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
            raise trio.ClosedResourceError  # tells pyfuse3 to end this task
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
            if self._poll.poll(timing.REQUEST_POLL_MS):
                return
        await trio.lowlevel.wait_readable(descriptor)
        self._streak_ends = time.monotonic() + timing.REQUEST_STREAK
        self._requested()

    def pass_on(self) -> None:
        """Let another task read, because the task that read last begins to wait."""
        self._waiting += 1
        if self._held:
            return
        if self._spare:
            self._held = True
            self._spare.unpark()
        else:
            self._nursery.start_soon(self.work)

    def done(self) -> None:
        """Note that a handler that waited has ended."""
        self._waiting -= 1


@types.coroutine
def noticed(
    work: Coroutine[Any, Any, T], waits: Callable[[], None], waited: Callable[[], None]
) -> Generator[Any, Any, T]:
    """Await ``work``. Call ``waits`` when ``work`` waits for the first time, and in that case ``waited`` at its end."""
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
