"""Keeps the replica of a mounted home current."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kgfs.errors import BusyError, FullError
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.replica.graph import Replica

EVERY = 0.25
"""Seconds between two looks at the server."""
AGAIN = 1.0
"""The same while it is away."""
SELDOM = 60.0
"""The same at most, twice as long each time, while this machine's disk has not the room: an attempt may take the last of it, and
as long as it lasts nobody could write."""
ENDING = 5.0
"""Seconds that a look under way has to end when the mount does."""


@contextmanager
def fed(graph: Graph, begin: threading.Event | None = None) -> Iterator[None]:
    """While this is open a thread of its own asks the server, if the graph is a replica: nobody else waits for it. Not before
    ``begin`` is set, where one is given."""
    if not isinstance(graph, Replica):
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_feed, args=(graph, begin, over), name="replica", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        if begin is not None:
            begin.set()
        thread.join(ENDING)


def _feed(replica: Replica, begin: threading.Event | None, over: threading.Event) -> None:
    if begin is not None:
        begin.wait()
    pause = EVERY
    while not over.wait(pause):
        try:
            replica.follow()
            pause = EVERY
        except (FullError, BusyError):
            pause = min(max(AGAIN, 2 * pause), SELDOM)
        except Exception:  # noqa: BLE001 - noted by follow(); the next look may succeed, and a thread that ended would look no more
            pause = AGAIN
