"""``kgfs wait``: until nothing is owed."""

from __future__ import annotations

import time

import click

from kgfs.app.asking import away
from kgfs.app.home import HASTE, open_stores
from kgfs.app.working import request_settling
from kgfs.cli.finishing import KEPT, words_of
from kgfs.cli.options import count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.errors import KgfsError, NoWorkerError, TimedOutError
from kgfs.knowledge.owed import Owed, owed
from kgfs.stores.journal.contract import Journal
from kgfs.stores.worker_lock import told_of_the_last, worker_alive

LOOK = 0.1
PATIENCE = 10.0
"""Seconds without any worker before the wait is given up: one may just be starting."""


class FailedDocumentsError(KgfsError):
    """Nothing is owed any more, but some documents could not be read."""

    exit_code = 1


@click.command()
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Give up after this long; 0 waits for ever.",
)
@with_config
def command(config: Config, timeout: float) -> None:
    """Wait until everything that was written has become knowledge, and what was forgotten has left it.

    Asks for settling at once instead of after the quiet time. Exit codes: 0 all done (unsupported formats are not a
    failure), 1 some documents failed, 8 timed out while a worker is alive, 9 work is owed and no worker is alive.

    \b
    Example:
      cp *.txt ~/knowledge/Notes/documents/ && kgfs wait --timeout 600
    """
    with open_stores(config, make=False) as stores:
        request_settling(config)
        _wait(config, stores.journal, timeout)
        found = owed(stores.journal)
        if found.failed:
            failed = [
                f"{document.source_id.partition('/')[2]}: {document.reason}"
                for ontology in stores.journal.names.ontologies()
                for document in stores.journal.names.documents(ontology.id, limit=1_000_000)
                if document.state is State.FAILED
            ]
            raise FailedDocumentsError(
                f"{count(found.failed, 'document')} could not be read; the originals are kept, and kgfs reprocess --failed"
                " tries again. " + "; ".join(failed[:5])
            )


def _wait(config: Config, journal: Journal, timeout: float) -> None:
    started = worked = time.monotonic()
    with Bar() as bar:
        while not (found := owed(journal)).nothing:
            now = time.monotonic()
            bar.show(found.done, found.done + found.total, _at(found))
            if timeout and now - started > timeout:
                raise _timed_out(config, f"Still owed after {timeout:g} s: {words_of(found)}.")
            if worker_alive(config.run):
                worked = now
            elif now - worked > PATIENCE:
                said = away(config, HASTE)
                if not worker_alive(config.run):  # else one began while the servers were asked
                    raise _no_worker(config, f"Owed: {words_of(found)}.", said)
            time.sleep(LOOK)


def _timed_out(config: Config, still: str) -> KgfsError:
    """Why too little goes on, as far as a server says; and what to do about it."""
    said = away(config, HASTE)
    if not worker_alive(config.run):
        return _no_worker(config, still, said)
    goes_on = f"{said} {KEPT}" if said else "The work goes on; wait again, or look at kgfs status."
    return TimedOutError(f"{still} {goes_on}")


def _no_worker(config: Config, still: str, said: KgfsError | None) -> NoWorkerError:
    """``said`` is what a server says that is away now. What the last worker met may have passed since."""
    if said:
        return NoWorkerError(f"{still} No worker is alive, and one that is started cannot go on: {said}")
    return NoWorkerError(
        f"{still} No worker is alive. Start one: kgfs worker, or kgfs mount.{told_of_the_last(config.run)}"
    )


def _at(found: Owed) -> str:
    working = [f"{job.doc_id} {job.stage} {job.progress:.0%}" for job in found.working]
    return working[0] if working else words_of(found)
