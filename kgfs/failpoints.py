"""Fail points: with ``KGFS_FAIL_AT=name[:n]`` the process is killed (SIGKILL) when it passes ``name`` the n-th time.

For tests of durability. Costs one comparison where nothing is set. Names are those of the stage borders:
``kept``, ``garage-put``, ``settled``, ``parsed``, ``chunked``, ``gated``, ``recorded``, ``validated``, ``reading-kept``,
``decided``, ``staged``, ``published``, ``indexed``, ``noted``, ``shipped``, ``forgotten``.
"""

from __future__ import annotations

import os
import signal

_name, _, _count = os.environ.get("KGFS_FAIL_AT", "").partition(":")
_left = int(_count or 1)


def border(name: str) -> None:
    """The process has just passed this border of a stage."""
    global _left
    if name != _name:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
