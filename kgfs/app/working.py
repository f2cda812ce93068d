"""Run the worker of a home, which reads deposited documents."""

from __future__ import annotations

import logging
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kgfs.app import timing as app_timing
from kgfs.app.embedder import load_models, wanted
from kgfs.app.home import derive_vectors, make_home, open_home, ship_rest
from kgfs.config import Config
from kgfs.errors import CorruptError, KgfsError, MachineError, MissingError
from kgfs.fuse.connection import free_clients
from kgfs.ingest.storing.settle import Settler, alive_sessions
from kgfs.ingest.writing.trash import Chores
from kgfs.stores import timing as stores_timing
from kgfs.stores.change_watch import ChangeWatch
from kgfs.stores.core_dumps import keep_secrets_from_core_dumps
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.run_files import VECTORS_AFTER
from kgfs.stores.servers import is_open_to_others, warn_of_plain_text
from kgfs.stores.ship import ship_from_reserve
from kgfs.stores.snapshots import keeping_snapshots
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import WorkerLock, place_wanted, worker_note

if TYPE_CHECKING:  # models, which the chores of a mount do not need
    from kgfs.compute.contract import Compute, Engine, WorkerSlot
    from kgfs.compute.local import LocalCompute
    from kgfs.ingest.reading.clock import StageClock
    from kgfs.ingest.working.asking import Asker
    from kgfs.ingest.working.projecting import Projecting
    from kgfs.ingest.working.worker import Worker
    from kgfs.stores.vectors.contract import Vectors

EMBEDS_AGAIN = "it embeds all documents again (kgfs status says how far)"
"""What questions about meaning are refused with until all documents have vectors of the worker's model."""
LOADING = "loading models"
"""State in a worker's note before the worker has opened the home."""

log = logging.getLogger("kgfs.worker")


def chores_of(
    config: Config,
    stores: Stores,
    settler: Settler,
    ship: Callable[[], object] | None = None,
    is_current: Callable[[], bool] = lambda: True,
) -> Chores:
    """Return the periodic chores of a home. ``ship`` replaces the usual function that ships facts to the ledger."""
    return Chores(
        stores,
        settler,
        ErrorLog(config.errors_log),
        config.run / "settle.request",
        trash_days=config.tree.trash_days,
        ship=ship or (lambda: ship_from_reserve(config.home, stores)),
        is_current=is_current,
        reserve=DiskReserve(config.home),
    )


def run_worker(
    config: Config,
    *,
    until_idle: bool = False,
    while_in_use: bool = False,
    watch: Callable[[], None] = lambda: None,
    stoppable: Callable[[Callable[[], None]], None] = lambda stop: None,
) -> None:
    """Run the worker of a home until it is stopped. Raise BusyError if the home has a worker.

    ``watch`` is called between documents. ``stoppable`` is called with the function that stops the worker; any thread
    or signal handler may call that function. A command that needs the worker's place gets it, and the worker
    continues afterwards. With ``until_idle``, the worker ends once there is no work. With ``while_in_use``, it also
    ends once every session of the home has ended, because a mount that was killed cannot stop the worker that it
    started.
    """
    from kgfs.ingest.reading.clock import StageClock

    make_home(config)
    clock, stopped = StageClock(), threading.Event()
    compute: LocalCompute | None = None
    gave_way, asked = True, ""
    while gave_way and not stopped.is_set():
        with WorkerLock(config.run) as lock, _noting_the_end(config, lock):
            # The reason why the previous worker ended before it began its work is kept until this one begins.
            former = {key: worker_note(config.run).get(key, "") for key in ("embedder", "reason")}
            lock.note({"state": LOADING, **former})
            changed = True
            while changed and not stopped.is_set():
                asked = asked if compute else wanted(config)
                compute = compute or load_models(config)
                about = _About(config, clock, stopped, lock, until_idle, while_in_use, watch, stoppable, asked)
                gave_way, changed = _work(about, compute)
                if changed:
                    compute = None
        while gave_way and place_wanted(config.run) and not stopped.wait(stores_timing.WORKER_TURN_POLL):
            pass


