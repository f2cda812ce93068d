"""Wait until the backlog is empty: either a live worker empties it, or this process becomes the worker.

It reports what is done of what is new, the file that is read now, and the time that is left.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kgfs.app import timing
from kgfs.app.home import open_to_read, request_settling
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.domain.names import decode_name
from kgfs.errors import BusyError, KgfsError, NoWorkerError, TimedOutError
from kgfs.knowledge.backlog import Owed, lines, owed, unread
from kgfs.knowledge.document_location import standing_of
from kgfs.render.words import counted
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import reason_of_last_end, worker_alive, worker_note

if TYPE_CHECKING:
    from kgfs.ingest.storing.settle import Settler

ENOUGH = 2.0
"""Seconds of work from which on the time that is left is told."""

Progress = Callable[[int, int, str], None]
"""A callback that is called with (done, total, subject)."""

FAILURES_SHOWN = 5
LOOKED_AT = 1000
"""The newest documents that were not read, among which a wait looks for new ones."""
KEPT = "What is owed stays so, and is done when that answers again; kgfs wait waits for it."


class FailedDocumentsError(KgfsError):
    """The backlog is empty, but some documents could not be read."""

    exit_code = 1


def wait(
    config: Config,
    timeout: float,
    progress: Progress,
    report: Callable[[str], None] = lambda reason: None,
    missed: Callable[[str], None] = lambda line: None,
) -> None:
    """Return once the backlog is empty. Settling is requested at once, without waiting for the quiet time.

    ``timeout`` is in seconds; 0 means no limit. ``report`` is called with each reason why the worker stands still, once; ``missed`` with a line for each of the newest
    documents that were not read since the last wait, once the backlog is empty. Raise FailedDocumentsError if any of these failed,
    TimedOutError after the time-out while a worker is alive, and NoWorkerError if the backlog is not empty and no
    worker is alive.
    """
    with open_to_read(config) as stores:
        request_settling(config)
        _wait(config, stores.catalog, timeout, progress, report)
        waited, now = config.run / "waited", time.time_ns()
        since = waited.stat().st_mtime_ns if waited.exists() else 0
        fresh = [one for one in unread(stores.catalog.names, LOOKED_AT) if one.failed_at > since]
        for line in lines(fresh[:FAILURES_SHOWN], len(fresh)):
            missed(line)
        waited.touch(mode=0o600)
        os.utime(waited, ns=(now, now))
        failed = [f"{one.ontology}/{one.path}: {one.reason}" for one in fresh if one.state == State.FAILED.value]
        if failed:
            raise FailedDocumentsError(
                f"{counted(len(failed), 'document')} could not be read; the originals are kept, and kgfs reprocess --failed"
                " tries again. " + "; ".join(failed[:FAILURES_SHOWN])
            )


def _wait(config: Config, catalog: Catalog, timeout: float, progress: Progress, report: Callable[[str], None]) -> None:
    started = worked = time.monotonic()
    known: set[str] = set()
    advance = Advance(catalog)
    while not (found := owed(catalog)).nothing:
        now = time.monotonic()
        done, total, subject = advance.measure(found)
        progress(done, total, subject or words_of(found))
        if timeout and now - started > timeout:
            raise _timed_out(config, f"Still owed after {timeout:g} s: {words_of(found)}.")
        if worker_alive(config.run):
            worked = now
            waits_for = worker_note(config.run).get("waits_for", "")
            if waits_for and waits_for not in known:
                known.add(waits_for)
                report(waits_for)
        elif now - worked > timing.NO_WORKER:
            outage = away(config, timing.HASTE)
            if not worker_alive(config.run):  # else a worker began while the servers were probed
                raise _no_worker(config, f"Owed: {words_of(found)}.", outage)
        time.sleep(timing.WAIT_POLL)


def _timed_out(config: Config, still: str) -> KgfsError:
    """Return the error for an expired wait. It names the server that is away, if one is, and tells the user what to
    do.
    """
    outage = away(config, timing.HASTE)
    if not worker_alive(config.run):
        return _no_worker(config, still, outage)
    goes_on = f"{outage} {KEPT}" if outage else "The work goes on; wait again, or look at kgfs status."
    return TimedOutError(f"{still} {goes_on}")


def _no_worker(config: Config, still: str, outage: KgfsError | None) -> NoWorkerError:
    """Return the error for a home without a worker. ``outage`` is the error of a server that is away now, or None."""
    if outage:
        return NoWorkerError(f"{still} No worker is alive, and one that is started cannot go on: {outage}")
    return NoWorkerError(
        f"{still} No worker is alive. Start one: kgfs worker, or kgfs mount.{reason_of_last_end(config.run)}"
    )


def read_backlog(
    config: Config,
    stores: Stores,
    progress: Progress,
    settler: Settler | None = None,
    timeout: float = 0.0,
    *,
    begun: float | None = None,
) -> None:
    """Return once no document is left to be read.

    ``settler`` is the Settler of this process's session, if it has one. Raise FailedDocumentsError if documents
    failed during the call. Raise TimedOutError ``timeout`` seconds (0: no limit) after ``begun`` (a monotonic time;
    default: now) while anything is left; before that, the servers are probed for at most HASTE seconds each, and the
    error names one that is away. Where all is read by then, what this process is at as a worker ends, and another worker
    goes on with it: the search for concepts in earlier documents, for example. If there is no progress because a server
    is away, raise that server's error after as many attempts as a worker makes that ends when it is idle.
    """
    begun = time.monotonic() if begun is None else begun
    if settler is None:
        from kgfs.ingest.storing.settle import Settler

        settler = Settler(config, stores)
    start = owed(stores.catalog)
    advance = Advance(stores.catalog)
    standstill = _Standstill(config, settler)
    deadline = begun + timeout
    stop: list[Callable[[], None]] = []

    def watch() -> None:
        left = owed(stores.catalog)
        progress(*advance.measure(left))
        if timeout and time.monotonic() > deadline:
            if left.nothing_to_read:  # the worker of this process is at what any other may do later
                for each in stop:
                    each()
                return
            outage = settler.away or away(config, timing.HASTE)
            goes_on = (
                f"{outage} {KEPT}" if outage else "A mount or kgfs worker goes on with it; kgfs wait waits for that."
            )
            raise TimedOutError(f"Still owed after {timeout:g} s: {words_of(left)}. {goes_on}")

    def stay() -> None:
        """Settle what this process has written and no other process settles, while another process reads documents."""
        settler.run_once(time.time_ns())
        watch()
        standstill.check(owed(stores.catalog))
        time.sleep(timing.READ_POLL)

    while not owed(stores.catalog).nothing_to_read:
        try:
            if owed(stores.catalog).jobs:
                from kgfs.app.working import run_worker

                run_worker(config, until_idle=True, watch=watch, stoppable=stop.append)
            else:
                stay()
        except BusyError:
            while worker_alive(config.run) and not owed(stores.catalog).nothing_to_read:
                stay()
    failed = stores.catalog.names.counts().get(State.FAILED, 0) - start.failed
    if failed > 0:
        raise FailedDocumentsError(f"{counted(failed, 'document')} could not be read; kgfs wait names them.")


def words_of(found: Owed) -> str:
    """Return a description of the backlog for people."""
    forgettings = f", {counted(found.forgettings, 'forgetting')}" if found.forgettings else ""
    return f"{counted(found.jobs, 'document')}, {counted(found.unsettled, 'unsettled path')}{forgettings}"


class _Standstill:
    """Detect that there is no progress because a server is away."""

    def __init__(self, config: Config, settler: Settler) -> None:
        self._config = config
        self._settler = settler
        self._seen: tuple[object, ...] = ()
        self._asked = 0
        """Number of successive probes that found a server away since the last progress."""
        self._next = 0.0

    def check(self, left: Owed) -> None:
        """Check for progress, and raise the error of a server that is away as :func:`read_backlog` describes. Call
        this often.
        """
        counts = left.unsettled, left.jobs, left.done, left.failed, left.unsupported
        seen = *counts, *((job.doc_id, job.stage, job.progress) for job in left.working)
        if seen != self._seen:
            self._seen, self._asked, self._next = seen, 0, time.monotonic() + timing.STANDSTILL
        if time.monotonic() < self._next:
            return
        outage = self._settler.away or away(self._config)
        self._asked = self._asked + 1 if outage else 0
        self._next = time.monotonic() + timing.STANDSTILL
        if outage and self._asked >= self._config.pipeline.max_attempts:
            raise type(outage)(f"{outage} {KEPT}") from outage


def away(config: Config, haste: float | None = None) -> KgfsError | None:
    """Return the error of the first server that is away; None if no server is, or none is configured."""
    if not config.on_servers and config.cluster.engine == "local":
        return None
    from kgfs.app import asking

    return asking.away(config, haste)


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
