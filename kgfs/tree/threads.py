"""Where calls wait that may block: a bounded number of threads for questions, and as many for changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

import trio

from kgfs.errors import KgfsError, StoppingError
from kgfs.tree.gate import Gate

if TYPE_CHECKING:
    from outcome import Outcome

T = TypeVar("T")

THREADS = 16


class Threads:
    """Slow questions make no change wait. The event loop owns it."""

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

    async def change(self, call: Callable[[], T], *, held: bool = True, outlasts: bool = False) -> T:
        """Goes to its end whatever happens, once it has begun. What is not ``held`` passes a gate that is closed. What
        ``outlasts`` others, for it waits for a server, takes none of the places: one that is silent may keep it for long, and
        nobody else is to find no thread for that."""
        if held and self.are_held():
            await self._gate.passing()
        if outlasts:
            return await self._to_the_end(call)
        task = trio.lowlevel.current_task()
        try:
            self._changing.acquire_on_behalf_of_nowait(task)
        except trio.WouldBlock:
            await self._changing.acquire_on_behalf_of(task)
        try:
            return await self._to_the_end(call)
        finally:
            self._changing.release_on_behalf_of(task)

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
                return await trio.to_thread.run_sync(call, limiter=self._asking, abandon_on_cancel=True)
            finally:
                self._asked.discard(scope)
        raise StoppingError("The mount is being taken down.")

    def stop(self) -> None:
        """Give up what is being asked, and refuse new questions, and changes that have not begun for they are held."""
        self._stopping = True
        self._gate.refuse(StoppingError("The mount is being taken down."))
        for scope in list(self._asked):
            scope.cancel()


def _to_its_end(raise_cancel: Callable[[], NoReturn]) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED
