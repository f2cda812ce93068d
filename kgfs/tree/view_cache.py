"""Cache what was read from the stores for as long as the change feed reports no change."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

MAX_KNOWN = 5_000
"""Maximum number of cached answers. When it is reached, all are dropped together."""

MAX_SEEN = 50_000
"""Maximum number of cached attributes, which are small. When it is reached, all are dropped together."""

MAX_RENDERED = 16 << 20
"""Maximum number of bytes of cached rendered files. When it is exceeded, all are dropped together."""


class ViewCache:
    """The cache of one context.

    Without a change feed (no call of :meth:`move`), nothing is cached and every question is asked again. With one, an
    answer is valid until the feed moves on, at most 0.1 s after a change. The kernel is sent its invalidations at the
    same time, so it is never shown anything older than what it must forget. Any thread may ask; only the event loop
    calls :meth:`move`.
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
        """Note that the change feed has reached ``position``, and drop the cache if the position is new."""
        if position != self._position:
            self._position = position
            self.forget()

    def forget(self) -> None:
        """Drop everything, because a store contradicted the cache. Any thread may call this."""
        self._known = {}
        self._seen = {}
        self._rendered = _Rendered()

    def recall(self, key: Hashable, ask: Callable[[], T]) -> T:
        """Return the answer to ``ask``, cached under ``key``."""
        return ask() if self._position is None else _recall(self._known, MAX_KNOWN, key, ask)

    def seen(self, key: Hashable, measure: Callable[[], T]) -> T:
        """Return attributes as by :meth:`recall`, from a cache of their own: the kernel asks for the attributes of
        each file that is read, and again when it is read again.
        """
        return measure() if self._position is None else _recall(self._seen, MAX_SEEN, key, measure)

    def rendered(self, key: Hashable, render: Callable[[], bytes]) -> bytes:
        """Return the result of ``render``, cached under ``key``, so that a file that is opened repeatedly is rendered
        once. Any thread may call this.
        """
        if self._position is None:
            return render()
        kept = self._rendered
        content = kept.get(key)
        if content is None:
            content = render()
            kept.keep(key, content)
        return content

    def learn(self, key: Hashable, answer: object) -> None:
        """Cache an answer that was found in passing. Called on the event loop."""
        if self._position is not None:
            _keep(self._known, MAX_KNOWN, key, answer)


class _Rendered:
    """Cache bytes by key, up to MAX_RENDERED in total."""

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
    # A thread may be asking while the feed moves on: its answer belongs in the cache of the position at which it
    # asked.
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
