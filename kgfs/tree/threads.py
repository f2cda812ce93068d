"""Where calls wait that may block: in a bounded number of places for questions, and as many for changes.

A place is for who waits for this machine: for its disk, and for others that do. Who begins to wait for a server, or for somebody
who may be, gives it back (:mod:`kgfs.stores.aside`), so that nobody whom the disk can answer stands behind a server that is
silent. Of those that wait so there are as many as ask, each in a thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import trio

from kgfs.errors import KgfsError, StoppingError
from kgfs.stores.aside import in_place
from kgfs.tree.gate import Gate

if TYPE_CHECKING:
    from outcome import Outcome

T = TypeVar("T")

THREADS = 16


class Threads:
    """Slow questions make no change wait, and nothing waits for a server but who asks it. The event loop owns it."""

    def __init__(self, threads: int = THREADS) -> None:
        self._asking = trio.CapacityLimiter(threads)
        self._changing = trio.CapacityLimiter(threads)
        self._asked: set[trio.CancelScope] = set()
        self._stopping = False
        self._told: deque[trio.lowlevel.Task] = deque()
        self._going_on = False
        """Whether those who were told are about to go on."""
        self._gate = Gate()
        self._gate.open()

    def hold_changes(self) -> Gate:
        """From now on they wait until it is opened."""
        self._gate = Gate()
        return self._gate

    def are_held(self) -> bool:
        return not self._gate.is_open()

    async def change(self, call: Callable[[], T], *, held: bool = True) -> T:
        """Goes to its end whatever happens, once it has begun. What is not ``held`` passes a gate that is closed."""
        if held and self.are_held():
            await self._gate.passing()
        place = _Place(self._changing)
        await place.take()
        try:
            return await self._to_the_end(partial(in_place, call, place.leave))
        finally:
            place.give_back()

    async def _to_the_end(self, call: Callable[[], T]) -> T:
        """The thread is handed over to directly, without the turns of the event loop that ``trio.to_thread`` takes for what is
        not wanted here: abandoning, calling back, naming."""
        task, token = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()

        def deliver(result: Outcome[T]) -> None:
            token.run_sync_soon(trio.lowlevel.reschedule, task, result)

        trio.lowlevel.start_thread_soon(call, deliver)
        result: T = await trio.lowlevel.wait_task_rescheduled(_to_its_end)
        return result

    async def told(self, tell: Callable[[Callable[[KgfsError | None], None]], None]) -> None:
        """Wait, without a thread, until what is given to ``tell`` is called, from whatever thread, once; what it is called
        with is raised. Goes to its end. Those who are told together go on together."""
        task, token = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()
        errors: list[KgfsError] = []

        def hear(error: KgfsError | None) -> None:
            if error is not None:
                errors.append(error)
            self._told.append(task)
            if not self._going_on:
                self._going_on = True
                token.run_sync_soon(self._go_on)

        tell(hear)
        await trio.lowlevel.wait_task_rescheduled(_to_its_end)
        for error in errors:
            raise error

    def _go_on(self) -> None:
        # First, so that who is told from now on calls for this again, and nobody is missed.
        self._going_on = False
        while self._told:
            trio.lowlevel.reschedule(self._told.popleft())

    async def ask(self, call: Callable[[], T]) -> T:
        """Changes nothing, so it is given up when its caller is cancelled or :meth:`stop` is called (StoppingError); its
        thread then ends by itself."""
        if self._stopping:
            raise StoppingError("The mount is being taken down.")
        with trio.CancelScope() as scope:
            self._asked.add(scope)
            try:
                place = _Place(self._asking)
                asking = partial(in_place, call, place.leave)
                # It takes whatever acquires and releases so.
                limiter = cast(trio.CapacityLimiter, place)
                return await trio.to_thread.run_sync(asking, limiter=limiter, abandon_on_cancel=True)
            finally:
                self._asked.discard(scope)
        raise StoppingError("The mount is being taken down.")

    def stop(self) -> None:
        """Give up what is being asked, and refuse new questions, and changes that have not begun for they are held."""
        self._stopping = True
        self._gate.refuse(StoppingError("The mount is being taken down."))
        for scope in list(self._asked):
            scope.cancel()


class _Place:
    """That of one call. It is given back when the call ends or, if that is before, when its thread steps aside."""

    __slots__ = ("_among", "_taken", "_token")

    def __init__(self, among: trio.CapacityLimiter) -> None:
        self._among = among
        self._taken = False
        self._token = trio.lowlevel.current_trio_token()

    async def take(self) -> None:
        try:
            self._among.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            await self._among.acquire_on_behalf_of(self)
        self._taken = True

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._among.release_on_behalf_of(self)

    def leave(self) -> None:
        """The same, for its thread."""
        with suppress(trio.RunFinishedError):  # then nobody wants it
            self._token.run_sync_soon(self.give_back)

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        await self.take()

    def release_on_behalf_of(self, borrower: object) -> None:
        self.give_back()


def _to_its_end(raise_cancel: Callable[[], NoReturn]) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED
