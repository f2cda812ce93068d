"""An engine that calls a heartbeat between small batches of heavy work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kgfs.compute.contract import Compute
from kgfs.models.contract import Extraction, Passage, Tokens
from kgfs.stores.batched import batched

PASSAGES = 16
"""Texts or passages in one call of a model: less than a second's work on two cores."""
COUNTED = 256
"""Texts in one call of the token counter."""

T = TypeVar("T")


class WithHeartbeat:
    """A Compute that delegates to another engine in batches, and calls ``poll`` before each batch.

    An exception that ``poll`` raises ends the call.
    """

    def __init__(self, compute: Compute, poll: Callable[[], None]) -> None:
        self._compute = compute
        self._poll = poll
        self.extractor, self.extractor_model = compute.extractor, compute.extractor_model
        self.prompt_hash, self.embedding_model = compute.prompt_hash, compute.embedding_model
        self.billed, self.takes_known = compute.billed, compute.takes_known

    @property
    def tokens(self) -> Tokens:
        return _AttendedTokens(self._compute.tokens, self._poll)

    @property
    def verbs(self) -> Callable[[str], bool] | None:
        has_verb = self._compute.verbs
        if has_verb is None:
            return None

        def polled(block: str) -> bool:
            self._poll()
            return has_verb(block)

        return polled

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        return [raw for part in self._portions(passages, PASSAGES) for raw in self._compute.extract(part, known)]

    def parse(self, raw: str) -> Extraction:
        self._poll()
        return self._compute.parse(raw)

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        return [rows for part in self._portions(texts, PASSAGES) for rows in self._compute.embed(part)]

    def using(self, extractor: str) -> WithHeartbeat:
        return WithHeartbeat(self._compute.using(extractor), self._poll)

    def notes(self) -> Sequence[str]:
        return self._compute.notes()

    def _portions(self, items: Sequence[T], size: int) -> Iterator[list[T]]:
        return _portions(items, size, self._poll)


class _AttendedTokens:
    def __init__(self, tokens: Tokens, poll: Callable[[], None]) -> None:
        self._tokens = tokens
        self._poll = poll
        self.name = tokens.name

    def count(self, text: str) -> int:
        self._poll()
        return self._tokens.count(text)

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [count for part in _portions(texts, COUNTED, self._poll) for count in self._tokens.counts(part)]


def _portions(items: Sequence[T], size: int, poll: Callable[[], None]) -> Iterator[list[T]]:
    for part in batched(items, size):
        poll()
        yield part
