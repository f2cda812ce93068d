"""Processes of this machine, as ``/proc`` shows them.

A process that was killed can stay for as long as one of its threads waits in the kernel. Then its locks stay taken, its files open, and
neither ``waitpid`` nor a pidfd tells of its end; but its main thread is a zombie. Imports nothing: the watcher of a mount starts with it.
"""

from __future__ import annotations

ENDED = ("Z", "X")
"""States of a thread that runs no more: zombie, dead."""


def main_thread(pid: int) -> tuple[str, int] | None:
    """Return the state of a process's main thread, one letter as in ``ps``, and when the process started, in ticks since
    the machine did; None if there is no such process. Takes some 20 µs."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            fields = stat.read(4096).rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0].decode(), int(fields[19])


def has_ended(pid: int, started: int) -> bool:
    """Return whether the process that had this id since ``started`` is gone, or its main thread has ended."""
    found = main_thread(pid)
    return found is None or found[0] in ENDED or found[1] != started


def is_stuck(pid: int, started: int) -> bool:
    """Return whether the main thread of that process has ended, and the process is still there. So is, too, a process that
    ended whole and whose parent has not asked for its exit code: a caller also looks whether it holds something."""
    found = main_thread(pid)
    return found is not None and found[0] in ENDED and found[1] == started
