"""Use the FUSE control filesystem to raise the number of concurrent requests of a connection and to abort a
connection.

By default, the kernel passes on at most twelve requests for data that it reads page by page. Twelve programs that
wait for a silent server would then block all other readers. libfuse could raise the limit at INIT, but pyfuse3 does
not expose that. The control filesystem can raise the limit later; systemd mounts it on every machine. A mount by root
mounts the control filesystem if it is missing.

A mount that was killed may keep its clients waiting for good (:mod:`.watcher` explains how). :func:`watch` starts the
process that ends this wait, and :func:`free_clients` ends it if that process was killed too.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import kgfs
from kgfs.errors import MachineError
from kgfs.fuse import probe, timing
from kgfs.stores.mount_files import MountNote, mount_notes, mounts
from kgfs.stores.processes import main_thread

if TYPE_CHECKING:  # needed where something is mounted only
    import subprocess

log = logging.getLogger(__name__)

CONTROL = Path("/sys/fs/fuse/connections")
MOUNT_CONTROL = f"mount -t fusectl -o nosuid,nodev,noexec fusectl {CONTROL}"
"""The command that mounts the control filesystem; needs root."""
CONCURRENCY = 256
"""Number of concurrent requests to ask for. The kernel allows users more than that on a machine with 1 GiB of memory.
"""
WATCHER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kgfs.fuse.watcher import main; main()"


def number_of(where: Path) -> int | None:
    """Return the number of the FUSE connection that is mounted at exactly this path; None if nothing is mounted
    there. The mount itself is not accessed.
    """
    mounted = probe.mount_at(where)
    return int(mounted.device.partition(":")[2]) if mounted is not None else None


def is_mounted() -> bool:
    """Return whether the control filesystem is mounted."""
    return any(mounted.path == str(CONTROL) and mounted.type == "fusectl" for mounted in mounts())


def widen(number: int, at_once: int = CONCURRENCY) -> bool:
    """Let the kernel pass on up to ``at_once`` background requests. Return whether the limit could be set."""
    try:
        (CONTROL / str(number) / "max_background").write_text(str(at_once))
    except OSError:
        return False
    return True


def watch(number: int) -> subprocess.Popen[bytes] | None:
    """Start and return the process that aborts the connection once this process was killed or has ended.

    Return None if this user may not abort the connection; the log then tells how to allow it.
    """
    running = main_thread(os.getpid())
    assert running is not None
    try:
        abort = _open_abort(number)
    except MachineError as error:
        log.info("%s", error)
        return None
    words = [str(Path(kgfs.__file__).parents[1]), str(os.getpid()), str(running[1]), str(abort)]
    import subprocess

    try:
        # Its arguments and environment do not contain the home's name, so that a kill by that name does not hit it.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WATCHER, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(abort,),
            start_new_session=True,
            cwd="/",
            env={},
        )
    finally:
        os.close(abort)


def free_clients(run: Path) -> list[str]:
    """Abort the connections of the killed mounts of a home that keep clients waiting, and wait until their processes are gone.

    Return one sentence per mount, including mounts whose connection this user may not abort. Quick if there is none.
    """
    return [_free(note) for note in mount_notes(run) if note.stuck]


def _free(note: MountNote) -> str:
    begun = f"The mount at {note.mountpoint} (pid {note.pid}) was killed and kept programs waiting"
    try:
        abort = _open_abort(note.connection)
    except MachineError as error:
        return f"{begun}, and still does. {error}"
    try:
        # If the process is still there now that the file is open, the number is certainly that of its connection.
        if note.is_stuck():
            os.write(abort, b"1")
    finally:
        os.close(abort)
    deadline = time.monotonic() + timing.PROCESS_END
    while note.is_stuck():
        if time.monotonic() > deadline:
            return f"{begun}; its connection {note.connection} is aborted, but its process does not end."
        time.sleep(0.01)
    return f"{begun}; they are free."


def _open_abort(number: int | None) -> int:
    """Return a descriptor of the file that aborts a connection when it is written to.

    If root calls this and the control filesystem is missing, it is mounted. Raise MachineError, with the remedy, if
    this user may not open the file.
    """
    if not is_mounted() and os.geteuid() == 0:
        import subprocess

        subprocess.run(MOUNT_CONTROL.split(), check=False, capture_output=True)
    try:
        return os.open(CONTROL / str(number) / "abort", os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        remedy = (
            f"As root: echo 1 > {CONTROL}/{number}/abort"
            if is_mounted()
            else f"As root: '{MOUNT_CONTROL}', then try again"
        )
        raise MachineError(
            f"Connection {number} cannot be aborted should its mount be killed ({error.strerror}). {remedy}."
        ) from error
