"""One way to answer: a call answers, or raises WouldBlock on the event loop and is made again in a thread.

What may have to wait calls :func:`blocks` before it does, and before it has changed anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class WouldBlock(Exception):  # noqa: N818  # no error: it asks for a thread
    """The answer would have to be waited for, and nothing was done."""


class _Here(threading.local):
    inline = False


_HERE = _Here()


def inline(call: Callable[[], T]) -> T:
    """What ``call`` returns where nothing is waited for; else WouldBlock."""
    _HERE.inline = True
    try:
        return call()
    finally:
        _HERE.inline = False


def is_inline() -> bool:
    return _HERE.inline


def blocks() -> None:
    """To be called by whatever is about to wait. WouldBlock where its caller may not."""
    if _HERE.inline:
        raise WouldBlock
