"""Fail points: with ``KGFS_FAIL_AT=name[:n]`` the process kills itself (SIGKILL) when it passes ``name`` the n-th time.

They are for tests of durability. A border costs one lookup where nothing is set. Names are those of the stage borders,
by alphabet:
``answer-kept``, ``answered``, ``asked``, ``built-aside``, ``chunked``, ``decided``, ``erased``, ``fenced``, ``forgetting-committed``, ``forgetting-done``,
``forgetting-owed``, ``forgotten``, ``garage-put``, ``gated``, ``indexed``, ``joined``, ``kept``, ``ledger-merged``,
``ledger-piece-removed``, ``looked-back``, ``mended``, ``migrate-begun``, ``migrate-caught-up``, ``migrate-derived``,
``migrate-entries``, ``migrate-front``, ``migrate-ledger``, ``migrate-object``, ``migrate-objects``,
``migrate-proved``, ``names-hidden``, ``noted``, ``owed``, ``owner-asked``, ``owner-confirmed``, ``page-recognised``,
``parsed``, ``part-put``, ``parts-found``, ``parts-noted``, ``prefix-freed``, ``prefix-linked``, ``prefix-written``,
``projected``, ``projection-followed``, ``published``, ``quarantined``, ``reading-kept``, ``recorded``, ``redacted``,
``rescued``, ``restored``, ``restored-aside``, ``restored-files``, ``scrubbed``, ``settled``, ``shipped``,
``snapshot-copied``, ``snapshot-fetched``, ``snapshot-in-place``, ``snapshot-part-fetched``, ``snapshot-put``,
``staged``, ``survivors-named``, ``survivors-planned``, ``taken-over``, ``taking-over``, ``text-kept``,
``text-noted``, ``text-published``, ``validated``, ``vectors-derived``, ``word-carried-out``, ``word-kept``,
``word-recorded``.

With ``KGFS_STOP_AT=name[:n]`` the process stops there (SIGSTOP) until it gets SIGCONT.

With ``KGFS_SLOW_AT=name:seconds`` a thread that passes ``name`` is delayed by that many seconds each time, for tests
of slow operations. Names are ``searching`` (a question in ``search/``, in the mount or ``kgfs search``) and ``answering``
(a question to the worker's models).
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
        if given := os.environ.get(variable):
            name, _, count = given.partition(":")
            found.setdefault(name, []).append(_Way(number, int(count or 1)))
    return found


_ways = _ways_told()
_counting = threading.Lock()
"""Serializes the counting of threads that pass a border at the same time, so that exactly one of them is the n-th."""
_slow, _, _seconds = os.environ.get("KGFS_SLOW_AT", "").partition(":")


def border(name: str) -> None:
    """Mark that the process has just passed this border of a stage.

    Kill or stop the process if this is the configured pass.
    """
    for way in _ways.get(name, ()):
        with _counting:
            way.left -= 1
            reached = way.left == 0
        if reached:
            # The signal goes to this thread. If another thread received it, this thread would run on for a moment.
            signal.pthread_kill(threading.get_ident(), way.sent)


def slowly(name: str, wait: Callable[[float], object] = time.sleep) -> None:
    """Delay the caller where ``KGFS_SLOW_AT`` configures it. ``wait`` does the waiting, given the seconds."""
    if name == _slow:
        wait(float(_seconds))
