"""Run a mount: check the mountpoint, mount, serve and shut down in order.

What a mount polls is paced: often while something happens in the home or in the mount, seldom else.
"""

from __future__ import annotations

import logging
import os
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import pyfuse3
import trio

from kgfs.errors import (
    BusyError,
    KgfsError,
    MachineError,
    MissingError,
    NotAFolderError,
    NotEmptyError,
    RefusedError,
    from_os_error,
)
from kgfs.fuse import connection, machine, probe, timing
from kgfs.fuse.adapter import Operations
from kgfs.fuse.handling import LogError, Requests, serve
from kgfs.fuse.invalidate import Invalidator
from kgfs.fuse.probe import MountState
from kgfs.stores.change_watch import ChangeWatch
from kgfs.stores.memory import give_back
from kgfs.stores.mount_files import TYPE, source_of
from kgfs.tree.invalidation import Invalidation
from kgfs.tree.vfs import Vfs

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Task = Callable[[], Awaitable[None]]
"""Background work that runs while the mount does, and is cancelled at its end."""


@dataclass(frozen=True, slots=True)
class MountOptions:
    """Options of a mount."""

    allow_other: bool = False
    """Let other users access the mount; needs ``user_allow_other`` unless root mounts."""
    read_only: bool = False
    """Mount read-only: the kernel refuses every change (EROFS)."""
    home: Path | None = None
    """The home that is mounted. It is part of the source in the mount table, so that commands find the home of a
    path.
    """
    waits: bool = False
    """Whether reading may wait for a server: see :mod:`.connection`."""


def check(mountpoint: Path, options: MountOptions | None = None) -> Path:
    """Check everything that can be wrong before mounting, and return the mountpoint's path as the kernel names it.

    Each error tells what to do. A dead mount at the path is detached. Raise MachineError if the machine lacks
    something; BusyError if a mount at the path hangs or is a kgfs mount; NotAFolderError, NotEmptyError, MissingError
    or RefusedError if the folder is unsuitable.
    """
    options = options or MountOptions()
    machine.require(allow_other=options.allow_other)
    where = probe.located(mountpoint)
    mounted = probe.mount_at(where)
    if mounted is not None and mounted.type.startswith("fuse"):
        standing = probe.standing(where)
        if standing is MountState.DEAD:
            log.warning("%s was a dead mount; it is detached.", where)
            probe.detach(where)
        elif standing is MountState.HUNG:
            raise BusyError(f"A mount stands at {where} and does not answer. Detach it: kgfs umount --lazy {where}")
        elif mounted.type == TYPE:
            raise BusyError(f"{where} is a kgfs mount already. Take it down first: kgfs umount {where}")
    try:
        found = os.stat(where)
        if not stat.S_ISDIR(found.st_mode):
            raise NotAFolderError(f"{where} is not a folder. Mount at an empty folder.")
        if os.listdir(where):
            raise NotEmptyError(f"{where} is not empty, and what is in it would be hidden. Mount at an empty folder.")
    except FileNotFoundError:
        raise MissingError(f"{where} does not exist. Make it first: mkdir -p {where}") from None
    except OSError as error:
        raise from_os_error(error, f"{where} cannot be looked at") from error
    if os.geteuid() != 0 and not os.access(where, os.W_OK):
        raise RefusedError(f"{where} is not writable for you. Mount at a folder of your own.")
    return where


async def mount(
    vfs: Vfs,
    mountpoint: Path,
    options: MountOptions | None = None,
    *,
    log_error: LogError,
    news: Callable[[], Sequence[Invalidation]] | None = None,
    tasks: Sequence[Task] = (),
    ready: Callable[[], None] | None = None,
    requests: Requests | None = None,
    connected: Callable[[int], None] | None = None,
    pulse: Pulse | None = None,
) -> None:
    """Mount and serve until the filesystem is unmounted from outside or a signal asks for the end.

    ``news`` is called on the event loop, at the pace of ``pulse``, and returns what the kernel must forget.
    ``tasks`` run beside it; a task that fails is logged and restarted. ``connected`` is called with the number of the
    connection, and later ``ready`` once the kernel's INIT was received. If this process is killed, a watcher
    (:mod:`.watcher`) keeps clients from waiting for good.

    On return nothing is mounted any more, and every open file has been released. ``STOP_SIGNALS`` have no effect from
    then on, so the process can end without interruption.
    """
    options = options or MountOptions()
    where = check(mountpoint, options)
    requests, pulse = requests or Requests(), pulse or Pulse()
    operations = Operations(vfs, log_error, requests)
    _init(operations, where, options)
    number = connection.number_of(where)
    # Without a number the mount was already taken down, and the main loop ends.
    watcher = connection.watch(number) if number is not None else None
    if number is not None and connected is not None:
        connected(number)
    invalidator = Invalidator(requests)
    invalidator.start()
    vfs.files.forget_attributes = invalidator.forget_attributes
    try:
        async with trio.open_nursery() as nursery:
            stop = _Stop(vfs, invalidator, where)
            await nursery.start(stop.listen)
            nursery.start_soon(_announce, operations, ready, number if options.waits else None)
            nursery.start_soon(_watch, vfs, news, invalidator, pulse, log_error)
            nursery.start_soon(pulse.listen)
            for task in tasks:
                nursery.start_soon(_keep_running, task, log_error)
            await serve(operations, pulse.requested)
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            all_sent = invalidator.stop()
            await trio.to_thread.run_sync(_away, where)
            for failure in await vfs.files.release_all():
                log_error("fuse.release", failure)
            pyfuse3.close(unmount=False)
            if watcher is not None and all_sent:  # else a blocked thread keeps this process alive
                watcher.kill()
                watcher.wait()


