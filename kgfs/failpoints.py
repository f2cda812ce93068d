"""Fail points: with ``KGFS_FAIL_AT=name[:n]`` the process is killed (SIGKILL) when it passes ``name`` the n-th time.

For tests of durability. Costs one comparison where nothing is set. Names are those of the stage borders, by alphabet:
``built-aside``, ``chunked``, ``confirmed``, ``decided``, ``delivered``, ``embedded-again``, ``erased``, ``followed``,
``followed-in-graph``, ``forgetting-committed``, ``forgetting-done``, ``forgetting-owed``, ``forgotten``,
``garage-put``, ``gated``, ``indexed``, ``kept``, ``ledger-merged``, ``ledger-piece-removed``, ``mended``,
``migrate-begun``, ``migrate-caught-up``, ``migrate-derived``, ``migrate-entries``, ``migrate-front``,
``migrate-ledger``, ``migrate-object``, ``migrate-objects``, ``migrate-proved``, ``names-hidden``, ``noted``,
``original-aside``, ``original-back``, ``original-gone``, ``original-made``, ``original-wanted``, ``owed``,
``parsed``, ``projected``, ``projection-followed``, ``projection-shown``, ``publication-delivered``,
``publication-recorded``, ``published``, ``purge-noted``, ``quarantined``, ``reading-kept``, ``recorded``,
``redacted``, ``rescued``, ``restored``, ``restored-aside``, ``restored-files``, ``scrubbed``, ``settled``,
``shipped``, ``snapshot-copied``, ``snapshot-fetched``, ``snapshot-files-put``, ``snapshot-in-place``,
``snapshot-part-fetched``, ``snapshot-part-put``, ``snapshot-put``, ``staged``, ``survivors-named``,
``survivors-planned``, ``trash-emptied``, ``trash-restored``, ``upload-noted``, ``validated``, ``vectors-derived``,
``waiting-put``, ``waits-too``, ``word-carried-out``, ``word-kept``, ``word-recorded``.

With ``KGFS_STOP_AT=name[:n]`` it is stopped there (SIGSTOP), until somebody has it go on.

With ``KGFS_SLOW_AT=name:seconds`` whoever passes ``name`` takes so much longer, each time: for tests of what is slow.
Names are ``searching`` (a question in ``search/``, in the mount or ``kgfs search``) and ``answering`` (a question to the
worker's models).
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class _Way:
    sent: signal.Signals
    left: int


def _ways_told() -> dict[str, list[_Way]]:
    found: dict[str, list[_Way]] = {}
    for variable, number in (("KGFS_FAIL_AT", signal.SIGKILL), ("KGFS_STOP_AT", signal.SIGSTOP)):
        if told := os.environ.get(variable):
            name, _, count = told.partition(":")
            found.setdefault(name, []).append(_Way(number, int(count or 1)))
    return found


_ways = _ways_told()
_counting = threading.Lock()
"""Threads that pass a border together are counted one by one, so that one of them is the n-th."""
_slow, _, _seconds = os.environ.get("KGFS_SLOW_AT", "").partition(":")


def border(name: str) -> None:
    """The process has just passed this border of a stage."""
    for way in _ways.get(name, ()):
        with _counting:
            way.left -= 1
            reached = way.left == 0
        if reached:
            # To this thread, which else goes on for a moment where it is another that the signal reaches.
            signal.pthread_kill(threading.get_ident(), way.sent)


def slowly(name: str, wait: Callable[[float], object] = time.sleep) -> None:
    """This takes its time where a test wants it to; ``wait`` does the waiting."""
    if name == _slow:
        wait(float(_seconds))
