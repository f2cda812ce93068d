"""Query processes of this machine in ``/proc``.

A killed process can stay while one of its threads waits in the kernel. Its locks then stay held and its files stay
open, and neither ``waitpid`` nor a pidfd reports its end; but its main thread is a zombie. This module imports
nothing, because the watcher process of a mount starts with it."""

from __future__ import annotations

ENDED = ("Z", "X")
"""States of a thread that does not run any more: zombie, dead."""


def main_thread(pid: int) -> tuple[str, int] | None:
    """Return the state of a process's main thread, one letter as in ``ps``, and the start time of the process, in
    clock ticks since boot. None if there is no such process. Takes about 20 µs."""
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
    """Return whether the main thread of that process has ended while the process is still there. This is also true
    for a process that has ended as a whole and whose parent has not read its exit code, so a caller also checks
    whether the process still holds something."""
    found = main_thread(pid)
    return found is not None and found[0] in ENDED and found[1] == started