@dataclass(frozen=True, slots=True)
class _About:
    """The facts about a worker that stay while it holds its lock."""

    config: Config
    clock: StageClock
    stopped: threading.Event
    lock: WorkerLock
    until_idle: bool
    while_in_use: bool
    watch: Callable[[], None]
    stoppable: Callable[[Callable[[], None]], None]
    asked: str
    """The embedding model that was wanted when the models were chosen."""


def _work(about: _About, compute: LocalCompute) -> tuple[bool, bool]:
    """Work with these models until there is nothing to do or the worker is stopped. Return whether a command wants
    the worker's place, and whether another embedding model is wanted.
    """
    from kgfs.ingest.lifecycle.backfill import Backfill
    from kgfs.ingest.working.claims import indexing_words
    from kgfs.ingest.working.pipeline import Pipeline
    from kgfs.ingest.working.worker import Worker

    config, lock, stopped, asked = about.config, about.lock, about.stopped, about.asked
    with (
        open_home(config, vectors_of=compute.embedding_model) as stores,
        closing(_engine(config, compute, stores)) as engine,
        closing(ChangeWatch(config)) as watch_home,
    ):
        asker = _asker(config, stores, compute)
        pipeline = Pipeline(config, stores, compute, about.clock, engine, asker=asker)
        chores = chores_of(config, stores, Settler(config, stores))
        worker = Worker(pipeline, ErrorLog(config.errors_log), chores, watch_home, lambda: answering.are_wanted)
        stop = _both(stopped.set, worker.stop)
        about.stoppable(stop)
        note = {
            "extractor": compute.extractor,
            "extractor_model": compute.extractor_model,
            "embedder": compute.embedding_model,
            "tokens": compute.tokens.name,
            "notes": list(compute.notes()),
        }
        told = _Note(lock, worker)
        polls = _both(_both(about.watch, _Mounts(config, stop if about.while_in_use else None)), told.refresh)
        polls = _both(polls, partial(_assert_owner, config, stores))

        def tell(done: int, total: int) -> None:
            told.write({**told.note, "vectors": {"model": compute.embedding_model, "sources": done, "of": total}})

        def prepare() -> None:
            if (config.run / VECTORS_AFTER).exists():
                _derive_vectors(config, stores)
            backfill.prepare()
            if backfill.is_due:
                answering.answer_with(compute, None)

        def embedded() -> None:
            answering.answer_with(compute, stores.vectors)
            told.write({**note, "state": "working"})

        backfill = Backfill(
            stores,
            compute,
            config.run / "vectors.rebuilding",
            derive=partial(_derive_vectors, config, stores),
            tell=tell,
            done=embedded,
        )
        told.write({**note, "state": "preparing"})
        with (
            _Answering(config, stores, compute, asker) as answering,
            indexing_words(stores.graph, ErrorLog(config.errors_log)),
            _projecting(config, stores) as projection,
            keeping_snapshots(config, stores),
            _watching(config, skipped=about.until_idle),
            closing(asker) if asker is not None else nullcontext(),
        ):
            ended_early = worker.run(
                until_idle=about.until_idle,
                watch=polls,
                give_way=lambda: wanted(config) != asked or place_wanted(config.run),
                prepare=prepare,
                begin=lambda: told.write({**told.note, "state": "working"}),
                beside=backfill.part,
            )
            if projection is not None and about.until_idle and not ended_early:
                projection.finish(config.graph.timeout)
        ship_rest(config, stores)
        changed = wanted(config) != asked
        gave_way = ended_early and not changed
        state = "preparing" if changed else "waiting for another verb" if gave_way else "stopped"
        lock.note({**note, "state": state, "seconds": about.clock.seconds(), "finished": worker.finished})
    return gave_way, changed


