"""Keep ontologies in step with folders elsewhere: in the foreground, or in threads of a worker."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from kgfs.app import timing
from kgfs.app.home import make_home, open_deposits, open_home
from kgfs.app.working import chores_of
from kgfs.config import Config
from kgfs.errors import BadInputError, BusyError, KgfsError
from kgfs.ingest.watching.folder import FolderWatch, Tell, Watched, watch_folder
from kgfs.ingest.watching.reports import Reports
from kgfs.ingest.working.worker_keeper import WorkerKeeper
from kgfs.ingest.writing.intake import Ingested
from kgfs.ingest.writing.rules import check_path
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.locks import is_locked
from kgfs.stores.watch_files import confirmation_of, lock_of, notes_of, write_state

log = logging.getLogger(__name__)


def watched(folder: Path, ontology: str, into: str = "") -> Watched:
    """Return a folder to watch. Raise BadInputError where it is no folder, or ``into`` no path below documents/."""
    if into:
        check_path(into)
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise BadInputError(f"{folder} is no folder. Name one that is there.")
    return Watched(folder, ontology, into)


def watch_in_foreground(
    config: Config,
    folders: Sequence[Watched],
    tell: Tell,
    warn: Callable[[str], None],
    *,
    once: bool = False,
    stoppable: Callable[[Callable[[], None]], None] = lambda stop: None,
) -> bool:
    """Keep ontologies in step with folders until stopped; with ``once``, bring them in step and return whether they are.

    ``tell`` is called with each file that was taken, moved or removed, and ``warn`` with what stands in the way, once
    while it lasts. Starts a worker where none lives and ``once`` is not given. ``stoppable`` is called with the
    function that ends the watch, for a signal handler. Raise BusyError if another process watches one of the folders.
    """
    stopped = threading.Event()
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _), ExitStack() as stack:
        watches = [stack.enter_context(watch_folder(one, config.home, stores, deposits, tell)) for one in folders]
        reports = [stack.enter_context(closing(Reports())) for _ in watches]
        if once:
            in_step = True
            for watch, reported in zip(watches, reports, strict=True):
                in_step &= watch.bring_in_step()
                _State(config, watch, reported, warn).show()
            return in_step
        chores = chores_of(config, stores, deposits.settler)
        keeper = WorkerKeeper(config)
        stack.callback(keeper.stop)

        def stop() -> None:
            stopped.set()
            for one in reports:
                one.wake()

        stoppable(stop)
        threads = [
            threading.Thread(
                target=_follow, args=(config, watch, one, stopped, warn), name=f"watch {watch.watched.folder}"
            )
            for watch, one in zip(watches, reports, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            while not stopped.wait(timing.WATCH_WORKER_POLL):
                keeper.poll()
                chores()
        finally:
            stop()
            for thread in threads:
                thread.join()
    return True


@contextmanager
def watching_configured(config: Config) -> Iterator[None]:
    """Keep ontologies in step with the folders of ``watch.folders`` while the context lasts, each in a thread.

    What becomes of files is logged. A folder that another process watches already is left to it.
    """
    stopped, begun = threading.Event(), list[tuple[threading.Thread, Reports]]()
    for pair in config.watch.folders:
        named, _, folder = pair.partition("=")
        ontology, _, into = named.strip("/").partition("/")
        one = Watched(Path(folder).expanduser().absolute(), ontology, into)
        reports = Reports()
        thread = threading.Thread(
            target=_follow_configured, args=(config, one, reports, stopped), name=f"watch {folder}"
        )
        thread.start()
        begun.append((thread, reports))
    try:
        yield
    finally:
        stopped.set()
        for thread, reports in begun:
            reports.wake()
            thread.join()
            reports.close()


def confirm_removals(config: Config, one: Watched) -> bool:
    """Let the next scan of a folder remove what was held back; return whether a process watches the folder now."""
    make_home(config)
    notes = notes_of(config.home, one.folder, one.ontology, one.into)
    confirmation_of(notes).touch(mode=0o600)
    return is_locked(lock_of(notes))


def _follow_configured(config: Config, one: Watched, reports: Reports, stopped: threading.Event) -> None:
    errors = ErrorLog(config.errors_log)
    try:
        with (
            open_home(config) as stores,
            open_deposits(config, stores) as (deposits, _),
            watch_folder(one, config.home, stores, deposits, _logged) as watch,
        ):
            _follow(config, watch, reports, stopped, partial(errors.add, "watch"))
    except BusyError as error:
        log.info("%s", error)
    except KgfsError as error:
        errors.add("watch", error, folder=str(one.folder))


def _logged(path: str, result: Ingested | KgfsError) -> None:
    if isinstance(result, KgfsError):
        log.warning("%s: %s", path, result)
    else:
        log.info("%s: %s, %s", result.path, result.decision, result.reason)


def _follow(
    config: Config, watch: FolderWatch, reports: Reports, stopped: threading.Event, warn: Callable[[str], None]
) -> None:
    state = _State(config, watch, reports, warn)
    errors = ErrorLog(config.errors_log)
    while not stopped.is_set():
        try:
            due = watch.step()
            if reports.watch(watch.folders) and not stopped.is_set():
                due = min(due, watch.step())  # what changed in a new folder before it was watched was not reported
        except KgfsError as error:
            errors.add("watch", error, folder=str(watch.watched.folder))
            due = timing.WATCH_WORKER_POLL
        state.show()
        reports.wait(min(due, reports.pause(watch.seconds)))


class _State:
    """What a watch writes about itself, beside its notes, and says once while it lasts."""

    def __init__(self, config: Config, watch: FolderWatch, reports: Reports, warn: Callable[[str], None]) -> None:
        self._notes = notes_of(config.home, watch.watched.folder, watch.watched.ontology, watch.watched.into)
        self._watch, self._reports, self._warn = watch, reports, warn
        self._written: dict[str, Any] = {}
        self._reported: set[str] = set()

    def show(self) -> None:
        """Write the state if it has changed, and warn of what is new."""
        watched = self._watch.watched
        now = {
            "folder": os.fsencode(watched.folder).decode("utf-8", "replace"),
            "ontology": watched.ontology,
            "into": watched.into,
            "files": self._watch.files,
            "held": self._watch.held,
            "reports": self._reports.trouble,
            "refused": self._watch.refused,
        }
        if now != self._written:
            try:
                write_state(self._notes, now)
                self._written = now
            except OSError as error:  # a full disk; the watch goes on, and the state is written next time
                log.warning("%s: %s", self._notes, error.strerror)
        warnings = {text for text in (_held(watched, self._watch.held), self._reports.trouble) if text}
        for text in sorted(warnings - self._reported):
            self._warn(text)
        self._reported = warnings


def _held(watched: Watched, held: str) -> str:
    if not held:
        return ""
    return (
        f"{watched.folder}: {held}. Nothing is removed from {watched.ontology} until that is over, or confirmed with kgfs"
        f" ingest --watch '{watched.folder}' --ontology '{watched.ontology}' --confirm-removals."
    )
