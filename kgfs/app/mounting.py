"""Serve a home as a filesystem.

A home is mounted without asking its ledger. Meanwhile a thread confirms that it is the home's ledger, and that the home
lacks no facts.
"""

from __future__ import annotations

import gc
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.app import timing
from kgfs.app.binding import bind, is_bound, refuse_strange
from kgfs.app.home import make_home, open_deposits, open_home, open_to_read
from kgfs.app.working import chores_of
from kgfs.config import Config
from kgfs.errors import BadInputError, BusyError, KgfsError, MissingError, NotOwnerError, OlderCopyError
from kgfs.ingest.working.worker_keeper import WorkerKeeper
from kgfs.knowledge.compiled import compiled
from kgfs.knowledge.compiled import metrics_text as metrics_of_claims
from kgfs.stores.change_watch import ChangeWatch, lively_after
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.mount_files import GARAGE, mount_note
from kgfs.stores.servers import requests_text
from kgfs.stores.ship import refuse_older, ship_from_reserve
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import WorkerLock

if TYPE_CHECKING:
    from kgfs.fuse.handling import Requests
    from kgfs.tree.threads import Gate

COLLECT_AFTER = 100_000
"""Net number of allocated objects before a mount collects garbage. What a mount remembers for the kernel is many
objects and no garbage.
"""

BUSY = 50
"""Requests per timing.START_POLL above which a newly started mount counts as busy. Then a client walks or copies a
tree, and must not be slowed down by loading a worker and clients of servers.
"""


def prepare_mount(
    config: Config, *, take_over: bool, progress: Callable[[int, int], None], report: Callable[[str], None]
) -> None:
    """Create the home, and make sure that it may write its bucket. A home that lost its right is mounted read-only.

    Parameters and errors are those of :func:`.own`.
    """
    make_home(config)
    if config.garage_store.store == "files":
        if take_over:
            raise BadInputError("--take-over is for a home in a bucket. A home in files belongs to whoever opens it.")
        return
    from kgfs.app.ownership import is_lost, own  # needed by homes in a bucket only

    if take_over or not is_lost(config):
        own(config, take_over=take_over, progress=progress, report=report)


@contextmanager
def _opened(config: Config) -> Iterator[Stores]:
    """Open the stores of a mount. A home in a bucket that knows its own state asks no server for that."""
    with ExitStack() as stack:
        stores = None
        if config.garage_store.store != "files":
            with suppress(MissingError):
                stores = stack.enter_context(open_to_read(config))
        yield stores or stack.enter_context(open_home(config))


def run_mount(
    config: Config, mountpoint: Path, *, allow_other: bool = False, worker: bool = True, ready: Callable[[], None]
) -> None:
    """Mount a home and serve it until it is unmounted or a signal asks for the end. Call this in the main thread
    only.

    With ``worker``, a worker process is started, and restarted if it dies, unless another process works on the home.
    """
    import trio

    from kgfs.fuse import mount as fuse
    from kgfs.fuse.handling import Requests
    from kgfs.fuse.mount import Pulse
    from kgfs.tree.change_feed import ChangeFeed
    from kgfs.tree.ontology import Root
    from kgfs.tree.tree_context import TreeContext
    from kgfs.tree.vfs import Vfs, space_of
    from kgfs.tree.views import TREE

    options = fuse.MountOptions(allow_other=allow_other, home=config.home, waits=config.garage_store.store != "files")
    where = fuse.check(mountpoint, options)
    errors = ErrorLog(config.errors_log)
    refused: list[KgfsError] = []
    paused = threading.Event()
    with (
        _opened(config) as stores,
        open_deposits(config, stores) as (deposits, session),
        closing(ChangeWatch(config)) as watch,
    ):
        requests = Requests()
        context = TreeContext(
            config,
            stores,
            deposits,
            session,
            os.getuid(),
            os.getgid(),
            time.time_ns(),
            TREE,
            lambda: (
                requests.text()
                + context.searches.text()
                + context.questions.text()
                + requests_text()
                + _projection_text(config, stores)
                + metrics_of_claims(compiled(config, stores))
            ),
        )
        vfs = Vfs(Root(context), lambda: space_of(config.home))
        news = ChangeFeed(context, vfs)
        pulse = Pulse(watch, lively_after(config))
        confirming = Confirming(config, stores)
        gate, is_current = vfs.hold_changes(), confirming.current.is_set
        if is_current():
            gate.open()
        if stores.garage.taken_over_by():
            gate.shut(_refusal(config))
        ending = threading.Event()
        ship = _unless(ending, lambda: ship_from_reserve(config.home, stores))
        chores = chores_of(config, stores, deposits.settler, ship, is_current)
        keeper = WorkerKeeper(config) if worker else None

        async def do_chores() -> None:
            while not stores.garage.taken_over_by():
                if gate.is_open():
                    await trio.to_thread.run_sync(chores)
                    if keeper and paused.is_set():
                        keeper.poll()
                await pulse.rest()
            gate.shut(_refusal(config))
            if keeper:
                await trio.to_thread.run_sync(keeper.stop)

        async def note_the_end() -> None:
            try:
                await trio.sleep_forever()
            finally:
                ending.set()

        def refuse(error: KgfsError) -> None:
            refused.append(error)
            signal.raise_signal(signal.SIGTERM)

        async def go_on_at_a_pause() -> None:
            await _first_pause(requests, gate)
            paused.set()
            if not stores.garage.taken_over_by():
                await confirming.follow(gate, refuse)

        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 20, 100)
        with mount_note(config.run, session, where, file=config.file) as note:
            try:
                trio.run(
                    lambda: fuse.mount(
                        vfs,
                        where,
                        options,
                        log_error=errors.add,
                        news=news.poll,
                        tasks=[do_chores, go_on_at_a_pause, note_the_end],
                        ready=ready,
                        requests=requests,
                        connected=note.connected,
                        pulse=pulse,
                    )
                )
            finally:
                context.questions.close()
                if keeper and keeper.stop():
                    _take_back(config, stores)
    if refused:
        raise refused[0]


