"""Transactions whose owner stands still: a process that was stopped, a machine that sleeps or is cut off.

What one has written to is locked on the server until its time is up. So who waits for a lock looks at what kgfs has open on this
graph, and ends what has been silent for longer than its owner allowed. The server does not say how long one was silent
(``idleTime`` is null as it comes); who waits measures it, from look to look: at both it waits for the next request, has touched
nothing in between, and its process has begun and ended nothing else, as one does that renews the lease which it writes under.
How long a transaction lasts, or a request of it, does not count: one that works is never ended.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

LOOK = 2.0
"""Seconds that who waits for a lock waits before it looks, and between two looks."""
GAP = 3 * LOOK
"""No more is counted for the time between two looks: while the server or who looks stood still, nobody could be heard."""
LEAST = 12.0
"""Seconds that anybody may be silent: a busy machine works something out between two requests, or a wire loses some. While one
works something out under a lease, it is known only by its renewals; one that waits for what its own transaction has locked stays
the same for as long as who renews is patient (5 s with a short lease), and up to 2 s until the server ends it."""

Row = Mapping[str, Any]
Ask = Callable[[str, dict[str, Any]], Row | None]
"""A statement and its words; the one row that it returns."""

log = logging.getLogger("kgfs.graph")

_US = secrets.token_hex(8)
"""This process, which does not end what it has open itself."""

_OPEN = """
SHOW TRANSACTIONS YIELD transactionId, metaData, startTime, status, currentQueryId, clientAddress, pageHits, pageFaults,
    activeLockCount, estimatedUsedHeapMemory
WHERE metaData.kgfs = $graph AND metaData.process <> $us
RETURN collect({id: transactionId, process: metaData.process, address: clientAddress, silence: metaData.silence,
    signs: [startTime, pageHits, pageFaults, activeLockCount, estimatedUsedHeapMemory],
    waits: status = 'Running' AND coalesce(currentQueryId, '') = ''}) AS open"""
"""``waits``: for the next request of its owner. One that waits for a lock, commits or was ended has another status."""
_END = "TERMINATE TRANSACTIONS $ids YIELD transactionId RETURN count(*) AS ended"
"""Its locks are free at once; its owner hears of it at its next request. Harmless for one that has ended."""


def signed(graph: str, silence: float) -> dict[str, Any]:
    """What a transaction says of itself; ``silence`` is how many seconds its owner may ask nothing."""
    return {"kgfs": graph, "process": _US, "silence": max(silence, LEAST)}


@dataclass(slots=True)
class _Silent:
    signs: list[Any]
    seen: float
    seconds: float = 0.0


class Still:
    """What was seen of others' transactions on one graph at former looks. Any thread may ask."""

    def __init__(self, graph: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._clock = clock
        self._looking = Lock()
        self._seen: dict[str, _Silent] = {}

    def end(self, ask: Ask) -> None:
        """Those that have been silent for longer than they may. Does nothing while another thread is at it."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            found = ask(_OPEN, {"graph": self._graph, "us": _US})
            if over := self._over(found["open"] if found is not None else []):
                ask(_END, {"ids": [one["id"] for one in over]})
            for one in over:
                log.info(
                    "%s: ended %s from %s: silent for %g s", self._graph, one["id"], one["address"], one["silence"]
                )
        finally:
            self._looking.release()

    def _over(self, rows: Sequence[Row]) -> list[Row]:
        now = self._clock()
        before, self._seen = self._seen, {}
        over = []
        for row in (row for row in rows if row["waits"]):
            beside = sorted(other["id"] for other in rows if other["process"] == row["process"])
            one, signs = before.get(row["id"]), [*row["signs"], *beside]
            if one is None or one.signs != signs:
                one = _Silent(signs, now)
            one.seconds += min(now - one.seen, GAP)
            one.seen = now
            self._seen[row["id"]] = one
            if one.seconds >= row["silence"]:
                over.append(row)
        return over
