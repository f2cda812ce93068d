"""Where calls wait that may block: changes go to their end, and only so many at once."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from kgfs.errors import KgfsError, StoppingError, StoreError
from kgfs.stores.thread_slots import WaitingLock, release_slot
from kgfs.tree.threads import Threads


async def test_a_change_gives_back_what_its_thread_returned_or_raised() -> None:
    threads, main = Threads(), threading.get_ident()
    assert await threads.change(threading.get_ident) != main

    def fails() -> None:
        raise KeyError("full")

    with pytest.raises(KeyError, match="full"):
        await threads.change(fails)


async def test_a_cancelled_change_goes_to_its_end_and_its_thread_is_free_again() -> None:
    threads, go_on, done = Threads(1), threading.Event(), []

    def change() -> None:
        assert go_on.wait(10)
        done.append(1)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads.change, change)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
            go_on.set()
        assert done == [1]
        assert await threads.change(lambda: 7) == 7


async def test_changes_beyond_the_threads_wait_for_their_turn() -> None:
    with trio.fail_after(10):
        assert await most_at_once(Threads(2).change, 10) == 2


async def test_who_waits_to_be_told_takes_no_thread_and_hears_of_failures() -> None:
    threads, count = Threads(1), 20
    done: list[Callable[[KgfsError | None], None]] = []
    ended: list[str] = []

    async def wait(number: int) -> None:
        try:
            await threads.notified(done.append)
            ended.append("kept")
        except StoreError:
            ended.append("failed")

    def tell() -> None:
        for number, one in enumerate(done):
            one(StoreError("The disk failed.") if number % 2 else None)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(wait, number)
            await trio.testing.wait_all_tasks_blocked()
            assert len(done) == count
            await threads.change(tell)
    assert sorted(ended) == ["failed"] * (count // 2) + ["kept"] * (count // 2)


async def test_who_is_told_before_it_waits_goes_on_and_the_cancelled_are_told_too() -> None:
    threads = Threads()
    with trio.fail_after(10):
        await threads.notified(lambda done: done(None))
        done: list[Callable[[KgfsError | None], None]] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads.notified, done.append)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await trio.testing.wait_all_tasks_blocked()
            threading.Thread(target=done[0], args=(None,)).start()


@pytest.mark.parametrize("kind", ["change", "ask"])
async def test_who_steps_aside_takes_the_place_of_none(kind: str) -> None:
    threads, go_on, ended = Threads(1), threading.Event(), list[bool]()
    wait = {"change": threads.change, "ask": threads.ask}[kind]

    def outlast() -> bool:
        for _ in range(2):
            release_slot()
        return go_on.wait(10)

    async def waiting() -> None:
        ended.append(await wait(outlast))

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(waiting)
            assert await wait(lambda: 7) == 7
            assert ended == []
            go_on.set()
        assert ended == [True] * 5
        most = await most_at_once(wait, 5)
    assert most == 1, "each gave back one place, which was its own"


async def most_at_once(wait: Callable[[Callable[[], None]], Awaitable[None]], count: int) -> int:
    inside, most, lock = 0, 0, threading.Lock()

    def call() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.01)
        with lock:
            inside -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(wait, call)
    return most


async def test_who_waits_for_somebody_that_may_wait_for_a_server_takes_the_place_of_none() -> None:
    threads, lock, held, go_on = Threads(1), WaitingLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock, lock:
            held.set()
            release_slot()
            assert go_on.wait(10)

    def wait() -> None:
        with lock:
            assert go_on.is_set()

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads.change, hold)
            await trio.to_thread.run_sync(held.wait)
            assert not lock.acquire_nowait()
            for _ in range(3):
                nursery.start_soon(threads.change, wait)
            assert await threads.change(lambda: 7) == 7
            go_on.set()
    assert lock.acquire_nowait()
    lock.release()


def test_who_has_no_place_steps_aside_from_none() -> None:
    release_slot()
    with WaitingLock():
        release_slot()


async def test_changes_wait_at_a_gate_and_questions_do_not() -> None:
    threads, made = Threads(), list[str]()
    gate = threads.hold_changes()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads.change, lambda: made.append("change"))
            await gate.wanted.wait()
            assert await threads.ask(lambda: "answer") == "answer"
            await threads.change(lambda: made.append("open to read"), held=False)
            await trio.testing.wait_all_tasks_blocked()
            assert made == ["open to read"]
            gate.open()
    assert sorted(made) == ["change", "open to read"]
    assert not threads.are_held()


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_gate_that_stays_shut_refuses(stopped: bool) -> None:
    threads, refused, made = Threads(), list[KgfsError](), list[int]()
    gate = threads.hold_changes()

    async def change() -> None:
        try:
            await threads.change(lambda: made.append(1))
        except KgfsError as error:
            refused.append(error)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            await gate.wanted.wait()
            if stopped:
                threads.stop()
            else:
                gate.refuse(StoreError("an older copy"))
        await change()
    gate.open()  # too late
    assert [type(error) for error in refused] == [StoppingError if stopped else StoreError] * 2
    assert made == [] and threads.are_held()
