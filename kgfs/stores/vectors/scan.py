"""Exact search: an immutable snapshot of all rows of a model, and the best rows that pass a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgfs.stores.vectors.contract import Filter, Hit, Vector
from kgfs.stores.vectors.matrix import Matrix

Codes = npt.NDArray[np.int32]
ATTRIBUTES = ("kind", "item", "ontology", "doc_id", "source_variant", "role", "domain", "authority")
NUMBERS = ("window", "chunk_index")
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
    columns: dict[str, Codes]
    """The numbers of the words of each column of ATTRIBUTES, and the values of each column of NUMBERS, by slot."""
    alive: npt.NDArray[np.bool_]
    """Whether the slot has a row, by slot."""
    vocabulary: Vocabulary

    @cached_property
    def _by_item(self) -> tuple[npt.NDArray[np.intp], Codes]:
        """The slots in order of their items, and the items in that order."""
        items = self.columns["item"]
        if (np.diff(items) >= 0).all():  # items that come one after another have ascending numbers
            return np.arange(len(items)), items
        order = np.argsort(items, kind="stable")
        return order, items[order]

    @cached_property
    def _passing(self) -> dict[tuple[str, str], npt.NDArray[np.intp]]:
        """The slots that pass (kind, ontology), as they were asked for."""
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

    def best(self, vector: Vector, where: Filter, limit: int, threshold: float) -> list[Hit]:
        """Return the ``limit`` best items that pass the filter and score at least ``threshold``, best first."""
        slots = self.candidates(where)
        if not slots.size or limit < 1:
            return []
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
        top = 4 * limit
        while True:
            if top < slots.size:
                least = np.partition(scores, slots.size - top)[slots.size - top]
                chosen = np.flatnonzero(scores >= least)
            else:
                chosen = np.arange(slots.size)
            hits = _each_once([self._hit(int(slots[at]), float(scores[at])) for at in chosen])
            if len(hits) >= limit or chosen.size == slots.size:
                return hits[:limit]
            top *= 8

    def _hit(self, slot: int, score: float) -> Hit:
        def word(name: str) -> str:
            return self.vocabulary.word(int(self.columns[name][slot]))

        window, chunk_index = (int(self.columns[name][slot]) for name in NUMBERS)
        return Hit(word("kind"), word("item"), window, score, word("doc_id"), chunk_index)


def _each_once(hits: Sequence[Hit]) -> list[Hit]:
    """Return each item once, with its best window, best first."""
    best: dict[tuple[str, str], Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.item, hit.kind, hit.window)):
        best.setdefault((hit.kind, hit.item), hit)
    return list(best.values())
