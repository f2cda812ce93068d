"""Call a function without blocking: it returns its result, or raises WouldBlock and is then repeated in a thread.

A function that may have to wait calls :func:`blocks` before it waits and before it changes anything."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class WouldBlock(Exception):  # noqa: N818  # not an error: the caller repeats the call in a thread
    """The call would have to wait. Nothing was done."""


class _Here(threading.local):
    inline = False


_HERE = _Here()


def inline(call: Callable[[], T]) -> T:
    """Return the result of ``call`` if it does not have to wait; else raise WouldBlock."""
    _HERE.inline = True
    try:
        return call()
    finally:
        _HERE.inline = False


def is_inline() -> bool:
    """Return whether the calling thread is inside :func:`inline`."""
    return _HERE.inline


def blocks() -> None:
    """Raise WouldBlock if the caller must not wait. Call this before waiting for anything."""
    if _HERE.inline:
        raise WouldBlock
