"""Opens what a home keeps, deriving first what was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from kgfs.app.binding import bind, is_bound, refuse_nothing, refuse_others, refuse_strange
from kgfs.config import Config
from kgfs.errors import (
    AWAY,
    BadInputError,
    BusyError,
    KgfsError,
    MissingError,
    RotError,
    StoreError,
    TimedOutError,
    from_os_error,
)
from kgfs.ingest.depositing.deposit import Deposits
from kgfs.ingest.keeping.sessions import open_session
from kgfs.ingest.keeping.ship import embedding_model_of, is_graph_lost, restore_journal
from kgfs.ingest.sharing.exchange import FOREVER, Exchange
from kgfs.ingest.sharing.obey import noting_purges
from kgfs.ingest.sharing.shipping import meeting, shipping
from kgfs.ingest.working.turns import only_deriver
from kgfs.stores import hosts
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.opening import open_graph
from kgfs.stores.journal.sqlite import SqliteJournal
from kgfs.stores.locks import locked, locked_within
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import may_hold_vectors, open_vectors
from kgfs.stores.worker_lock import worker_note

UNFINISHED = "migration.json"
"""Stands in a home while it is being filled from another one."""
RESTORING = "restore.lock"
HASTE = 3.0
"""Seconds that a bucket may be silent to those who only tell how things stand, or end."""


def open_stores(config: Config, vectors_of: str = "") -> AbstractContextManager[Stores]:
    """The stores of a home, which is made where it is not there. Where a database is gone it is derived from the garage first.

    ``vectors_of`` names the embedding model whose vectors are wanted; without one there are none. BadInputError where its garage
    is another than the configuration says.
    """
    return _opened(config, vectors_of)


def open_existing(config: Config) -> AbstractContextManager[Stores]:
    """As :func:`open_stores`, of a home that is there; else MissingError."""
    return _opened(config, make=False)


def open_to_ask(config: Config) -> AbstractContextManager[Stores]:
    """As :func:`open_existing`. A home that knows by itself what was done in it, for no other shares its garage, is opened without
    a word to any server."""
    return _opened(config, make=False, later=True)


def open_unheard(config: Config) -> AbstractContextManager[Stores]:
    """As :func:`open_existing`. Any home in a bucket that knows something is opened without a word to that; :func:`hear` is to be
    called."""
    return _opened(config, make=False, known=True)


def open_for_mount(config: Config) -> AbstractContextManager[Stores]:
    """As :func:`open_stores`, and as silently as :func:`open_to_ask`; :class:`~.confirming.Confirming` is to ask."""
    return _opened(config, later=True)


def open_for_worker(config: Config, vectors_of: str) -> AbstractContextManager[Stores]:
    """As :func:`open_stores`. Vectors are not looked at yet: :func:`derive_vectors` is to be called, by one who can wait for a
    server that is away."""
    return _opened(config, vectors_of, vectors_later=True)


def open_to_derive(config: Config, vectors_of: str = "", *, make: bool = True) -> AbstractContextManager[Stores]:
    """As :func:`open_stores`, or without ``make`` as :func:`open_existing`. Graph and vectors are left as they are, for one who
    derives them himself."""
    return _opened(config, vectors_of, make=make, derive=False)


@contextmanager
def _opened(
    config: Config,
    vectors_of: str = "",
    *,
    make: bool = True,
    derive: bool = True,
    vectors_later: bool = False,
    later: bool = False,
    known: bool = False,
) -> Iterator[Stores]:
    if not make:
        refuse_nothing(config)
    make_home(config)
    if config.garage_store.shared:
        from kgfs.app.beginning import begin_with_snapshot  # of shared homes alone

        begin_with_snapshot(config)
    with ExitStack() as stack:
        garage, journal = open_garage(config), SqliteJournal(config.front_db)
        if config.garage_store.shared:
            journal.share()
        later = later and not journal.sharing and journal.seq() > 0
        graph = open_graph(config)
        stores = Stores(garage, journal, graph)
        if vectors_of:
            stores = replace(stores, vectors=open_vectors(config, vectors_of))
        stack.callback(stores.close)
        served = config.garage_store.store != "files"
        later, known = later and served, known and served and journal.seq() > 0
        is_to_be_bound = not is_bound(config) and _surely_its_own(config, stores, silent=later or known)
        if not known:
            _restore(config, stores, derive=derive, later=later)
        if derive and not vectors_later:
            derive_vectors(config, stores)
        if make and is_to_be_bound:
            bind(config)
        yield stores


def in_haste(config: Config) -> Config:
    """The same for one who does not wait for a bucket that is silent."""
    garage = config.garage_store
    return replace(config, garage_store=replace(garage, timeout=min(garage.timeout, HASTE)))


def hear(config: Config, stores: Stores) -> KgfsError | None:
    """Learn from the bucket what is not known here, of a home that was opened by :func:`open_unheard`. Where that is away, silent for
    ``garage.timeout``, or being asked by another process of the home for as long, all is as it was known last, and why is
    returned."""
    if config.garage_store.store == "files":
        return None
    try:
        _restore(config, stores, derive=True, later=False, patience=config.garage_store.timeout)
    except (*AWAY, BusyError) as error:
        return error
    try:
        if stores.journal.sharing:
            hosts.read_roll(config, stores)
    except (StoreError, TimedOutError) as error:  # a damaged ledger does not keep anybody from seeing the rest
        return error
    return None


@contextmanager
def as_they_are(config: Config) -> Iterator[Stores]:
    """The stores of a home for one who looks for damage: nothing is derived, unless a database is gone altogether."""
    refuse_nothing(config)
    if not (config.front_db.exists() and config.graph_db.exists()):
        # An original that the graph is derived from may lack: just what is looked for.
        with suppress(MissingError), open_existing(config):
            pass
    make_home(config)
    with ExitStack() as stack:
        stores = Stores(open_garage(config, cached=False), SqliteJournal(config.front_db), open_graph(config))
        stack.callback(stores.close)
        if not is_bound(config):
            _surely_its_own(config, stores)
        if stores.journal.sharing:
            try:
                Exchange(config, stores).pull()  # else what other homes keep looks like nobody's
            except KgfsError as error:  # a ledger that is damaged is what is looked for
                ErrorLog(config.errors_log).add("opening", error)
        model = worker_note(config.run).get("embedder", "")
        if model and may_hold_vectors(config):
            stores = replace(stores, vectors=stack.enter_context(closing(open_vectors(config, model))))
        yield stores


@contextmanager
def open_deposits(config: Config, stores: Stores) -> Iterator[tuple[Deposits, str]]:
    """For a process that writes, with the id of its session, which lives as long as this is open."""
    session = DiskReserve(config.home).run(lambda: open_session(config.run))
    deposits = Deposits(config, stores, session.id)
    try:
        yield deposits, session.id
    finally:
        session.close()
        _ship_rest_in_haste(config, stores, deposits.exchange)


def make_home(config: Config) -> None:
    """BusyError where a migration to it was not ended: what it has is not all. BadInputError as :func:`.refuse_others`."""
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


def _surely_its_own(config: Config, stores: Stores, *, silent: bool = False) -> bool:
    """Of a home that is not bound yet: whether its garage stands where the configuration says. BadInputError as
    :func:`.refuse_strange`. False where its server is away, or not to be asked (``silent``)."""
    if not stores.journal.seq():
        return True
    if silent:
        return False
    try:
        last = stores.garage.ledger.last_seq()
    except AWAY:
        return False
    refuse_strange(config, stores.journal, last)
    return True


def ship_rest(config: Config, stores: Stores, exchange: Exchange | None = None) -> None:
    """A process that ends leaves nothing to be shipped by another, which may be long in coming. What cannot be shipped
    now is durable all the same. ``exchange`` is that of this process, if it has one."""
    try:
        shipping(config, stores, exchange)()
    except KgfsError as error:
        ErrorLog(config.errors_log).add("ship", error)


def _ship_rest_in_haste(config: Config, stores: Stores, exchange: Exchange) -> None:
    """The same for one that keeps people waiting who only want it to end: a bucket that is silent for HASTE seconds is asked for
    nothing more."""
    garage = config.garage_store
    if garage.store != "files" and (stores.journal.sharing or stores.journal.unshipped(1)[1]) and not _is_heard(stores):
        silent = TimedOutError(f"{garage.endpoint}/{garage.bucket}: no answer within {HASTE:g} s.")
        ErrorLog(config.errors_log).add("ship", silent)
        return
    ship_rest(config, stores, exchange)


def _is_heard(stores: Stores) -> bool:
    """Whether the bucket answers within HASTE seconds, whatever it says."""
    heard = threading.Event()

    def ask() -> None:
        try:
            stores.garage.ledger.beyond(stores.journal.seq())
        except KgfsError:
            return  # who ships is told the same
        finally:
            heard.set()

    threading.Thread(target=ask, name="is-heard", daemon=True).start()
    return heard.wait(HASTE)


def model_in_use(config: Config, stores: Stores) -> str:
    """The embedding model that vectors are kept by: the newest worker's or, where it had none, that of the document that
    was read last; '' for none."""
    return str(worker_note(config.run).get("embedder", "")) or embedding_model_of(stores)


def derive_vectors(config: Config, stores: Stores, embed_again: Callable[[], object] = lambda: None) -> None:
    """Make the vectors anew from what is kept, where they were lost, are another model's, or were half made by one that was
    killed. One process does, others wait; ``embed_again`` is called before, and nobody waits for it. AwayError and
    TimedOutError as their server has it. MissingError or RotError, once, where what is kept of a document is lost, when all
    others have theirs: it gets them when it is read again. Of vectors on a server that homes share the latter is left to the home that
    has its turn."""
    if stores.vectors is None:
        return
    if not stores.vectors.complete():
        embed_again()
    if stores.journal.sharing and config.vectors.store != "sqlite":
        return  # the home that has its turn writes there
    lost: KgfsError | None = None
    with locked(config.run / RESTORING):
        known = any(stores.journal.names.counts().values())
        with _begun(config.run / "vectors.rebuilding", known and not stores.vectors.complete()) as due:
            if due:
                from kgfs.ingest.life.rebuild import rebuild_vectors

                try:
                    rebuild_vectors(stores)
                except (MissingError, RotError) as error:
                    lost = error
    if lost is not None:
        raise lost


def _restore(config: Config, stores: Stores, *, derive: bool, later: bool, patience: float = FOREVER) -> None:
    """Derive what is missing: names from the ledger, the graph from the Readings. One process does, others wait. ``later``, of a home
    that knows something and shares its garage with no other: no server is asked, unless the graph shows nothing and a document
    was read. AWAY where the bucket is and the home is not known without it or, for one whose ``patience`` has an end, in any
    case; BusyError where another process is at it for longer than that."""
    with locked_within(config.run / RESTORING, patience) as ours:
        if not ours:
            raise BusyError(f"{config.home}: another process has been opening it for longer than {patience:g} s.")
        # Purged documents are not known here. Whether the graph had only such, and was lost, those ask who change it, and are
        # never ``later``; there is nothing of them to be shown.
        if later and (stores.graph.epoch() or not stores.journal.names.any_read()):
            return
        _ask_ledger(config, stores, patience)
        # Also where no document is left: names and numbers that purged ones had are given to nothing else.
        if derive and is_graph_lost(stores):
            from kgfs.ingest.life.rebuild import rebuild_graph  # numpy and more: only where something is to be rebuilt

            with only_deriver(config, stores, meeting(config), whole=True) as alone:
                if is_graph_lost(alone):  # not where another machine just has derived it
                    rebuild_graph(alone)


def _ask_ledger(config: Config, stores: Stores, patience: float) -> None:
    """Learn from it what is not known here."""
    try:
        known = stores.journal.seq()
        if not known and not stores.journal.sharing and hosts.are_there(stores.garage.objects):
            raise BadInputError(
                "Other homes share this place in the bucket. Set garage.shared = true to be one of them, or give this home"
                " a garage.prefix of its own (with servers of graph and vectors, graph.namespace and vectors.prefix too)."
            )
        seeing = partial(noting_purges, config, stores) if stores.journal.sharing else iter
        restore_journal(stores.journal, stores.garage.ledger, seeing)
        if stores.journal.sharing:
            Exchange(config, stores).pull(patience)
    except AWAY as error:
        if patience != FOREVER or not (stores.journal.seq() and stores.graph.epoch()):
            raise  # what this home holds is not known without the ledger
        ErrorLog(config.errors_log).add("opening", error)


@contextmanager
def _begun(note: Path, due: bool) -> Iterator[bool]:
    """Whether something is due, or was begun and not ended: what is half rebuilt does not look lost any more."""
    if due:
        note.touch(mode=0o600)
    begun = note.exists()
    yield begun
    if begun:
        note.unlink()