def _init(operations: Operations, where: Path, options: MountOptions) -> None:
    chosen = {*pyfuse3.default_options, f"fsname={source_of(options.home)}", "subtype=kgfs"}
    if options.allow_other:
        chosen.add("allow_other")
    if options.read_only:
        chosen.add("ro")
    with _standard_error() as captured:
        try:
            pyfuse3.init(operations, str(where), chosen)
        except RuntimeError as error:
            captured.seek(0)
            reason = captured.read().decode("utf-8", "replace").strip() or str(error)
            raise MachineError(f"{where} could not be mounted: {reason}. 'kgfs doctor' looks for the cause.") from error


@contextmanager
def _standard_error() -> Iterator[BinaryIO]:
    """Redirect descriptor 2 to a temporary file and yield that file. libfuse and fusermount3 report the reason of a
    failure to descriptor 2 only.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with tempfile.TemporaryFile() as captured:
            os.dup2(captured.fileno(), 2)
            try:
                yield captured
            finally:
                os.dup2(saved, 2)
    finally:
        os.close(saved)


class _Stop:
    """Unmount when a signal asks for it."""

    def __init__(self, vfs: Vfs, invalidator: Invalidator, where: Path) -> None:
        self._vfs = vfs
        self._invalidator = invalidator
        self._where = where

    async def listen(self, task_status: trio.TaskStatus[None]) -> None:
        # trio restores these handlers when this ends. A second signal must not interrupt the shutdown: open files
        # would not be kept, and the worker would be left behind.
        for stop_signal in STOP_SIGNALS:
            signal.signal(stop_signal, _heard_already)
        with trio.open_signal_receiver(*STOP_SIGNALS) as signals:
            task_status.started()
            async for number in signals:
                log.info("%s: unmounting %s.", signal.Signals(number).name, self._where)
                await self._stop()
                return

    async def _stop(self) -> None:
        self._vfs.stop_waiting()
        await trio.to_thread.run_sync(self._invalidator.stop)
        try:
            await trio.to_thread.run_sync(self._unmount)
        except KgfsError as error:
            log.warning("%s", error)
        pyfuse3.terminate()

    def _unmount(self) -> None:
        """Unmount, or detach if the mount is in use. The main loop must still serve meanwhile, because fusermount3
        itself accesses the mount.
        """
        try:
            probe.umount(self._where)
        except BusyError as error:
            # This process ends in any case; a dead mount left behind would be worse for the processes that use it.
            log.warning("%s It is detached.", error)
            probe.detach(self._where)


def _heard_already(number: int, frame: FrameType | None) -> None:
    """Ignore the signal. SIG_IGN is not used, because child processes would inherit it."""


def _away(where: Path) -> None:
    """Detach what is still mounted: the main loop ended by itself, so no process would answer."""
    mounted = probe.mount_at(where)
    if mounted is not None and mounted.type == TYPE and probe.standing(where) is not MountState.ALIVE:
        try:
            probe.detach(where)
        except KgfsError as error:
            log.warning("%s", error)


async def _announce(operations: Operations, ready: Callable[[], None] | None, to_widen: int | None) -> None:
    await operations.answered_first.wait()
    if to_widen is not None and not connection.widen(to_widen):
        log.info("Twelve programs at most can wait for a server and leave others to read.")
    if ready is not None:
        ready()


async def _watch(
    vfs: Vfs,
    news: Callable[[], Sequence[Invalidation]] | None,
    invalidator: Invalidator,
    pulse: Pulse,
    log_error: LogError,
) -> None:
    while True:
        invalidator.send(vfs.take_stale())
        if vfs.inodes.take_emptied():
            give_back()
        try:
            if news is not None:
                invalidator.send(news())
        except Exception as error:  # a failed poll is repeated, and the mount stays
            log.exception("news could not be had and is asked for again")
            log_error("fuse.news", error)
            await trio.sleep(1)
        await pulse.rest()


async def _keep_running(task: Task, log_error: LogError) -> None:
    while True:
        try:
            await task()
        except Exception as error:  # a failing task must not end the mount
            log.exception("a background task failed and is started again")
            log_error("fuse.task", error)
            await trio.sleep(1)
        else:
            return


class Pulse:
    """The pace of one mount. Used on the event loop only."""

    def __init__(self, watch: ChangeWatch | None = None, lively: float = 5.0) -> None:
        """``watch`` is that of the home; without one, or without one that works, polls are always quick. ``lively`` is
        how many seconds after a change polls are quick, since time must pass before a change is dealt with.
        """
        self._watch = watch
        self._lively = lively
        self._changed = trio.Event()
        self._until = time.monotonic() + lively
        self._works = watch is not None and watch.works

    async def listen(self) -> None:
        """Wait for changes of the home, without end. For a task of the mount."""
        while self._watch is not None and self._works:
            await trio.lowlevel.wait_readable(self._watch.fileno())
            if self._watch.changed():
                self._stir(self._lively)
            await trio.sleep(timing.PULSE_QUICK)  # a busy home wakes this no more often

    def requested(self) -> None:
        """Note that the kernel has sent a request. Quick."""
        self._stir(timing.PULSE_AFTER_REQUEST)

    def _stir(self, seconds: float) -> None:
        self._until = max(self._until, time.monotonic() + seconds)
        if self._changed.statistics().tasks_waiting:
            self._changed.set()
            self._changed = trio.Event()

    async def rest(self, quick: float = timing.PULSE_QUICK, slow: float = timing.PULSE_SLOW) -> None:
        """Pause between two polls: ``quick`` seconds while something happens, else until something does, or ``slow``
        seconds.
        """
        if not self._works or time.monotonic() < self._until:
            await trio.sleep(quick)
            return
        with trio.move_on_after(slow):
            await self._changed.wait()
