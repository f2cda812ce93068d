"""How far the work on a backlog is: what is done of what is new, the file that is read now, and the time that is left."""

from __future__ import annotations

import time

from kgfs.domain.names import decode_name
from kgfs.knowledge.backlog import Owed, owed
from kgfs.knowledge.document_location import standing_of
from kgfs.stores.catalog.sqlite import Catalog

ENOUGH = 2.0
"""Seconds of work from which on the time that is left is told."""


class Advance:
    """Tells how far the work is that was owed when this was made, and has come since."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        start = owed(catalog)
        self._ended = _ended(start)
        self._begun = time.monotonic()
        self._bytes = 0
        """The most bytes that were to be read at any time, with those that were read since."""
        self._left = 0

    def measure(self, found: Owed) -> tuple[int, int, str]:
        """Return the documents done of those that are new, and a description for people, given the present backlog."""
        done = max(_ended(found) - self._ended, 0)
        _, left = self._catalog.jobs.to_read()
        self._bytes += max(left - self._left, 0)
        self._left = left
        return done, done + found.total, self._now(found)

    def _now(self, found: Owed) -> str:
        working = next((job for job in found.working if job.kind == "read"), None)
        if working is None:
            return ""
        path = standing_of(self._catalog.names, working.doc_id).origin.path.removeprefix("documents/")
        named = decode_name(path).decode("utf-8", "replace")
        stage = f", {working.stage} {working.progress:.0%}" if working.stage else ""
        return f"{named}{stage}{self._time_left()}"

    def _time_left(self) -> str:
        worked, read = time.monotonic() - self._begun, self._bytes - self._left
        if worked < ENOUGH or read <= 0:
            return ""
        return f", {duration(worked * self._left / read)} left"


def duration(seconds: float) -> str:
    """Return a time for people: ``40 s``, ``3 min``, ``2 h``."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def _ended(found: Owed) -> int:
    return found.done + found.failed + found.unsupported
