"""The one place that wires: configuration → stores → use cases → tree → mount. Nothing is decided here."""

from __future__ import annotations

import fcntl
import gc
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.config import Config
from kgfs.domain import Document
from kgfs.errors import AwayError, BusyError, KgfsError, MissingError, TimedOutError, UnsupportedError, from_os_error
from kgfs.ingest.chores import Chores
from kgfs.ingest.deposit import Deposits
from kgfs.ingest.sessions import alive_sessions, open_session
from kgfs.ingest.settle import Settler
from kgfs.ingest.ship import embedding_model_of, ever_published, restore_journal, ship_once
from kgfs.ingest.worker_keeper import WorkerKeeper
from kgfs.stores.backup.layout import Manifest
from kgfs.stores.backup.making import BackedUp, back_up
from kgfs.stores.backup.restoring import restore
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.database import fault_of, remove_database
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.opening import open_graph
from kgfs.stores.journal.sqlite import SqliteJournal
from kgfs.stores.mount_notes import GARAGE, mount_note
from kgfs.stores.naming import ontology_called
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import WorkerLock, worker_alive, worker_note
from kgfs.stores.worker_turn import LOOK, in_place_of_worker, place_wanted

if TYPE_CHECKING:  # numpy, which a mount does not need
    from kgfs.compute.contract import Compute
    from kgfs.ingest.concepts import Plan as ConceptPlan
    from kgfs.ingest.regeneration_plan import Plan

COLLECT_AFTER = 100_000
"""Objects made and kept before a mount looks for garbage: what it remembers for the kernel is much and is none."""

SESSIONS_EVERY = 2.0
"""Seconds between looks of a worker whether anybody is left who started it."""

CHORES_EVERY = 0.1
"""Seconds between looks of a mount at what is to be settled and shipped."""


@contextmanager
def open_stores(config: Config, *, vectors_of: str = "", make: bool = True, derive: bool = True) -> Iterator[Stores]:
    """The stores of a home. Where a database is gone it is derived from the garage first.

    ``derive`` false leaves graph and vectors as they are, for one who derives them himself. ``vectors_of`` names the
    embedding model whose vectors are wanted; without one there are none. A home that is not there is made or, for those
    who only ask (``make`` false), MissingError.
    """
    if not make and not config.garage.exists():
        raise MissingError(
            f"{config.home}: no home of kgfs is there yet. kgfs mount and kgfs ingest make one; --home or KGFS_HOME name another."
        )
    make_home(config)
    vectors_lost = not config.vectors_db.exists()
    with ExitStack() as stack:
        stores = Stores(open_garage(config), SqliteJournal(config.front_db), open_graph(config))
        if vectors_of:
            from kgfs.stores.vectors.sqlite import SqliteVectors  # numpy, which a mount does not need

            stores = replace(stores, vectors=SqliteVectors(config.vectors_db, vectors_of))
        stack.callback(stores.close)
        _restore(config, stores, derive=derive, vectors_lost=vectors_lost)
        yield stores


def make_home(config: Config) -> None:
    for folder in (config.home, config.garage, config.spool, config.run, config.logs):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(error, f"{folder}: cannot be made") from error