def _asker(config: Config, stores: Stores, compute: Compute) -> Asker | None:
    """Return what asks the language model; None where none is configured.

    A model that nothing needs so far and that cannot be used is logged, and does not stop the worker.
    """
    if not config.llm.base_url:
        return None
    from kgfs.ingest.working.asking import Asker
    from kgfs.models.extractor.table import needs_llm

    url = config.llm.base_url
    if is_open_to_others(url, encrypted=url.startswith(("https", "local:"))):
        warn_of_plain_text(config, url, "Use https in llm.base_url.")
    try:
        return Asker(config, stores.garage.objects, compute)
    except KgfsError as error:
        if needs_llm(config.models.extractor):
            raise
        ErrorLog(config.errors_log).add("worker", error)
        return None


def _assert_owner(config: Config, stores: Stores) -> None:
    """Raise NotOwnerError if another home has taken over, as far as this home knows."""
    if stores.garage.taken_over_by():
        from kgfs.app.ownership import refusal  # needed by a home that lost its bucket only

        raise refusal(config)


def _derive_vectors(config: Config, stores: Stores) -> None:
    """Derive the rows of the vectors, as ``home.derive_vectors`` does; the error of a document whose reading is lost is
    logged."""
    try:
        derive_vectors(config, stores)
    except (MissingError, CorruptError) as error:
        ErrorLog(config.errors_log).add("recover", error)


@contextmanager
def _noting_the_end(config: Config, lock: WorkerLock) -> Iterator[None]:
    """Note the error of a worker that ends before it begins its work, so that waiting processes can report the
    reason.
    """
    try:
        yield
    except KgfsError as error:
        note = worker_note(config.run)
        if note.get("state") == LOADING:
            lock.note({**note, "state": "ended", "reason": str(error)})
        raise


def _engine(config: Config, compute: Compute, stores: Stores) -> Engine:
    """Return the engine that reads documents: local, or on a Ray cluster."""
    from kgfs.compute.processes import ProcessEngine, processes_of

    is_local = config.cluster.engine == "local"
    number = processes_of(config.cluster.places if is_local else 0)
    alone = replace(config, models=replace(config.models, threads=1)) if number > 1 else config
    here = ProcessEngine(compute, stores.garage.objects, partial(place_of, alone, compute.embedding_model), number)
    if is_local:
        return here
    from kgfs.compute.cluster import RayEngine, about
    from kgfs.compute.contract import WorkerSlot

    cluster = f"ray://{config.cluster.address}"
    if config.cluster.address and is_open_to_others(cluster, encrypted=False):
        warn_of_plain_text(config, cluster, "Ray does not encrypt: keep others out of that network (compute.address).")
    place = partial(place_of, config, compute.embedding_model)
    return RayEngine(config.cluster, place, about(WorkerSlot(compute, stores.garage.objects)), here)


def place_of(config: Config, in_use: str = "") -> WorkerSlot:
    """Return what is needed to read the home's documents in a process on a cluster node that got the configuration.

    ``in_use`` is the embedding model that the home has vectors of. Raise MachineError if the node lacks a garage that is kept in files.
    """
    from kgfs.compute.contract import WorkerSlot
    from kgfs.compute.local import LocalCompute

    keep_secrets_from_core_dumps(config)
    if config.garage_store.store == "files" and not config.garage.is_dir():
        raise MachineError(
            f"{config.garage}: not on the node {platform.node()}, where Ray is to read documents. Nodes need the garage:"
            " a folder that all share, or a bucket (garage.store = 's3')."
        )
    threads = config.models.threads or max(1, round(config.cluster.cpus_each))
    return WorkerSlot(LocalCompute.of(config, in_use, threads=threads), open_garage(config).objects)


