"""Open files that are put together from spans, each made when it is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from kgfs.errors import StoreError
from kgfs.knowledge.joined import Span
from kgfs.stores.thread_slots import blocks
from kgfs.tree.node import Fixed


class Spans(Fixed):
    """A handle on a file of spans. It has one of them in memory at a time."""

    __slots__ = ("_ends", "_last", "_spans")

    def __init__(self, spans: Sequence[Span], content_id: object) -> None:
        super().__init__((content_id, len(spans)), direct_io=False)
        self._spans = [span for span in spans if span.size]
        self._ends = [*accumulate(span.size for span in self._spans)]
        self._last: tuple[int, bytes] | None = None

    @property
    def size(self) -> int:
        return self._ends[-1] if self._ends else 0

    def read(self, offset: int, length: int) -> bytes:
        found = bytearray()
        end = min(offset + length, self.size)
        while offset < end:
            at = bisect_right(self._ends, offset)
            start = self._ends[at] - self._spans[at].size
            found += self._content(at)[offset - start : end - start]
            offset = min(end, self._ends[at])
        return bytes(found)

    def _content(self, at: int) -> bytes:
        last = self._last
        if last is not None and last[0] == at:
            return last[1]
        blocks()
        span = self._spans[at]
        content = span.content()
        if len(content) != span.size:
            raise StoreError("What this file consists of has changed since it was opened. Open it again.")
        self._last = (at, content)
        return content
