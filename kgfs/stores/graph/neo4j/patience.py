"""Calls that are waited for only so long.

A driver finds out by a time-out of the server's choosing (two minutes as Neo4j comes) that a connection is dead whose other
end was cut off without a word. Who asks does not wait for that.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Patience:
    """Threads that make calls for others, and are used again. Any thread may ask."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[tuple[Callable[[], Any], Future[Any]]]] = []

    def within(
        self,
        seconds: float,
        work: Callable[[], Answer],
        meanwhile: Callable[[], object] = lambda: None,
        every: float = math.inf,
    ) -> Answer:
        """What ``work`` returns or raises; TimeoutError after so long. Then it goes on, for nobody, and may come to its
        end all the same; a process that ends does not wait for it. ``meanwhile`` is done in this thread whenever it has been
        waited for so many seconds more."""
        future: Future[Answer] = Future()
        try:
            queue = self._idle.pop()
        except IndexError:
            queue = SimpleQueue()
            threading.Thread(target=self._serve, args=(queue,), name="kgfs-neo4j", daemon=True).start()
        queue.put((work, future))
        deadline = time.monotonic() + seconds
        while True:
            try:
                return future.result(min(every, max(0.0, deadline - time.monotonic())))
            except TimeoutError:
                if future.done():  # its own
                    return future.result()
                if time.monotonic() >= deadline:
                    raise
                meanwhile()

    def _serve(self, queue: SimpleQueue[tuple[Callable[[], Any], Future[Any]]]) -> None:
        while True:
            work, future = queue.get()
            try:
                answer = work()
            except BaseException as error:  # noqa: BLE001 - whatever it is, who asked gets it
                self._idle.append(queue)
                future.set_exception(error)
            else:
                self._idle.append(queue)
                future.set_result(answer)
                del answer
            del work, future