def _restore(config: Config, stores: Stores, *, derive: bool, vectors_lost: bool) -> None:
    """Derive what is missing: names from the ledger, graph and vectors from the Readings. One process does, others
    wait."""
    descriptor = os.open(config.run / "restore.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            restore_journal(stores.journal, stores.garage.ledger)
        except (AwayError, TimedOutError) as error:
            if not (stores.journal.seq() and stores.graph.epoch()):
                raise  # what this home holds is not known without the ledger
            ErrorLog(config.errors_log).add("opening", error)
        # Also where no document is left: names and numbers that purged ones had are given to nothing else.
        if derive and _graph_lost(stores):
            from kgfs.ingest.rebuild import rebuild_graph  # numpy and more: only where something is to be rebuilt

            rebuild_graph(stores)
        if derive and stores.vectors is not None:
            known = any(stores.journal.names.counts().values())
            with _begun(config.run / "vectors.rebuilding", known and vectors_lost) as due:
                if due:
                    from kgfs.ingest.rebuild import rebuild_vectors

                    rebuild_vectors(stores)
    finally:
        os.close(descriptor)


def _graph_lost(stores: Stores) -> bool:
    """Not where a worker is just publishing the first document: its epoch moves before the publication is noted, so
    that is asked last."""
    if stores.graph.epoch():
        return False
    return ever_published(stores.journal, stores.garage.ledger) and stores.graph.epoch() == 0


@contextmanager
def _begun(note: Path, due: bool) -> Iterator[bool]:
    """Whether something is due, or was begun and not ended: what is half rebuilt does not look lost any more."""
    if due:
        note.touch(mode=0o600)
    begun = note.exists()
    yield begun
    if begun:
        note.unlink()


def rebuild_home(config: Config, ontology: str, progress: Callable[[int, int], None]) -> int:
    """Derive graph and vectors anew, of everything or of the ontology of that name, in place of the worker; how many
    publications were carried out. A database that cannot be used any more is removed first, which needs that nobody
    else has it open (BusyError)."""
    from kgfs.ingest.rebuild import rebuild

    with in_place_of_worker(config.run):
        _remove_unusable(config)
        with open_stores(config, make=False, derive=False) as stores:
            found = ontology_called(stores, ontology) if ontology else None
            model = embedding_model_of(stores)
        vectors_lost = config.run / "vectors.rebuilding"
        with open_stores(config, vectors_of=model, derive=False) as stores:
            vectors_lost.touch(mode=0o600)  # so that, killed before the end, they are derived when they are next opened
            done = rebuild(stores, progress, found.id if found else "")
            vectors_lost.unlink()
            return done


def check_home(
    config: Config, *, deep: bool, mend: bool, progress: Callable[[int, int, str], None]
) -> list[tuple[Damage, str]]:
    """What is damaged, and with ``mend`` what was done about it ('' where nothing could be)."""
    from kgfs.ingest.repair import repair
    from kgfs.knowledge.check import check

    mended: list[tuple[Damage, str]] = []
    with ExitStack() as stack:
        if mend:
            stack.enter_context(in_place_of_worker(config.run))
            mended = [*_remove_unusable(config), *_replace_front(config)]
        stores = stack.enter_context(_as_they_are(config))
        worker = not mend and worker_alive(config.run)
        found = check(config, stores, alive_sessions(config.run), worker=worker, deep=deep, progress=progress)
        return [*mended, *repair(config, stores, found, progress)] if mend else [(damage, "") for damage in found]


def restore_originals(
    config: Config, *, dry_run: bool, progress: Callable[[int, int, str], None]
) -> list[tuple[str, str]]:
    """(key, where it was or could be made from) of every original that is lost; '' where it cannot be."""
    from kgfs.ingest.restore_garage import lost, restore_original, source_of
    from kgfs.knowledge.check.kept import in_garage

    with _as_they_are(config) as stores:
        kinds = (Kind.MISSING_ORIGINAL, Kind.ROTTEN_ORIGINAL)
        keys = [damage.what for damage in in_garage(stores, deep=True, progress=progress) if damage.kind in kinds]
        if dry_run:
            found = [(original.key, source_of(config, stores, original)) for original in lost(stores, keys)]
            return [(key, source[0] if source else "") for key, source in found]
        made: dict[str, str] = {}
        left = list(lost(stores, keys))
        while left:  # what is made again may have the bytes of another
            made |= {original.key: restore_original(config, stores, original) for original in left}
            again = [original for original in left if not made[original.key]]
            left = again if len(again) < len(left) else []
        return list(made.items())


@contextmanager
def _as_they_are(config: Config) -> Iterator[Stores]:
    """The stores of a home for one who looks for damage: nothing is derived, unless a database is gone altogether."""
    graph_is_there = config.graph.store != "sqlite" or config.graph_db.exists()
    if not (config.front_db.exists() and graph_is_there):
        try:
            with open_stores(config, make=False):
                pass
        except MissingError:  # an original that the graph is derived from: just what is looked for
            if not config.garage.exists():
                raise
    make_home(config)
    with ExitStack() as stack:
        stores = Stores(open_garage(config, cached=False), SqliteJournal(config.front_db), open_graph(config))
        stack.callback(stores.close)
        model = worker_note(config.run).get("embedder", "")
        if model and config.vectors_db.exists():
            from kgfs.stores.vectors.sqlite import SqliteVectors

            stores = replace(stores, vectors=stack.enter_context(closing(SqliteVectors(config.vectors_db, model))))
        yield stores


def back_up_home(config: Config, folder: Path, keep: int, progress: Callable[[int, int], None]) -> BackedUp:
    """See ``stores.backup``. Works while mounts and a worker use the home."""
    _kept_in_files(config, "backed up")
    with open_stores(config, make=False) as stores:
        return back_up(config, stores.garage.objects, folder, keep, progress)


def restore_home(config: Config, folder: Path, snapshot: str, progress: Callable[[int, int, str], None]) -> Manifest:
    """Make the home from a backup, its graph and index too."""
    _kept_in_files(config, "restored from a backup")
    manifest = restore(folder, snapshot, config, lambda done, total: progress(done, total, "objects restored"))
    make_home(config)
    rebuild_home(config, "", lambda done, total: progress(done, total, "documents derived"))
    return manifest


def _kept_in_files(config: Config, what: str) -> None:
    if config.garage_store.store != "files":
        raise UnsupportedError(
            f"A garage in a bucket cannot be {what} so. Copy the bucket with the server's own tools."
        )


def plan_regeneration(
    config: Config, stores: Stores, ontology: str, documents: Sequence[Document], strategy: str, extractor: str
) -> Plan:
    """What reading these documents again would take; ``strategy`` and ``extractor`` are those of the configuration where
    they are empty. Loads the models, to know what they have answered already, and asks them nothing."""
    from kgfs.compute.local import LocalCompute
    from kgfs.ingest.regeneration_plan import plan

    compute = LocalCompute(replace(config.models, extractor=extractor) if extractor else config.models)
    return plan(config, stores, compute, ontology, documents, strategy or config.pipeline.strategy)


def carry_out_forgetting(config: Config) -> int:
    """Carry out the forgettings that are owed, in place of the worker; how many."""
    from kgfs.ingest.forget import carry_out

    with in_place_of_worker(config.run):
        with open_stores(config, make=False) as stores:
            model = embedding_model_of(stores) or ("none" if config.vectors_db.exists() else "")
        with open_stores(config, vectors_of=model) as stores:
            done = carry_out(config, stores)
            _ship_rest(config, stores)
            return done


def decide_about_concepts(config: Config, plan: Callable[[Stores], ConceptPlan]) -> ConceptPlan:
    """Plan as things stand and carry it out, in place of the worker."""
    from kgfs.ingest.concepts import catch_up, decide

    with in_place_of_worker(config.run):
        with open_stores(config, make=False) as stores:
            model = embedding_model_of(stores)
        with open_stores(config, vectors_of=model) as stores:
            catch_up(stores)
            planned = plan(stores)
            decide(stores, planned)
            _ship_rest(config, stores)
            return planned


def _replace_front(config: Config) -> list[tuple[Damage, str]]:
    """Where the names are beyond use, or an older copy, they are quarantined and made anew from the ledger."""
    from kgfs.ingest.quarantine import quarantine_file

    if not config.front_db.exists():
        return []
    complaint, kind = fault_of(config.front_db), Kind.DAMAGED_DATABASE
    if not complaint:
        with closing(SqliteJournal(config.front_db)) as journal, closing(open_garage(config)) as garage:
            if garage.ledger.faults() or journal.seq() >= garage.ledger.last_seq():
                return []
            complaint, kind = f"fact {journal.seq()} of {garage.ledger.last_seq()}", Kind.OLD_FRONT
    if alive_sessions(config.run):
        raise BusyError(
            f"{config.front_db}: {complaint}. Unmount (kgfs umount) and repeat, so that it can be replaced."
        )
    for path in config.home.glob(f"{config.front_db.name}*"):
        quarantine_file(config, path, complaint)
    with open_stores(config):
        return [(Damage(kind, config.front_db.name, complaint), "made anew from the ledger")]


def _remove_unusable(config: Config) -> list[tuple[Damage, str]]:
    """Graph and vectors where they are beyond use: whoever opens them next derives them anew."""
    removed = []
    for path, remedy in ((config.graph_db, "derived anew"), (config.vectors_db, "removed: the worker derives it anew")):
        if path.exists() and (complaint := fault_of(path)):
            if alive_sessions(config.run):
                raise BusyError(f"{path}: {complaint}. Unmount (kgfs umount) and repeat, so that it can be replaced.")
            remove_database(path)
            removed.append((Damage(Kind.DAMAGED_DATABASE, path.name, complaint), remedy))
    return removed


@contextmanager
def open_deposits(config: Config, stores: Stores) -> Iterator[tuple[Deposits, str]]:
    """For a process that writes, with the id of its session, which lives as long as this is open."""
    session = open_session(config.run)
    try:
        yield Deposits(config, stores, session.id), session.id
    finally:
        session.close()
        _ship_rest(config, stores)


def _ship_rest(config: Config, stores: Stores) -> None:
    """A process that ends leaves nothing to be shipped by another, which may be long in coming. What cannot be shipped
    now is durable all the same."""
    try:
        ship_once(stores.journal, stores.garage.ledger)
    except KgfsError as error:
        ErrorLog(config.errors_log).add("ship", error)


def request_settling(config: Config) -> None:
    """Ask every process that settles to do it now instead of after the quiet time."""
    make_home(config)
    (config.run / "settle.request").touch(mode=0o600)


def chores_of(config: Config, stores: Stores, settler: Settler) -> Chores:
    request = config.run / "settle.request"
    return Chores(stores, settler, ErrorLog(config.errors_log), request, trash_days=config.tree.trash_days)


def run_worker(
    config: Config,
    *,
    until_idle: bool = False,
    while_in_use: bool = False,
    watch: Callable[[], None] = lambda: None,
    stoppable: Callable[[Callable[[], None]], None] = lambda stop: None,
) -> None:
    """Be the worker of a home until stopped; BusyError if there is one. ``watch`` is called between documents;
    ``stoppable`` is given the function that stops it, callable from any thread or signal handler. A verb that wants
    its place for a while gets it. With ``while_in_use`` it ends, too, once every session of the home has: a mount that was
    killed cannot stop the worker it started."""
    from kgfs.compute.local import LocalCompute
    from kgfs.ingest.clock import StageClock
    from kgfs.ingest.pipeline import Pipeline
    from kgfs.ingest.worker import Worker

    make_home(config)
    clock, stopped = StageClock(), threading.Event()
    compute: LocalCompute | None = None
    gave_way = True
    while gave_way and not stopped.is_set():
        with WorkerLock(config.run) as lock:
            lock.note({"state": "loading models"})
            compute = compute or LocalCompute(config.models)
            with open_stores(config, vectors_of=compute.embedding_model) as stores:
                chores = chores_of(config, stores, Settler(config, stores))
                worker = Worker(Pipeline(config, stores, compute, clock), ErrorLog(config.errors_log), chores)
                stop = _both(stopped.set, worker.stop)
                stoppable(stop)
                looks = _both(watch, _Abandoned(config, stop)) if while_in_use else watch
                note = {
                    "extractor": compute.extractor,
                    "extractor_model": compute.extractor_model,
                    "embedder": compute.embedding_model,
                    "tokens": compute.tokens.name,
                    "notes": list(compute.notes()),
                }
                lock.note({**note, "state": "working"})
                with _answering_questions(config, stores, compute):
                    gave_way = worker.run(until_idle=until_idle, watch=looks, give_way=lambda: place_wanted(config.run))
                _ship_rest(config, stores)
                state = "waiting for another verb" if gave_way else "stopped"
                lock.note({**note, "state": state, "seconds": clock.seconds(), "finished": worker.finished})
        while gave_way and place_wanted(config.run) and not stopped.wait(LOOK):
            pass


class _Abandoned:
    """Called often, stops a worker for whom no session lives any more."""

    def __init__(self, config: Config, stop: Callable[[], None]) -> None:
        self._run, self._stop, self._next = config.run, stop, 0.0

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SESSIONS_EVERY
            if not alive_sessions(self._run):
                self._stop()


@contextmanager
def _answering_questions(config: Config, stores: Stores, compute: Compute) -> Iterator[None]:
    """Where the socket cannot be made, by a full disk say, the work goes on without it."""
    from kgfs.compute.nearest import answering
    from kgfs.compute.questions import QuestionServer

    with ExitStack() as stack:
        try:
            answer = answering(compute.embed if compute.embedding_model else None, stores.vectors)
            stack.enter_context(QuestionServer(config.run, answer))
        except KgfsError as error:
            ErrorLog(config.errors_log).add("questions", error)
        yield


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both


def run_mount(
    config: Config, mountpoint: Path, *, allow_other: bool = False, worker: bool = True, ready: Callable[[], None]
) -> None:
    """Mount a home and serve until it is unmounted or a signal asks for the end. Main thread only.

    With ``worker`` one is started, and started again should it die, unless another process works on the home.
    """
    import trio

    from kgfs.fuse import mount as fuse
    from kgfs.fuse.metrics import Requests
    from kgfs.tree.news import News
    from kgfs.tree.root import Root
    from kgfs.tree.vfs import Vfs, space_of
    from kgfs.tree.world import World

    if config.graph.store != "sqlite":
        raise UnsupportedError(
            "graph.store is 'neo4j': a mount would ask the server for every name that is listed, and waits for a local"
            " replica of the graph, which kgfs does not have yet. kgfs ingest, worker, search and rebuild work with it."
        )
    options = fuse.MountOptions(allow_other=allow_other)
    where = fuse.check(mountpoint, options)
    errors = ErrorLog(config.errors_log)
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, session):
        requests = Requests()
        world = World(config, stores, deposits, session, os.getuid(), os.getgid(), time.time_ns())
        vfs = Vfs(Root(world, lambda: requests.text() + world.searches.text()), lambda: space_of(config.home))
        news = News(world, vfs)
        chores = chores_of(config, stores, deposits.settler)
        keeper = WorkerKeeper(config) if worker else None

        async def do_chores() -> None:
            while True:
                await trio.to_thread.run_sync(chores)
                if keeper:
                    keeper.look()
                await trio.sleep(CHORES_EVERY)

        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 20, 100)
        with mount_note(config.run, session, where):
            try:
                trio.run(
                    lambda: fuse.mount(
                        vfs,
                        where,
                        options,
                        log_error=errors.add,
                        news=news.poll,
                        tasks=[do_chores],
                        ready=ready,
                        requests=requests,
                    )
                )
            finally:
                if keeper and keeper.stop():
                    _take_back(config, stores)


