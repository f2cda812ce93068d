"""Search: an immutable snapshot of all rows of a model, and the best rows that pass a filter.

Of many rows those whose codes (:mod:`.codes`) promise the most are compared, unless an exact answer is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgfs.stores.vectors.codes import Codes, coded
from kgfs.stores.vectors.contract import Filter, Hit, Row, Vector
from kgfs.stores.vectors.matrix import Matrix

Column = npt.NDArray[np.int32]
ATTRIBUTES = ("kind", "item", "ontology", "doc_id", "source_variant", "role", "domain", "authority")
NUMBERS = ("window", "chunk_index")
ALL_BELOW = 20_000
"""Rows that pass a filter below which all are compared."""
COMPARED = 10
"""Rows compared for each one wanted, of more."""
LEAST_COMPARED = 1000
GATHER_BELOW = 0.15
"""The share of rows below which a filter is applied before the scores are computed, not after."""


class Vocabulary:
    """A bijection between words and small numbers that never changes a number. Only one thread may add words at a
    time."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._words: list[str] = []

    def code(self, word: str) -> int:
        """Return the number of a word. A new word gets the next number."""
        found = self._codes.get(word)
        if found is None:
            self._words.append(word)
            found = self._codes[word] = len(self._words) - 1
        return found

    def codes(self, words: Sequence[str]) -> list[int]:
        """Return the number of each of these words. New words get the next numbers, in order."""
        known = self._codes
        for word in dict.fromkeys(words):
            if word not in known:
                self.code(word)
        return [*map(known.__getitem__, words)]

    def known(self, word: str) -> int:
        """Return the number of a word, -1 if no row has it."""
        return self._codes.get(word, -1)

    def word(self, code: int) -> str:
        """Return the word with this number."""
        return self._words[code]


