"""Staying until what a verb owes is done."""

from __future__ import annotations

import time

import click

from kgfs.app.asking import away
from kgfs.app.home import HASTE, ship_rest
from kgfs.app.working import run_worker
from kgfs.cli.options import count
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.errors import BusyError, TimedOutError
from kgfs.ingest.keeping.settle import Settler
from kgfs.ingest.sharing.exchange import Exchange
from kgfs.knowledge.owed import Owed, owed
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import worker_alive

LOOK = 0.2
STILL = 5.0
"""Seconds without progress after which servers are asked whether they are there."""
KEPT = "What is owed stays so, and is done when that answers again; kgfs wait waits for it."


def read_owed(
    config: Config, stores: Stores, settler: Settler | None = None, timeout: float = 0.0, *, begun: float | None = None
) -> None:
    """Until nothing is left to be read: by the worker that is alive, or by being it. ``settler`` is of this process's session, if it has
    one. Exits with 1 if documents failed meanwhile. TimedOutError ``timeout`` seconds, where that is not 0, after ``begun``
    (monotonic; else now), once servers were asked which of them is away, each for HASTE seconds at most. What a server that is away says is raised where nothing goes on, after as many attempts as a
    worker makes that ends when it is idle."""
    begun = time.monotonic() if begun is None else begun
    if settler is not None:
        _read_owed(config, stores, settler, timeout, begun)
        return
    exchange = Exchange(config, stores)
    try:
        settler = Settler(config, stores, left_waiting=exchange.left_waiting)
        _read_owed(config, stores, settler, timeout, begun)
    finally:
        if stores.journal.sharing:
            ship_rest(config, stores, exchange)


def _read_owed(config: Config, stores: Stores, settler: Settler, timeout: float, begun: float) -> None:
    with Bar() as bar:
        start = owed(stores.journal)
        standstill = _Standstill(config, settler)
        deadline = begun + timeout

        def watch() -> None:
            left = owed(stores.journal)
            at = next((f"{job.stage} {job.progress:.0%}" for job in left.working), "")
            bar.show(max(start.jobs - left.jobs, 0), start.jobs, f"read {at}")
            if timeout and time.monotonic() > deadline:
                said = settler.away or away(config, HASTE)
                goes_on = (
                    f"{said} {KEPT}" if said else "A mount or kgfs worker goes on with it; kgfs wait waits for that."
                )
                raise TimedOutError(f"Still owed after {timeout:g} s: {words_of(left)}. {goes_on}")

        def stay() -> None:
            """Where others read: this process settles what it has written, and what nobody else does."""
            settler.run_once(time.time_ns())
            watch()
            standstill.look(owed(stores.journal))
            time.sleep(LOOK)

        while not owed(stores.journal).nothing_to_read:
            try:
                if owed(stores.journal).jobs:
                    run_worker(config, until_idle=True, watch=watch)
                else:
                    stay()
            except BusyError:
                while worker_alive(config.run) and not owed(stores.journal).nothing_to_read:
                    stay()
    failed = stores.journal.names.counts().get(State.FAILED, 0) - start.failed
    if failed > 0:
        click.echo(f"kgfs: {count(failed, 'document')} could not be read; kgfs wait names them.", err=True)
        raise SystemExit(1)


def words_of(found: Owed) -> str:
    """What is owed, in words."""
    forgettings = f", {count(found.forgettings, 'forgetting')}" if found.forgettings else ""
    return f"{count(found.jobs, 'document')}, {count(found.unsettled, 'unsettled path')}{forgettings}"


class _Standstill:
    """Whether nothing goes on because a server is away."""

    def __init__(self, config: Config, settler: Settler) -> None:
        self._config = config
        self._settler = settler
        self._seen: tuple[object, ...] = ()
        self._asked = 0
        """How often in vain since anything went on."""
        self._next = 0.0

    def look(self, left: Owed) -> None:
        """To be called often. Raises as :func:`read_owed` says."""
        counts = left.unsettled, left.jobs, left.done, left.failed, left.unsupported
        seen = *counts, *((job.doc_id, job.stage, job.progress) for job in left.working)
        if seen != self._seen:
            self._seen, self._asked, self._next = seen, 0, time.monotonic() + STILL
        if time.monotonic() < self._next:
            return
        said = self._settler.away or away(self._config)
        self._asked = self._asked + 1 if said else 0
        self._next = time.monotonic() + STILL
        if said and self._asked >= self._config.pipeline.max_attempts:
            raise type(said)(f"{said} {KEPT}") from said
