"""The watcher of a mount: a process that frees those whom a killed mount would keep waiting for good.

A thread that tells the kernel what to forget may wait there for a folder that a client of the mount has locked, while that
client waits for the mount. Killed now, the mount never answers; its thread waits for the client, so ``/dev/fuse`` stays
open, and the kernel ends neither. Writing to the file ``abort`` of the connection ends both.

:func:`.connection.watch` starts this program, in a session of its own, so that it outlives the mount's process group. It
looks at the mount's main thread, for no event tells of a process of which one thread hangs. It was given the file
``abort`` open: that is of this connection, also when the kernel gives the connection's number to another mount. It loads
nothing of what a mount needs, and ends with the mount's process.
"""

from __future__ import annotations

import os
import sys
import time

from kgfs.stores.processes import has_ended

EVERY = 1.0
"""Seconds between looks."""


def main() -> None:
    """Watch the process whose id and start are the first two arguments; when it has ended, abort the connection whose file
    ``abort`` is open at the descriptor that is the third. A connection that is gone takes no harm from it."""
    pid, started, abort = (int(word) for word in sys.argv[1:])
    while not has_ended(pid, started):
        time.sleep(EVERY)
    os.write(abort, b"1")
