"""Run calls that may block: inline if they need not wait, else in a thread.

Questions and changes each have a bounded number of slots, and searches have a few slots of their own. A slot is for a
call that waits for this machine: for its disk, or for other such calls. A call that begins to wait for a server, or
for another call that may do so, releases its slot (:mod:`kgfs.stores.thread_slots`) and continues in its thread. So
calls that the disk can answer never queue behind a silent server.

A gate holds changes back until it is known that they are allowed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import trio

from kgfs.compute.deadline import Deadline
from kgfs.errors import CrowdedError, KgfsError, StoppingError, TimedOutError
from kgfs.stores.thread_slots import WouldBlock, in_place, inline
from kgfs.tree.timing import SEARCH, SEARCH_ENDS

if TYPE_CHECKING:
    from outcome import Outcome

T = TypeVar("T")

THREADS = 16

SEARCHES = 16
"""Maximum number of concurrent searches. A further search is refused with the advice to try again."""

_KILLED = 1 << 8
"""SIGKILL in a set of pending signals. The kernel turns every signal that ends a process into SIGKILL."""


class Threads:
    """Run questions, changes and searches in threads. Slow questions delay no change, and only a call that needs a
    server waits for the server. Used on the event loop only.
    """

    def __init__(self, threads: int = THREADS, searches: int = SEARCHES, seconds: float = SEARCH) -> None:
        self._asking = trio.CapacityLimiter(threads)
        self._changing = trio.CapacityLimiter(threads)
        self._searching = trio.CapacityLimiter(searches)
        self._seconds = seconds
        self._asked: set[trio.CancelScope] = set()
        self._stopping = False
        self._notified: deque[trio.lowlevel.Task] = deque()
        self._going_on = False
        """Whether the tasks in ``_notified`` are scheduled to continue."""
        self._gate = Gate()
        self._gate.open()

    def hold_changes(self) -> Gate:
        """Return a new gate. From now on changes wait until it is opened."""
        self._gate = Gate()
        return self._gate

    def are_held(self) -> bool:
        return not self._gate.is_open()

    async def change(self, call: Callable[[], T], *, held: bool = True) -> T:
        """Return the result of ``call``, run in a thread. Once begun, the call runs to its end in any case.

        A call that is not ``held`` passes a closed gate.
        """
        if held and self.are_held():
            await self._gate.passing()
        slot = _Slot(self._changing)
        await slot.take()
        try:
            return await self._to_the_end(partial(in_place, call, slot.leave))
        finally:
            slot.give_back()

    async def change_inline(self, call: Callable[[], T], *, held: bool = True) -> T:
        """Return the result of ``call`` as :meth:`change` does, without a thread if the call does not block."""
        if not (held and self.are_held()):
            with suppress(WouldBlock):
                return inline(call)
        return await self.change(call, held=held)

    async def _to_the_end(self, call: Callable[[], T]) -> T:
        """Run the call in a thread without cancellation. The thread is started directly, to avoid the turns of the
        event loop that ``trio.to_thread`` takes for features that are not needed here: abandoning, calling back and
        naming.
        """
        task, token = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()

        def deliver(result: Outcome[T]) -> None:
            token.run_sync_soon(trio.lowlevel.reschedule, task, result)

        trio.lowlevel.start_thread_soon(call, deliver)
        result: T = await trio.lowlevel.wait_task_rescheduled(_to_its_end)
        return result

    async def notified(self, tell: Callable[[Callable[[KgfsError | None], None]], None]) -> None:
        """Wait, without a thread, until the callback that is passed to ``tell`` is called once, from any thread.
        Raise the error with which it is called.

        The wait cannot be cancelled. Tasks whose callbacks are called together continue together.
        """
        task, token = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()
        errors: list[KgfsError] = []

        def hear(error: KgfsError | None) -> None:
            if error is not None:
                errors.append(error)
            self._notified.append(task)
            if not self._going_on:
                self._going_on = True
                token.run_sync_soon(self._go_on)

        tell(hear)
        await trio.lowlevel.wait_task_rescheduled(_to_its_end)
        for error in errors:
            raise error

    def _go_on(self) -> None:
        # First, so that a task that is reported from now on schedules another call, and no task is missed.
        self._going_on = False
        while self._notified:
            trio.lowlevel.reschedule(self._notified.popleft())

    async def answer(self, question: Callable[[], T]) -> T:
        """Return the result of ``question``, without a thread if it does not block. Otherwise as :meth:`ask`."""
        try:
            return inline(question)
        except WouldBlock:
            return await self.ask(question)

    async def ask(self, question: Callable[[], T]) -> T:
        """Return the result of ``question``, run in a thread.

        A question changes nothing, so it is abandoned if its caller is cancelled or :meth:`stop` is called
        (StoppingError). Its thread then ends by itself.
        """
        with self._given_up_at_stop():
            slot = _Slot(self._asking)
            asking = partial(in_place, question, slot.leave)
            # run_sync accepts any object that acquires and releases in this way.
            limiter = cast(trio.CapacityLimiter, slot)
            return await trio.to_thread.run_sync(asking, limiter=limiter, abandon_on_cancel=True)
        raise StoppingError("The mount is being taken down.")

    async def search(self, work: Callable[[Deadline], T], pid: int = 0) -> T:
        """Return the result of ``work``, run in a thread apart from all other questions. ``pid`` is the thread that
        asks; 0 if it is not known.

        A search that its client gives up, or that takes too long, frees its slot as soon as the work notices. Raise
        CrowdedError if all slots are taken, TimedOutError after SEARCH seconds (SEARCH_ENDS later if the work does
        not notice), and StoppingError as :meth:`ask` does.
        """
        patience = Deadline(self._seconds, lambda: ends(pid))
        searching = partial(work, patience)
        with self._given_up_at_stop():
            if self._searching.available_tokens < 1:
                raise CrowdedError(
                    f"{self._searching.total_tokens:g} searches are being worked on. Ask again in a moment."
                )
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
        """Abandon all questions, and refuse new questions and held changes that have not begun."""
        self._stopping = True
        self._gate.refuse(StoppingError("The mount is being taken down."))
        for scope in list(self._asked):
            scope.cancel()


class _Slot:
    """The slot of one call. It is released when the call ends or, if earlier, when its thread releases it."""

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
        """Release the slot from the call's thread."""
        with suppress(trio.RunFinishedError):  # then no call needs the slot
            self._token.run_sync_soon(self.give_back)

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        await self.take()

    def release_on_behalf_of(self, borrower: object) -> None:
        self.give_back()


