"""Runs calls that may block: inline where they need not wait, else in a thread.

There is a bounded number of slots for questions, as many for changes, and some for searches. A slot is for a call that waits for
this machine: for its disk, and for other such calls. One that begins to wait for a server, or for somebody who may, gives its
slot back (:mod:`kgfs.stores.aside`), so that nobody whom the disk can answer stands behind a server that is silent; it goes on
in its thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import trio

from kgfs.compute.patience import Patience
from kgfs.errors import CrowdedError, KgfsError, StoppingError, TimedOutError
from kgfs.stores.aside import in_place
from kgfs.stores.blocking import WouldBlock, inline
from kgfs.tree.gate import Gate
from kgfs.tree.timing import SEARCH, SEARCH_ENDS

if TYPE_CHECKING:
    from outcome import Outcome

T = TypeVar("T")

THREADS = 16

SEARCHES = 16
"""Searches worked on at one time; who asks another one is told to try again."""

_KILLED = 1 << 8
"""SIGKILL in a set of pending signals: what the kernel makes of every signal that ends a process."""


class Threads:
    """Slow questions make no change wait, and nothing waits for a server but who asks it. The event loop owns it."""

    def __init__(self, threads: int = THREADS, searches: int = SEARCHES, seconds: float = SEARCH) -> None:
        self._asking = trio.CapacityLimiter(threads)
        self._changing = trio.CapacityLimiter(threads)
        self._searching = trio.CapacityLimiter(searches)
        self._seconds = seconds
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
        """What ``call`` returns, from a thread. It goes to its end whatever happens, once it has begun. What is not ``held`` passes
        a gate that is closed."""
        if held and self.are_held():
            await self._gate.passing()
        slot = _Slot(self._changing)
        await slot.take()
        try:
            return await self._to_the_end(partial(in_place, call, slot.leave))
        finally:
            slot.give_back()

    async def change_inline(self, call: Callable[[], T], *, held: bool = True) -> T:
        """The same, without a thread where nothing is waited for."""
        if not (held and self.are_held()):
            with suppress(WouldBlock):
                return inline(call)
        return await self.change(call, held=held)

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

    async def answer(self, question: Callable[[], T]) -> T:
        """What ``question`` returns, without a thread where nothing is waited for. As :meth:`ask`."""
        try:
            return inline(question)
        except WouldBlock:
            return await self.ask(question)

    async def ask(self, question: Callable[[], T]) -> T:
        """What ``question`` returns, from a thread. It changes nothing, so it is given up when its caller is cancelled or
        :meth:`stop` is called (StoppingError); its thread then ends by itself."""
        with self._given_up_at_stop():
            slot = _Slot(self._asking)
            asking = partial(in_place, question, slot.leave)
            # It takes whatever acquires and releases so.
            limiter = cast(trio.CapacityLimiter, slot)
            return await trio.to_thread.run_sync(asking, limiter=limiter, abandon_on_cancel=True)
        raise StoppingError("The mount is being taken down.")

    async def search(self, work: Callable[[Patience], T], pid: int = 0) -> T:
        """What ``work`` returns, from a thread, apart from all other questions. ``pid`` is the thread that asks; 0 where that is
        not known. One that its asker gives up, or that takes too long, leaves its slot as soon as the work notices. CrowdedError
        where all slots are taken, TimedOutError after SEARCH seconds, StoppingError as above."""
        if self._searching.available_tokens < 1:
            raise CrowdedError(f"{self._searching.total_tokens:g} searches are being worked on. Ask again in a moment.")
        patience = Patience(self._seconds, lambda: ends(pid))
        searching = partial(work, patience)
        with self._given_up_at_stop():
            try:
                with trio.move_on_after(self._seconds + SEARCH_ENDS):
                    return await trio.to_thread.run_sync(searching, limiter=self._searching, abandon_on_cancel=True)
                raise TimedOutError(f"The search was not worked out within {self._seconds:g} seconds.")
            finally:
                patience.give_up()
        raise StoppingError("The mount is being taken down.")

    @contextmanager
    def _given_up_at_stop(self) -> Iterator[None]:
        if self._stopping:
            raise StoppingError("The mount is being taken down.")
        with trio.CancelScope() as scope:
            self._asked.add(scope)
            try:
                yield
            finally:
                self._asked.discard(scope)

    def stop(self) -> None:
        """Give up what is being asked, and refuse new questions, and changes that have not begun for they are held."""
        self._stopping = True
        self._gate.refuse(StoppingError("The mount is being taken down."))
        for scope in list(self._asked):
            scope.cancel()


class _Slot:
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


def ends(pid: int) -> bool:
    """Whether the thread ``pid`` has ended or is about to: while it waits for a filesystem it cannot go before it has its
    answer. False where that cannot be known."""
    if not pid:
        return False
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            lines = status.read().splitlines()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return any(line.startswith(b"SigPnd:") and int(line.split()[1], 16) & _KILLED for line in lines)
