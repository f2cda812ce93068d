"""Up to where the news were heard: what was learnt of the stores since then may be used again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

MAX_KNOWN = 5_000
"""Answers kept; then all are given up together."""

MAX_SEEN = 50_000
"""Attributes kept, likewise: of many things, and small."""

MAX_RENDERED = 16 << 20
"""Bytes of rendered files kept, likewise."""


class ViewCache:
    """One for a context. Without news (nobody calls :meth:`move`) nothing is remembered and every question is asked anew.

    With news an answer holds until they move on, a tenth of a second at most after the change: the kernel is told at the
    same time, so nothing older than what it must forget is ever shown to it afterwards. Threads may ask; the event loop
    moves.
    """

    __slots__ = ("_known", "_position", "_rendered", "_seen")

    def __init__(self) -> None:
        self._position: Hashable | None = None
        self._known: dict[Hashable, Any] = {}
        self._seen: dict[Hashable, Any] = {}
        self._rendered = _Rendered()

    @property
    def position(self) -> Hashable | None:
        return self._position

    def move(self, position: Hashable) -> None:
        """News were heard up to ``position``."""
        if position != self._position:
            self._position = position
            self.forget()

    def forget(self) -> None:
        """A store contradicted what is remembered: everything is asked anew. Any thread."""
        self._known = {}
        self._seen = {}
        self._rendered = _Rendered()

    def recall(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The answer to ``ask``, which ``key`` stands for, perhaps from before."""
        return ask() if self._position is None else _recall(self._known, MAX_KNOWN, key, ask)

    def seen(self, key: Hashable, look: Callable[[], T]) -> T:
        """The same for attributes: the kernel asks for those of each file that is read, and again when it is read again."""
        return look() if self._position is None else _recall(self._seen, MAX_SEEN, key, look)

    def rendered(self, key: Hashable, render: Callable[[], bytes]) -> bytes:
        """What ``render`` gives, perhaps from before: what is opened again and again is rendered once. Any thread."""
        if self._position is None:
            return render()
        kept = self._rendered
        content = kept.get(key)
        if content is None:
            content = render()
            kept.keep(key, content)
        return content

    def learn(self, key: Hashable, answer: object) -> None:
        """What ``key`` stands for, learnt in passing, on the event loop."""
        if self._position is not None:
            _keep(self._known, MAX_KNOWN, key, answer)


class _Rendered:
    """Bytes by key, up to MAX_RENDERED together."""

    __slots__ = ("_by_key", "_lock", "_size")

    def __init__(self) -> None:
        self._by_key: dict[Hashable, bytes] = {}
        self._size = 0
        self._lock = Lock()

    def get(self, key: Hashable) -> bytes | None:
        return self._by_key.get(key)

    def keep(self, key: Hashable, content: bytes) -> None:
        with self._lock:
            if self._size + len(content) > MAX_RENDERED:
                self._by_key.clear()
                self._size = 0
            if len(content) <= MAX_RENDERED // 16 and key not in self._by_key:
                self._by_key[key] = content
                self._size += len(content)


def _recall(known: dict[Hashable, Any], most: int, key: Hashable, ask: Callable[[], T]) -> T:
    # A thread may be asking while the news move on: what it learns belongs to the moment in which it asked.
    if key in known:
        found: T = known[key]
        return found
    answer = ask()
    _keep(known, most, key, answer)
    return answer


def _keep(known: dict[Hashable, Any], most: int, key: Hashable, answer: object) -> None:
    if len(known) >= most:
        known.clear()
    known[key] = answer