def _to_its_end(raise_cancel: Callable[[], NoReturn]) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED


def ends(pid: int) -> bool:
    """Return whether the thread ``pid`` has ended or is about to end. While it waits for a filesystem, it cannot end
    before it has its answer.

    Return False if that cannot be determined.
    """
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


class Gate:
    """A gate that is closed at first, and is opened or refused. Used on the event loop only."""

    def __init__(self) -> None:
        self.wanted = trio.Event()
        """Set once a task waits at the gate."""
        self._decided = trio.Event()
        self._refusal: KgfsError | None = None

    async def passing(self) -> None:
        """Return once the gate is open. Raise the error with which the gate is refused."""
        self.wanted.set()
        await self._decided.wait()
        if self._refusal is not None:
            raise self._refusal

    def open(self) -> None:
        """Open the gate. No effect if the gate was refused before."""
        self._decided.set()

    def refuse(self, error: KgfsError) -> None:
        """Refuse the gate with the error. No effect if the gate was opened or refused before."""
        if not self._decided.is_set():
            self.shut(error)

    def shut(self, error: KgfsError) -> None:
        """Refuse every change from now on with the error, also if the gate was open."""
        self._refusal = error
        self._decided.set()

    def is_open(self) -> bool:
        return self._decided.is_set() and self._refusal is None
