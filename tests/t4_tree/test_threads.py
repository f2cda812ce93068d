"""Where calls wait that may block: changes go to their end, and only so many at once."""

from __future__ import annotations

import threading

import pytest
import trio
import trio.testing

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
    threads, inside, most, lock = Threads(2), 0, 0, threading.Lock()

    def change() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.01)
        with lock:
            inside -= 1

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(threads.change, change)
    assert (inside, most) == (0, 2)