def _refusal(config: Config) -> KgfsError:
    from kgfs.app.ownership import refusal  # needed by a home that lost its bucket only

    return refusal(config)


async def _first_pause(requests: Requests, gate: Gate) -> None:
    """Wait until the mount gets few requests for a moment, until timing.START_AT_LATEST seconds have passed, or until a
    client waits to change something.
    """
    import trio

    with trio.move_on_after(timing.START_AT_LATEST):
        before = -BUSY
        while requests.total() - before >= BUSY and not gate.wanted.is_set():
            before = requests.total()
            with trio.move_on_after(timing.START_POLL):
                await gate.wanted.wait()


def run_garage_mount(config: Config, mountpoint: Path, *, allow_other: bool = False, ready: Callable[[], None]) -> None:
    """Mount a home's stored objects in their stored layout, read-only, and serve them as :func:`run_mount` does.

    This process settles nothing, ships nothing and runs no worker. Raise MissingError if there is no home. Call this
    in the main thread only.
    """
    import trio

    from kgfs.fuse import mount as fuse
    from kgfs.fuse.mount import Pulse
    from kgfs.tree.garage import GarageRoot, GarageView
    from kgfs.tree.garage_feed import GarageFeed
    from kgfs.tree.vfs import Vfs, space_of
    from kgfs.tree.views import TREE

    waits = config.garage_store.store != "files"
    options = fuse.MountOptions(allow_other=allow_other, read_only=True, home=config.home, waits=waits)
    where = fuse.check(mountpoint, options)
    errors = ErrorLog(config.errors_log)
    with open_to_read(config) as stores, closing(ChangeWatch(config)) as watch:
        view = GarageView(stores, os.getuid(), os.getgid(), time.time_ns(), TREE)
        vfs = Vfs(GarageRoot(view), lambda: space_of(config.home))
        news = GarageFeed(view, vfs)
        with mount_note(config.run, f"garage-{secrets.token_hex(6)}", where, GARAGE, config.file) as note:
            trio.run(
                lambda: fuse.mount(
                    vfs,
                    where,
                    options,
                    log_error=errors.add,
                    news=None if waits else news.poll,
                    tasks=[partial(news.follow, errors)] if waits else [],
                    ready=ready,
                    connected=note.connected,
                    pulse=Pulse(watch),
                )
            )


def _projection_text(config: Config, stores: Stores) -> str:
    """Return the metrics of the projection; none where the graph is not projected."""
    if config.graph.store != "neo4j":
        return ""
    from kgfs.stores.projection.progress import metrics_text

    return metrics_text(config, stores.graph)


def _take_back(config: Config, stores: Stores) -> None:
    """Release the jobs of a worker that was killed because its mount ends. The attempt does not count against the
    documents.
    """
    with suppress(BusyError), WorkerLock(config.run):  # a process that works on the home by now has released them
        stores.catalog.jobs.free(counted=False)


def _unless(ending: threading.Event, ship: Callable[[], object]) -> Callable[[], None]:
    """Return a function that calls ``ship`` until the mount ends. What is left then is shipped by code that does not
    wait for a silent server.
    """

    def ship_unless_ending() -> None:
        if not ending.is_set():
            ship()

    return ship_unless_ending


class Confirming:
    """Ask the ledger from one thread. ``current`` is set once the ledger is known to have no fact that is missing in
    the home.
    """

    def __init__(self, config: Config, stores: Stores) -> None:
        self._config = config
        self._stores = stores
        self._trouble = Trouble(ErrorLog(config.errors_log), "opening")
        self.current = threading.Event()
        if config.garage_store.store == "files":  # the ledger was already asked at opening
            self.current.set()

    def ask(self) -> None:
        """Ask the ledger once, and bind the home to its own ledger if it is not bound yet.

        Raise NotOwnerError if another home owns the bucket, OlderCopyError if the home lacks facts, and BadInputError if
        a home that is not bound yet is configured with another ledger. Any other error of the ledger is logged, once
        while it lasts.
        """
        try:
            self._stores.garage.confirm_owner()
            last = self._stores.garage.ledger.last_seq()
            is_to_be_bound = not is_bound(self._config)
            if is_to_be_bound:
                refuse_strange(self._config, self._stores.catalog, last)
            refuse_older(self._stores.catalog, last)
            if is_to_be_bound and last:
                bind(self._config)
            if last <= self._stores.catalog.confirmed():
                self.current.set()
            self._trouble.over()
        except (NotOwnerError, OlderCopyError, BadInputError):
            raise
        except KgfsError as error:
            self._trouble.met(error)

    async def follow(self, gate: Gate, refuse: Callable[[KgfsError], None]) -> None:
        """Open the gate after the first answer or failure of the ledger, and repeat the question until ``current`` is
        set.

        The gate also opens if the server is away, since work goes on then. If another home owns the bucket, the gate is
        refused, and the mount goes on read-only. If :meth:`ask` refuses the home for another reason, ``refuse`` is called
        with the error, too.
        """
        import trio

        while not self.current.is_set():
            try:
                await trio.to_thread.run_sync(self.ask, abandon_on_cancel=True)
            except NotOwnerError as error:
                gate.refuse(error)
                return
            except (OlderCopyError, BadInputError) as error:
                gate.refuse(error)
                refuse(error)
                return
            gate.open()
            if not self.current.is_set():
                await trio.sleep(timing.CONFIRM_RETRY)