@dataclass(frozen=True)
class Picture:
    """A snapshot of all rows, indexed by slot. It never changes, so any thread may scan it while another builds the
    next one."""

    matrix: Matrix
    columns: dict[str, Column]
    """The numbers of the words of each column of ATTRIBUTES, and the values of each column of NUMBERS, by slot."""
    alive: npt.NDArray[np.bool_]
    """Whether the slot has a row, by slot."""
    vocabulary: Vocabulary
    former_codes: Codes | None = None
    """The codes of the first rows, from a snapshot before."""

    @cached_property
    def _by_item(self) -> tuple[npt.NDArray[np.intp], Column]:
        """Return the slots in order of their items, and the items in that order."""
        items = self.columns["item"]
        if (np.diff(items) >= 0).all():  # items that come one after another have ascending numbers
            return np.arange(len(items)), items
        order = np.argsort(items, kind="stable")
        return order, items[order]

    @cached_property
    def _passing(self) -> dict[tuple[str, str], npt.NDArray[np.intp]]:
        """Return the slots that pass (kind, ontology), as they were asked for."""
        return {}

    def candidates(self, where: Filter) -> npt.NDArray[np.intp]:
        """Return the slots of the rows that pass the filter, ascending."""
        if where.items is not None:
            return self._of_items(where, where.items)
        if where.doc_ids is not None or where.equal:
            return self._filtered(where)
        asked = (where.kind, where.ontology)
        if asked not in self._passing:
            self._passing[asked] = self._filtered(where)
        return self._passing[asked]

    def _of_items(self, where: Filter, items: frozenset[str]) -> npt.NDArray[np.intp]:
        """Return the slots of these items that pass the rest of the filter, without a look at other rows."""
        order, known = self._by_item
        codes = np.array(sorted(self.vocabulary.known(item) for item in items), np.int32)
        first, behind = np.searchsorted(known, codes), np.searchsorted(known, codes, "right")
        spans = [order[start:end] for start, end in zip(first.tolist(), behind.tolist(), strict=True) if start < end]
        slots = np.sort(np.concatenate(spans)) if spans else np.zeros(0, np.intp)
        slots = slots[self.alive[slots]]
        wanted = {"kind": where.kind, "ontology": where.ontology, **where.equal}
        for name, word in wanted.items():
            if word:
                slots = slots[self.columns[name][slots] == self.vocabulary.known(word)]
        if where.doc_ids is not None:
            documents = np.array(sorted(self.vocabulary.known(word) for word in where.doc_ids), np.int32)
            slots = slots[np.isin(self.columns["doc_id"][slots], documents)]
        return slots

    def _filtered(self, where: Filter) -> npt.NDArray[np.intp]:
        passing = self.alive
        wanted = {"kind": where.kind, "ontology": where.ontology, **where.equal}
        for name, word in wanted.items():
            if word:
                passing = passing & (self.columns[name] == self.vocabulary.known(word))
        if where.doc_ids is not None:
            codes = np.array(sorted(self.vocabulary.known(word) for word in where.doc_ids), np.int32)
            passing = passing & np.isin(self.columns["doc_id"], codes)
        return np.flatnonzero(passing)

    @cached_property
    def _codes(self) -> Codes:
        return coded(self.matrix, self.former_codes)

    def codes_made(self) -> Codes | None:
        """Return the codes of the rows if a query had them made."""
        found: Codes | None = self.__dict__.get("_codes", self.former_codes)
        return found

    def best(self, vector: Vector, where: Filter, limit: int, threshold: float, *, exact: bool = True) -> list[Hit]:
        """Return the ``limit`` best items that pass the filter and score at least ``threshold``, best first.

        Without ``exact`` a few of the best may be missed among ALL_BELOW rows or more.
        """
        slots = self.candidates(where)
        if not slots.size or limit < 1:
            return []
        count = max(COMPARED * limit, LEAST_COMPARED)
        if not exact and slots.size >= ALL_BELOW and count < slots.size:
            slots = self._codes.likely(vector, slots, count)
        if slots.size < GATHER_BELOW * len(self.matrix):
            scores = self.matrix[slots] @ vector
        else:
            scores = self.matrix @ vector
            if slots.size < len(scores):
                scores = scores[slots]
        if threshold > -1.0:
            passing = scores >= threshold
            slots, scores = slots[passing], scores[passing]
        return self._ranked(slots, scores, limit)

    def _ranked(self, slots: npt.NDArray[np.intp], scores: npt.NDArray[np.float32], limit: int) -> list[Hit]:
        """Return the ``limit`` best items.

        Look at more and more of the top scores, always with all ties, until they contain ``limit`` different items.
        """
        top = limit + limit // 4
        while True:
            if top < slots.size:
                least = np.partition(scores, slots.size - top)[slots.size - top]
                chosen = np.flatnonzero(scores >= least)
            else:
                chosen = np.arange(slots.size)
            hits = _each_once(self._hits(slots[chosen], scores[chosen]))
            if len(hits) >= limit or chosen.size == slots.size:
                return hits[:limit]
            top *= 8

    def _hits(self, slots: npt.NDArray[np.intp], scores: npt.NDArray[np.float32]) -> list[Hit]:
        word = self.vocabulary.word
        columns = [self.columns[name][slots].tolist() for name in ("kind", "item", "window", "doc_id", "chunk_index")]
        return [
            Hit(word(kind), word(item), window, score, word(doc_id), chunk_index)
            for kind, item, window, doc_id, chunk_index, score in zip(*columns, scores.tolist(), strict=True)
        ]

    def rows(self, where: Filter) -> list[Row]:
        """Return all rows that pass the filter, in order of key."""
        slots = self.candidates(where)
        word = self.vocabulary.word
        words = [[word(code) for code in self.columns[name][slots].tolist()] for name in ATTRIBUTES]
        numbers = [self.columns[name][slots].tolist() for name in NUMBERS]
        found = [
            Row(vector=vector, **dict(zip((*ATTRIBUTES, *NUMBERS), values, strict=True)))
            for vector, *values in zip(np.array(self.matrix[slots]), *words, *numbers, strict=True)
        ]
        return sorted(found, key=lambda row: (row.kind, row.item, row.window))


def _each_once(hits: Sequence[Hit]) -> list[Hit]:
    """Return each item once, with its best window, best first."""
    best: dict[tuple[str, str], Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.item, hit.kind, hit.window)):
        best.setdefault((hit.kind, hit.item), hit)
    return list(best.values())
