"""What the control filesystem of FUSE does for a connection: how many requests the kernel passes on, and its end.

Of what the kernel reads for programs page by page it passes on twelve requests, unless somebody says otherwise: twelve programs that wait for
a server that is silent would keep all others from reading what is here. libfuse could say it at the beginning, but pyfuse3 has
no door to that; later it can be said in the control filesystem, which systemd mounts on every machine. A mount of root's mounts it
where it is missing.

A mount that was killed may keep its clients waiting for good (:mod:`.watcher` says how). :func:`watch` starts the process
that ends this, :func:`free_clients` ends it where that process was killed, too.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import kgfs
from kgfs.errors import MachineError
from kgfs.fuse import probe
from kgfs.stores.mount_notes import MountNote
from kgfs.stores.mount_table import mounts
from kgfs.stores.processes import main_thread

log = logging.getLogger(__name__)

CONTROL = Path("/sys/fs/fuse/connections")
MOUNT_CONTROL = f"mount -t fusectl -o nosuid,nodev,noexec fusectl {CONTROL}"
"""The command, for root, that mounts the control filesystem."""
AT_ONCE = 256
"""The kernel lets users have more than that, where the machine has a GiB of memory."""
WATCHER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kgfs.fuse.watcher import main; main()"
ENDING = 5.0
"""Seconds for a process to end once its connection is aborted."""


def number_of(where: Path) -> int | None:
    """Return the number of the connection of the mount at this very path, None if nothing is mounted there. The mount itself
    is not asked."""
    mounted = probe.mount_at(where)
    return int(mounted.device.partition(":")[2]) if mounted is not None else None


def is_mounted() -> bool:
    """Return whether the control filesystem is mounted."""
    return any(mounted.path == str(CONTROL) and mounted.type == "fusectl" for mounted in mounts())


def widen(number: int, at_once: int = AT_ONCE) -> bool:
    """Have ``at_once`` requests passed on that the mount could wait for; return whether that could be said."""
    try:
        (CONTROL / str(number) / "max_background").write_text(str(at_once))
    except OSError:
        return False
    return True


def watch(number: int) -> subprocess.Popen[bytes] | None:
    """Start and return the process that aborts the connection once this process was killed, or has ended. None where this
    user may not abort it; the log says how to allow it."""
    running = main_thread(os.getpid())
    assert running is not None
    try:
        abort = _open_abort(number)
    except MachineError as error:
        log.info("%s", error)
        return None
    words = [str(Path(kgfs.__file__).parents[1]), str(os.getpid()), str(running[1]), str(abort)]
    try:
        # Its words and environment are bare: it is to be nobody's who kills by the name of a home.
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


def free_clients(notes: Iterable[MountNote]) -> list[str]:
    """Abort the connections of mounts that were killed and keep their clients waiting, and wait until their processes are
    gone. Return a sentence on each, also on those whose connection this user may not abort. Quick where there is none."""
    return [_free(note) for note in notes if note.stuck]


def _free(note: MountNote) -> str:
    begun = f"The mount at {note.mountpoint} (pid {note.pid}) was killed and kept programs waiting"
    try:
        abort = _open_abort(note.connection)
    except MachineError as error:
        return f"{begun}, and still does. {error}"
    try:
        # The number is surely that of this connection if its process is there still, now that the file is open.
        if note.is_stuck():
            os.write(abort, b"1")
    finally:
        os.close(abort)
    deadline = time.monotonic() + ENDING
    while note.is_stuck():
        if time.monotonic() > deadline:
            return f"{begun}; its connection {note.connection} is aborted, but its process does not end."
        time.sleep(0.01)
    return f"{begun}; they are free."


def _open_abort(number: int | None) -> int:
    """Return the open file that aborts a connection when something is written to it. The control filesystem is mounted
    where root calls this and it is missing. MachineError says what to do where this user may not."""
    if not is_mounted() and os.geteuid() == 0:
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
