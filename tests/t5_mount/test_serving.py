"""Who reads the next request, without a kernel: pyfuse3's loop is played with a queue for a device."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio
import trio.testing

from kgfs.fuse import handling, timing
from kgfs.fuse.handling import SPARES, Device, noticed


class Played:
    """Requests that each run a handler; the loop has pyfuse3's shape."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: deque[Callable[[], Awaitable[None]]] = deque()
        self.there = trio.Event()
        self.ended = False
        self.loops = 0
        self.device: Device | None = None
        monkeypatch.setitem(handling._inside, "_session_loop", self._loop)

    def ask(self, *handlers: Callable[[], Awaitable[None]]) -> None:
        self.requests += handlers
        self.there.set()

    def end(self) -> None:
        self.ended = True
        self.there.set()

    async def _loop(self, nursery: trio.Nursery, least: int, most: int) -> None:
        self.loops += 1
        assert self.device is not None
        while not self.ended:
            try:
                await self.device.__aenter__()
            except trio.ClosedResourceError:
                return
            try:
                while not self.requests and not self.ended:
                    self.there = trio.Event()
                    await self.there.wait()
            finally:
                await self.device.__aexit__()
            if self.requests:
                await noticed(self._run(self.requests.popleft()), self.device.pass_on, self.device.done)

    async def _run(self, handler: Callable[[], Awaitable[None]]) -> None:
        await handler()


async def test_requests_that_wait_for_nothing_are_answered_by_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    played, answered = Played(monkeypatch), 0

    async def quick() -> None:
        nonlocal answered
        answered += 1

    async with trio.open_nursery() as nursery:
        played.device = Device(nursery)
        nursery.start_soon(played.device.work)
        played.ask(*[quick] * 100)
        await trio.testing.wait_all_tasks_blocked()
        played.end()
    assert (answered, played.loops) == (100, 1)


async def test_slow_requests_delay_nobody_and_all_tasks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    played, answered = Played(monkeypatch), 0
    go_on = trio.Event()

    async def quick() -> None:
        nonlocal answered
        answered += 1

    async def slow() -> None:
        await go_on.wait()
        await trio.lowlevel.checkpoint()
        await quick()

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            played.device = Device(nursery)
            nursery.start_soon(played.device.work)
            for _ in range(3):
                go_on = trio.Event()
                before = answered
                played.ask(*[slow] * (SPARES * 3), quick)
                await trio.testing.wait_all_tasks_blocked()
                assert answered == before + 1, "the quick one"
                go_on.set()
                await trio.testing.wait_all_tasks_blocked()
                assert answered == before + SPARES * 3 + 1
            assert played.loops < 3 * SPARES * 3, "spare tasks are used again"
            played.end()


async def test_what_a_handler_returns_and_raises_passes_through() -> None:
    heard: list[str] = []
    waits, waited = partial(heard.append, "waits"), partial(heard.append, "waited")

    async def at_once() -> int:
        return 7

    async def later() -> int:
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        raise KeyError("later")

    assert await noticed(at_once(), waits, waited) == 7
    assert heard == []
    with pytest.raises(KeyError, match="later"):
        await noticed(later(), waits, waited)
    assert heard == ["waits", "waited"]
    with trio.move_on_after(0) as scope:
        await noticed(trio.sleep_forever(), waits, waited)
    assert scope.cancelled_caught
    assert heard == ["waits", "waited"] * 2


async def _turns_of_the_loop(device: Device, descriptor: int, times: int) -> int:
    """How often anybody else had a turn while a request was waited for, so many times."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        for _ in range(times):
            await device.readable(descriptor)
        nursery.cancel_scope.cancel()
    return turns


async def test_the_next_request_is_found_without_the_loop_but_the_loop_has_its_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def loop(nursery: trio.Nursery, least: int, most: int) -> None:
        await trio.sleep_forever()

    monkeypatch.setitem(handling._inside, "_session_loop", loop)
    monkeypatch.setattr(timing, "REQUEST_STREAK", 60.0)
    reading, writing = os.pipe()
    try:
        os.write(writing, b"a request")
        async with trio.open_nursery() as nursery:
            device = Device(nursery)
            assert await _turns_of_the_loop(device, reading, 100) < 10, "only the first asks the loop"
            device.pass_on()
            assert await _turns_of_the_loop(device, reading, 100) >= 99, "a handler waits for what the loop has"
            device.done()
            assert await _turns_of_the_loop(device, reading, 100) < 10
            monkeypatch.setattr(timing, "REQUEST_STREAK", 0.0)
            device = Device(nursery)
            assert await _turns_of_the_loop(device, reading, 100) >= 99, "the streak is over each time"
            nursery.cancel_scope.cancel()
    finally:
        os.close(reading)
        os.close(writing)


async def test_a_request_that_does_not_come_at_once_is_waited_for_in_the_loop() -> None:
    reading, writing = os.pipe()
    try:
        async with trio.open_nursery() as nursery:
            device = Device(nursery)
            os.write(writing, b".")
            await device.readable(reading)
            os.read(reading, 1)
            nursery.start_soon(device.readable, reading)
            await trio.testing.wait_all_tasks_blocked(0.01)
            os.write(writing, b".")
    finally:
        os.close(reading)
        os.close(writing)


async def test_before_the_next_request_is_looked_for_there_is_time_for_what_it_may_ask() -> None:
    reading, writing = os.pipe()
    happened: list[str] = []
    try:
        async with trio.open_nursery() as nursery:
            device = Device(nursery, lambda: happened.append("prepared"))
            os.write(writing, b".")
            await device.readable(reading)
            happened.append("there")
        assert happened == ["prepared", "there"]
    finally:
        os.close(reading)
        os.close(writing)
