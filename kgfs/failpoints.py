"""Fail points: with ``KGFS_FAIL_AT=name[:n]`` the process is killed (SIGKILL) when it passes ``name`` the n-th time.

For tests of durability. Costs one comparison where nothing is set. Names are those of the stage borders:
``kept``, ``garage-put``, ``settled``, ``parsed``, ``chunked``, ``gated``, ``recorded``, ``validated``, ``reading-kept``,
``decided``, ``staged``, ``published``, ``indexed``, ``noted``, ``shipped``, ``forgotten``, ``built-aside``,
``word-kept``, ``word-recorded``, ``word-carried-out``, ``owed``, ``graph-committing``, ``graph-committed``,
``upload-noted``, ``ledger-merged``, ``ledger-piece-removed``, ``migrate-begun``, ``migrate-entries``, ``migrate-ledger``,
``migrate-object``, ``migrate-objects``, ``migrate-caught-up``, ``migrate-front``, ``migrate-derived``, ``migrate-proved``,
``waiting-put``, ``delivered``, ``confirmed``, ``followed``, ``purge-noted``, ``followed-in-graph``, ``graph-loading``,
``graph-loaded``.

With ``KGFS_STOP_AT=name[:n]`` it is stopped there (SIGSTOP), until somebody has it go on.

With ``KGFS_SLOW_AT=name:seconds`` whoever passes ``name`` takes so much longer, each time: for tests of what is slow.
Names are ``searching`` (a question in ``search/``, in the mount or ``kgfs search``) and ``answering`` (a question to the
worker's models).
"""

from __future__ import annotations

import os
import signal
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
_slow, _, _seconds = os.environ.get("KGFS_SLOW_AT", "").partition(":")


def border(name: str) -> None:
    """The process has just passed this border of a stage."""
    for way in _ways.get(name, ()):
        way.left -= 1
        if way.left == 0:
            os.kill(os.getpid(), way.sent)


def slowly(name: str, wait: Callable[[float], object] = time.sleep) -> None:
    """This takes its time where a test wants it to; ``wait`` does the waiting."""
    if name == _slow:
        wait(float(_seconds))
