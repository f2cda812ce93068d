"""Staying until what a verb owes is done."""

from __future__ import annotations

import time

import click

from kgfs.app.working import run_worker
from kgfs.cli.options import count
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.errors import BusyError
from kgfs.knowledge.owed import owed
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import worker_alive

LOOK = 0.2


def read_owed(config: Config, stores: Stores) -> None:
    """Until nothing is owed: by the worker that is alive, or by being it. Exits with 1 if documents failed meanwhile."""
    with Bar() as bar:
        start = owed(stores.journal)
        total = start.jobs

        def watch() -> None:
            left = owed(stores.journal)
            at = next((f"{job.stage} {job.progress:.0%}" for job in left.working), "")
            bar.show(max(total - left.jobs, 0), total, f"read {at}")

        while not owed(stores.journal).nothing:
            try:
                if owed(stores.journal).jobs:
                    run_worker(config, until_idle=True, watch=watch)
                else:  # a mount settles what it wrote when it is quiet
                    time.sleep(LOOK)
            except BusyError:
                while worker_alive(config.run) and not owed(stores.journal).nothing:
                    watch()
                    time.sleep(LOOK)
    failed = stores.journal.names.counts().get(State.FAILED, 0) - start.failed
    if failed > 0:
        click.echo(f"kgfs: {count(failed, 'document')} could not be read; kgfs wait names them.", err=True)
        raise SystemExit(1)