def run_garage_mount(config: Config, mountpoint: Path, *, allow_other: bool = False, ready: Callable[[], None]) -> None:
    """Mount what a home keeps, as it is kept, read-only; serve as :func:`run_mount` does. Nothing is settled, shipped or
    worked on by this process. MissingError where there is no home. Main thread only."""
    import trio

    from kgfs.fuse import mount as fuse
    from kgfs.tree.garage import GarageRoot, GarageView
    from kgfs.tree.garage_news import GarageNews
    from kgfs.tree.vfs import Vfs, space_of

    options = fuse.MountOptions(allow_other=allow_other, read_only=True)
    where = fuse.check(mountpoint, options)
    errors = ErrorLog(config.errors_log)
    with open_stores(config, make=False) as stores:
        view = GarageView(stores, os.getuid(), os.getgid(), time.time_ns())
        vfs = Vfs(GarageRoot(view), lambda: space_of(config.home))
        with mount_note(config.run, f"garage-{secrets.token_hex(6)}", where, GARAGE):
            trio.run(
                lambda: fuse.mount(
                    vfs, where, options, log_error=errors.add, news=GarageNews(view, vfs).poll, ready=ready
                )
            )


def _take_back(config: Config, stores: Stores) -> None:
    """What a worker held that was killed because its mount ends. It is not the document's fault, so no attempt counts."""
    with suppress(BusyError), WorkerLock(config.run):  # who works on the home by now has taken it
        stores.journal.jobs.free(counted=False)
