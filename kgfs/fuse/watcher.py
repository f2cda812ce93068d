"""Run the watcher of a mount, a process that releases clients which a killed mount would keep waiting for good.

A thread that sends invalidations may block in the kernel on a folder that a client of the mount has locked, while
that client waits for the mount. If the mount is killed in this state, it never answers, and its thread waits for the
client. So ``/dev/fuse`` stays open, and the kernel ends neither. Writing to the file ``abort`` of the connection ends
both.

:func:`.connection.watch` starts this program in a session of its own, so that it outlives the mount's process group.
The program polls the mount's main thread, since no event reports a process of which one thread hangs. It inherits the
file ``abort`` open: an open file belongs to this connection, even if the kernel gives the connection's number to
another mount. The program imports nothing that a mount needs, and ends with the mount's process.
"""

from __future__ import annotations

import os
import sys
import time

from kgfs.fuse import timing
from kgfs.stores.processes import has_ended


def main() -> None:
    """Watch a process, and abort its FUSE connection when it has ended.

    The arguments are the process's id, its start time, and the descriptor of the connection's open file ``abort``.
    Aborting a connection that is gone has no effect.
    """
    pid, started, abort = (int(word) for word in sys.argv[1:])
    while not has_ended(pid, started):
        time.sleep(timing.WATCHER_POLL)
    os.write(abort, b"1")
