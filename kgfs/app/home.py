"""Open the stores of a home, and first derive again those that were lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.app import timing
from kgfs.app.binding import bind, is_bound, refuse_nothing, refuse_others, refuse_strange
from kgfs.config import Config
from kgfs.errors import (
    AWAY,
    BusyError,
    CorruptError,
    KgfsError,
    MissingError,
    TimedOutError,
    from_os_error,
)
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.sqlite import open_graph
from kgfs.stores.locks import locked
from kgfs.stores.run_files import VECTORS_AFTER, begun, replayed
from kgfs.stores.ship import embedding_model_of, is_graph_lost, restore_catalog, ship_from_reserve
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import may_hold_vectors, open_vectors
from kgfs.stores.worker_lock import in_place_of_worker, worker_note

if TYPE_CHECKING:  # needed by processes that write only
    from kgfs.ingest.writing.deposit import Deposits

UNFINISHED = "migration.json"
"""File in a home that is the target of an incomplete migration."""
RESTORING = "restore.lock"
FOREVER = float("inf")
"""Seconds: no deadline."""


@contextmanager
def open_home(config: Config, vectors_of: str = "", *, make: bool = True, derive: bool = True) -> Iterator[Stores]:
    """Open the stores of a home for work that may change it, and derive lost databases from the garage first.

    The home is created if it does not exist; without ``make`` that is a MissingError. ``vectors_of`` names the embedding
    model whose vectors are opened; without it none are. Vectors are derived by :func:`derive_vectors`, from where
    waiting for a server is acceptable. Without ``derive`` the caller derives the graph itself. Raise BadInputError if the
    home is bound to another garage than the configuration names, NotOwnerError if another home owns its bucket, and
    UnavailableError or TimedOutError if a bucket is away whose contents are not known here.
    """
    if not make:
        refuse_nothing(config)
    make_home(config)
    if config.garage_store.store != "files":
        from kgfs.app.ownership import own  # needed by homes in a bucket only

        own(config)
    with ExitStack() as stack:
        stores = Stores(open_garage(config), Catalog(config.catalog_db), open_graph(config))
        if vectors_of:
            vectors = open_vectors(config, vectors_of, stores.garage.confirm_owner)
            stores = replace(stores, vectors=vectors)
        stack.callback(stores.close)
        is_to_be_bound = not is_bound(config) and _surely_its_own(config, stores)
        _restore(config, stores, derive=derive)
        if is_to_be_bound:
            bind(config)
        yield stores


@contextmanager
def open_to_read(config: Config) -> Iterator[Stores]:
    """Open the stores of an existing home, which knows its own state: no server is asked, and nothing is derived.

    Raise MissingError if there is no home, or if its databases were lost; they are derived by a mount or a worker.
    """
    refuse_nothing(config)
    make_home(config)
    with ExitStack() as stack:
        stores = Stores(open_garage(config), Catalog(config.catalog_db), open_graph(config))
        stack.callback(stores.close)
        if not is_whole(config, stores):
            raise MissingError(
                f"{config.home}: its names or its graph are missing or older than the ledger. Run kgfs mount MNT, or kgfs"
                " worker --until-idle, once: that derives them again."
            )
        yield stores


def is_whole(config: Config, stores: Stores) -> bool:
    """Return whether the names and the graph of a home are there, as far as this machine knows."""
    if begun(config) is not None or (stores.graph.epoch() == 0 and stores.catalog.names.any_read()):
        return False
    return config.garage_store.store != "files" or not stores.garage.ledger.beyond(stores.catalog.seq())


@contextmanager
def as_they_are(config: Config) -> Iterator[Stores]:
    """Open the stores of a home to look for damage. Nothing is derived, unless the names or the graph database is
    missing.
    """
    refuse_nothing(config)
    if not (config.catalog_db.exists() and config.graph_db.exists()):
        # An original that the graph is derived from may be missing. That is the damage that the caller looks for.
        with suppress(MissingError), open_home(config, make=False):
            pass
    make_home(config)
    with ExitStack() as stack:
        stores = Stores(open_garage(config, cached=False), Catalog(config.catalog_db), open_graph(config))
        stack.callback(stores.close)
        if not is_bound(config):
            _surely_its_own(config, stores)
        model = worker_note(config.run).get("embedder", "")
        is_backfilled = not (config.run / "vectors.rebuilding").exists()  # else the worker derives them again
        if model and may_hold_vectors(config) and is_backfilled:
            stores = replace(stores, vectors=stack.enter_context(closing(open_vectors(config, model))))
        yield stores


@contextmanager
def open_deposits(config: Config, stores: Stores) -> Iterator[tuple[Deposits, str]]:
    """Open a writing session, and yield its Deposits and the session's id. The session lives until the context ends.

    On exit, facts that were not shipped yet are shipped, unless the bucket is silent for timing.HASTE seconds.
    """
    from kgfs.ingest.storing.settle import open_session
    from kgfs.ingest.writing.deposit import Deposits

    session = DiskReserve(config.home).run(lambda: open_session(config.run))
    deposits = Deposits(config, stores, session.id)
    try:
        yield deposits, session.id
    finally:
        session.close()
        _ship_rest_in_haste(config, stores)


def make_home(config: Config) -> None:
    """Create the folders of a home and fill its disk reserve.

    Raise BusyError if the home is the target of a migration that did not complete, because its data are incomplete.
    Raise BadInputError as :func:`.refuse_others` does.
    """
    if (config.home / UNFINISHED).exists():
        raise BusyError(
            f"{config.home}: the migration to it is not complete. Repeat kgfs migrate from the other home, which goes on where it was."
        )
    refuse_others(config)
    for folder in (config.home, config.garage, config.spool, config.run, config.logs):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(error, f"{folder}: cannot be made (--home or KGFS_HOME name another home)") from error
    DiskReserve(config.home).fill()


def _surely_its_own(config: Config, stores: Stores) -> bool:
    """Return whether the garage of a home that is not bound yet is where the configuration says.

    Return False if the server is away. Raise BadInputError as :func:`.refuse_strange` does.
    """
    if not stores.catalog.seq():
        return True
    try:
        last = stores.garage.ledger.last_seq()
    except AWAY:
        return False
    refuse_strange(config, stores.catalog, last)
    return True


def ship_rest(config: Config, stores: Stores) -> None:
    """Ship the remaining facts before this process ends, since the next process that would ship them may start much
    later.

    Facts that cannot be shipped now are durable in the home; the error is logged.
    """
    try:
        ship_from_reserve(config.home, stores)
    except KgfsError as error:
        ErrorLog(config.errors_log).add("ship", error)


def _ship_rest_in_haste(config: Config, stores: Stores) -> None:
    """Ship the remaining facts as :func:`ship_rest` does, but skip this if the bucket is silent for timing.HASTE
    seconds.

    People wait for this process to end.
    """
    garage = config.garage_store
    if garage.store != "files" and stores.catalog.unshipped(1)[1] and not _is_heard(stores):
        silent = TimedOutError(f"{garage.endpoint}/{garage.bucket}: no answer within {timing.HASTE:g} s.")
        ErrorLog(config.errors_log).add("ship", silent)
        return
    ship_rest(config, stores)


def _is_heard(stores: Stores) -> bool:
    """Return whether the bucket responds within timing.HASTE seconds. An error response counts too."""
    heard = threading.Event()

    def ask() -> None:
        try:
            stores.garage.ledger.beyond(stores.catalog.seq())
        except KgfsError:
            return  # the code that ships gets the same error
        finally:
            heard.set()

    threading.Thread(target=ask, name="is-heard", daemon=True).start()
    return heard.wait(timing.HASTE)


def model_in_use(config: Config, stores: Stores) -> str:
    """Return the embedding model of the stored vectors; '' if there is none.

    This is the newest worker's model. If that worker had none, it is the model of the document that was read last.
    """
    return str(worker_note(config.run).get("embedder", "")) or embedding_model_of(stores)


def derive_vectors(config: Config, stores: Stores) -> None:
    """Rebuild the vectors from stored Readings if they were lost, belong to another model, or were left incomplete by
    a killed process.

    One process rebuilds while other processes wait. Raise
    UnavailableError or TimedOutError if the vector server is unreachable. If stored data of some document are lost, raise
    one MissingError or CorruptError after all other documents have their vectors; the document gets its vectors when it
    is read again.
    """
    if stores.vectors is None:
        return
    since = config.run / VECTORS_AFTER
    if since.exists() and stores.vectors.complete():
        from kgfs.ingest.lifecycle.rebuild import replay_vectors

        replay_vectors(stores, int(since.read_text()))
    since.unlink(missing_ok=True)
    lost: KgfsError | None = None
    with locked(config.run / RESTORING):
        known = any(stores.catalog.names.counts().values())
        with _begun(config.run / "vectors.rebuilding", known and not stores.vectors.complete()) as due:
            if due:
                from kgfs.ingest.lifecycle.rebuild import rebuild_vectors

                try:
                    rebuild_vectors(stores)
                except (MissingError, CorruptError) as error:
                    lost = error
    if lost is not None:
        raise lost


def _restore(config: Config, stores: Stores, *, derive: bool) -> None:
    """Derive missing state: names from the ledger, and the graph from the Readings. One process does this while other
    processes wait.

    A home in a bucket that has local state goes on without the bucket if that is away.
    """
    with locked(config.run / RESTORING):
        if (position := begun(config)) is not None:
            from kgfs.ingest.lifecycle.rebuild import replay_rest  # imports numpy and more, so only once

            stores.catalog.replay(stores.garage.ledger.replay(stores.catalog.seq()))
            replay_rest(stores, position)
            replayed(config)
        try:
            restore_catalog(stores.catalog, stores.garage.ledger)
        except AWAY as error:
            if not (stores.catalog.seq() and (stores.graph.epoch() or not stores.catalog.names.any_read())):
                raise  # the home's contents are not known without the ledger
            ErrorLog(config.errors_log).add("opening", error)
            return
        # Derive the graph even if no document is left: names and numbers of purged documents must not be given to
        # anything else.
        if derive and is_graph_lost(stores):
            from kgfs.ingest.lifecycle.rebuild import rebuild_graph

            rebuild_graph(stores)


@contextmanager
def _begun(note: Path, due: bool) -> Iterator[bool]:
    """Yield whether work is due, or was begun earlier and did not finish. A half rebuilt store no longer looks lost,
    so ``note`` is a file that exists while the work is in progress.
    """
    if due:
        note.touch(mode=0o600)
    begun = note.exists()
    yield begun
    if begun:
        note.unlink()


@contextmanager
def in_worker_place(config: Config) -> Iterator[Stores]:
    """Yield the stores with their vectors, while the worker and every other process that may change the graph waits."""
    with in_place_of_worker(config.run):
        with open_home(config, make=False) as stores:
            model = model_in_use(config, stores) or ("none" if may_hold_vectors(config) else "")
        with open_home(config, vectors_of=model, derive=False) as stores:
            yield stores
            ship_rest(config, stores)


def request_settling(config: Config) -> None:
    """Ask every process that settles files to do it now, without waiting for the quiet time."""
    make_home(config)
    (config.run / "settle.request").touch(mode=0o600)
