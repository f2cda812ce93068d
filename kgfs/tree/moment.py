"""Up to where the news were heard: what was learnt of the stores since then may be used again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

MAX_KNOWN = 5_000
"""Answers kept; then all are given up together."""


class Moment:
    """One for a world. Without news (nobody calls :meth:`move`) nothing is remembered and every question is asked anew.

    With news an answer holds until they move on, a tenth of a second at most after the change: the kernel is told at the
    same time, so nothing older than what it must forget is ever shown to it afterwards. Threads may ask; the event loop
    moves.
    """

    __slots__ = ("_known", "_position")

    def __init__(self) -> None:
        self._position: Hashable | None = None
        self._known: dict[Hashable, Any] = {}

    @property
    def position(self) -> Hashable | None:
        return self._position

    def move(self, position: Hashable) -> None:
        """News were heard up to ``position``."""
        if position != self._position:
            self._position = position
            self._known = {}

    def forget(self) -> None:
        """A store contradicted what is remembered: everything is asked anew. Any thread."""
        self._known = {}

    def recall(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The answer to ``ask``, which ``key`` stands for, perhaps from before."""
        if self._position is None:
            return ask()
        # A thread may be asking while the news move on: what it learns belongs to the moment in which it asked.
        known = self._known
        if key in known:
            found: T = known[key]
            return found
        answer = ask()
        _keep(known, key, answer)
        return answer

    def learn(self, key: Hashable, answer: object) -> None:
        """What ``key`` stands for, learnt in passing, on the event loop."""
        if self._position is not None:
            _keep(self._known, key, answer)


def _keep(known: dict[Hashable, Any], key: Hashable, answer: object) -> None:
    if len(known) >= MAX_KNOWN:
        known.clear()
    known[key] = answer