class _Note:
    """The note that a worker writes about itself.

    ``waits_for`` says why its work stands still, and ``reads_here`` why documents are not read on the configured Ray
    cluster. Either is absent while there is nothing to say.
    """

    def __init__(self, lock: WorkerLock, worker: Worker) -> None:
        self._lock, self._worker = lock, worker
        self.note: dict[str, Any] = {}
        self._reported: dict[str, str] = {}

    def write(self, note: dict[str, Any]) -> None:
        self.note, self._reported = note, self._said()
        self._lock.note(note | self._reported)

    def refresh(self) -> None:
        """Write the note again if the trouble has changed. Call this often."""
        if self._said() != self._reported:
            self.write(self.note)

    def _said(self) -> dict[str, str]:
        said = {"waits_for": self._worker.trouble, "reads_here": self._worker.notice}
        return {name: text for name, text in said.items() if text}


class _Mounts:
    """Release the clients that wait for a killed mount of the home, and call ``stop`` once no session of the home is
    alive. Call this often; it checks every timing.SESSIONS_POLL seconds.
    """

    def __init__(self, config: Config, stop: Callable[[], None] | None) -> None:
        self._run, self._stop, self._next = config.run, stop, 0.0

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + app_timing.SESSIONS_POLL
            for sentence in free_clients(self._run):
                log.info("%s", sentence)
            if self._stop and not alive_sessions(self._run):
                self._stop()


class _Answering:
    """Answers questions on a socket, with materials that may be changed. If the socket cannot be made, for example on a
    full disk, the error is logged and no question is answered.
    """

    def __init__(self, config: Config, stores: Stores, compute: Compute, asker: Asker | None = None) -> None:
        from kgfs.app.finding import Finder
        from kgfs.compute.answering import Answers
        from kgfs.compute.questions import QuestionServer

        self._answers = Answers()
        self._finder = Finder(config, self._answers)
        self._complete: Callable[[Any, float], Any] | None = None
        if asker is not None:
            from kgfs.ingest.working.completing import Completer

            self._complete = Completer(config, asker, compute.tokens, stores.graph)
        self.answer_with(compute, stores.vectors)
        self._server: QuestionServer | None = None
        try:
            self._server = QuestionServer(config.run, self._answers)
        except KgfsError as error:
            ErrorLog(config.errors_log).add("questions", error)

    @property
    def are_wanted(self) -> bool:
        return self._answers.are_wanted

    def answer_with(self, compute: Compute, vectors: Vectors | None) -> None:
        """Answer with this model and these vectors from now on; without vectors, by words. Return when no question is
        being answered with those of before.
        """
        from kgfs.compute.questions import NO_MODEL, Materials
        from kgfs.models.extractor import background

        embed = compute.embed if compute.embedding_model else None
        lacks = EMBEDS_AGAIN if embed is not None and vectors is None else NO_MODEL
        materials = Materials(embed, vectors, compute.verbs, background.is_known, self._finder, self._complete, lacks)
        self._answers.change(materials, app_timing.ANSWERED_WITHIN)

    def __enter__(self) -> _Answering:
        return self

    def __exit__(self, *error: object) -> None:
        """Answer nothing any more. Return when no question is being answered, or after timing.ANSWERED_WITHIN seconds: the
        caller closes the stores, of which no connection may be closed while a thread reads through it."""
        from kgfs.compute.questions import Materials

        if self._server is not None:
            self._server.close()
        self._answers.change(Materials(None, None), app_timing.ANSWERED_WITHIN)
        self._finder.close()


def _watching(config: Config, *, skipped: bool) -> AbstractContextManager[None]:
    """Keep ontologies in step with the folders that the configuration names."""
    if skipped or not config.watch.folders:
        return nullcontext()
    from kgfs.app.watching import watching_configured  # needed where folders are watched only

    return watching_configured(config)


@contextmanager
def _projecting(config: Config, stores: Stores) -> Iterator[Projecting | None]:
    """Keep the projection up to the graph while the context lasts; yield None where none is configured."""
    if config.graph.store != "neo4j":
        yield None
        return
    from kgfs.ingest.working.projecting import projecting  # needed by homes with a projection only

    with projecting(config, stores) as running:
        yield running


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both
