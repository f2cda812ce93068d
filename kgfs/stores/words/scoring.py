"""The scores of Sources by words: BM25 of header and text as one bag, of the header, and of the neighbours' texts."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgfs.stores.words.segment import Array, Segment

ChunkRef = tuple[str, int]
"""The doc_id and chunk index of a Source."""

K1, B, HEADER_B = 1.2, 0.75, 0.5
FREQUENT = 2000
"""The length of a list of rows from which on it is asked whether it need be read whole."""
CLOSE = 1e-4
"""A difference of scores that rounding may make."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """The scores of one Source for the forms of a question; 0 where it has none of them."""

    bag: float
    """BM25 of header and text as one bag."""
    header: float
    """BM25 of the header."""
    beside: float
    """The greater BM25 of the texts of the Sources before and behind it."""
    is_code: bool


class WordView:
    """The Sources of one moment, in segments. Never changes; any number of threads may ask."""

    def __init__(self, segments: Sequence[Segment], living: Sequence[Array]) -> None:
        """``living`` has a mask for each segment: the documents that are not gone."""
        self.segments = tuple(segments)
        self.living = tuple(living)
        self._whole = tuple(bool(mask.all()) for mask in self.living)
        self._rows = tuple(
            None if whole else np.asarray(mask)[segment.row_doc]
            for segment, mask, whole in zip(self.segments, self.living, self._whole, strict=True)
        )
        """Masks of rows; None where all are living."""
        self.rows = sum(
            segment.rows if mask is None else int(mask.sum())
            for segment, mask in zip(self.segments, self._rows, strict=True)
        )

    @cached_property
    def _averages(self) -> tuple[float, float, float]:
        """Return the mean numbers of forms of bag, header and text."""
        body = head = 0
        for segment, mask in zip(self.segments, self._rows, strict=True):
            body += int(segment.row_body.sum() if mask is None else segment.row_body[mask].sum())
            head += int(segment.row_head.sum() if mask is None else segment.row_head[mask].sum())
        rows = max(self.rows, 1)
        return max((body + head) / rows, 1e-9), max(head / rows, 1e-9), max(body / rows, 1e-9)

    @cached_property
    def _norms(self) -> list[Array]:
        """Return for each segment the part of BM25 that the length of a bag makes."""
        mean = self._averages[0]
        return [
            (K1 * (1 - B + B * (segment.row_body + segment.row_head) / mean)).astype(np.float32)
            for segment in self.segments
        ]

    # ------------------------------------------------------------------------------------------------ words

    def counts(self, hashes: Array) -> Array:
        """Return in how many rows each of these forms stands, by their hashes; rows of gone documents count, too."""
        return (
            np.sum([segment.counts(hashes) for segment in self.segments], 0)
            if self.segments
            else 0 * hashes.astype(np.int64)
        )

    def idf(self, count: int) -> float:
        return math.log(1 + (self.rows - count + 0.5) / (count + 0.5))

    def occurring(self, forms: Collection[str], ontology: str = "") -> set[str]:
        """Return those of the forms that a Source has, in one ontology or in all."""
        found: set[str] = set()
        for number, segment in enumerate(self.segments):
            allowed = self._allowed(number, ontology, None)
            for form in forms:
                if form in found or (term := segment.term(form)) < 0:
                    continue
                rows = segment.postings(term)[0]
                if allowed is None or bool(allowed[rows].any()):
                    found.add(form)
        return found

    def _terms(self, forms: Sequence[str]) -> list[tuple[float, list[int]]]:
        """Return the idf of each form that occurs, with its number in each segment."""
        found = []
        for form in forms:
            numbers = [segment.term(form) for segment in self.segments]
            count = 0
            for number, segment, mask in zip(numbers, self.segments, self._rows, strict=True):
                if number >= 0:
                    rows = segment.postings(number)[0]
                    count += len(rows) if mask is None else int(mask[rows].sum())
            if count:
                found.append((self.idf(count), numbers))
        return found

    # --------------------------------------------------------------------------------------------- the best

    def _allowed(self, number: int, ontology: str, doc_ids: Collection[str] | None) -> Array | None:
        """Return a mask of the rows of a segment to look in; None for all."""
        segment, mask = self.segments[number], self._rows[number]
        if ontology:
            code = segment.ontologies.index(ontology) if ontology in segment.ontologies else -1
            of_ontology = segment.doc_ontology == code
            if not of_ontology.all():
                mask = of_ontology[segment.row_doc] if mask is None else mask & of_ontology[segment.row_doc]
        if doc_ids is not None:
            wanted = np.array([doc_id.encode("utf-8", "surrogatepass") for doc_id in doc_ids] or [b""], np.bytes_)
            documents = segment.find(wanted)
            chosen = np.zeros(segment.documents, np.bool_)
            chosen[documents[documents >= 0]] = True
            mask = chosen[segment.row_doc] if mask is None else mask & chosen[segment.row_doc]
        return mask

    def best(
        self,
        forms: Sequence[str],
        limit: int,
        ontology: str = "",
        doc_ids: Collection[str] | None = None,
        only: Collection[ChunkRef] | None = None,
    ) -> list[tuple[ChunkRef, float]]:
        """Return the ``limit`` best Sources by BM25 of header and text, best first; ties by doc_id and chunk index.

        ``doc_ids`` and ``only`` are the documents and the Sources to look in; None for all.
        """
        terms = sorted(self._terms(forms), key=lambda term: -term[0])
        found: list[tuple[int, Array, Array]] = []
        best = np.zeros(0, np.float32)
        for number, segment in enumerate(self.segments):
            mask = self._allowed(number, ontology, doc_ids)
            if only is not None:
                chosen = np.zeros(segment.rows, np.bool_)
                rows = self._rows_of(number, *_keys([*only]))
                chosen[rows[rows >= 0]] = True
                mask = chosen if mask is None else mask & chosen
            own = [(idf, numbers[number]) for idf, numbers in terms if numbers[number] >= 0]
            floor = float(best.min()) if len(best) == limit else 0.0
            rows, scores = _best_of(segment, self._norms[number], own, mask, limit, floor)
            found.append((number, rows, scores))
            best = np.sort(np.concatenate([best, scores]))[-limit:]
        least = float(best[0]) - CLOSE if len(best) == limit else 0.0
        ranked: list[tuple[float, str, int]] = []
        for number, rows, scores in found:
            kept = scores >= least
            negated = (-round(score, 5) for score in scores[kept].tolist())
            ranked += zip(negated, *_refs(self.segments[number], rows[kept]), strict=True)
        return [((doc_id, chunk), -score) for score, doc_id, chunk in sorted(ranked)[:limit]]

    def _rows_of(self, number: int, doc_ids: Array, chunks: Array) -> Array:
        """Return the row of each of these Sources in a segment; -1 for those that it does not have, or are gone."""
        segment, living = self.segments[number], self.living[number]
        if not len(doc_ids) or not segment.rows:
            return np.full(len(doc_ids), -1, np.int64)
        documents = segment.find(doc_ids)
        held = (documents >= 0) & living[documents]
        # Nearly all documents have all of their chunks, from 0 on.
        at: Array = np.minimum(segment.doc_first[documents] + chunks, segment.rows - 1).astype(np.int64)
        there = held & (segment.row_doc[at] == documents) & (segment.row_chunk[at] == chunks)
        at[~there] = -1
        for which in np.flatnonzero(held & ~there).tolist():
            at[which] = segment.row_of(int(documents[which]), int(chunks[which]))
        return at

    # ------------------------------------------------------------------------------------- scores of some

    def scores(self, forms: Sequence[str], refs: Sequence[ChunkRef]) -> dict[ChunkRef, WordScores]:
        """Return the scores of those of these Sources that are known."""
        terms = self._terms(forms)
        found: dict[ChunkRef, WordScores] = {}
        keys = _keys(refs)
        for number, segment in enumerate(self.segments):
            rows = self._rows_of(number, *keys)
            places = np.flatnonzero(rows >= 0)
            if len(places):
                own = [refs[at] for at in places.tolist()]
                found |= self._scored(segment, [(idf, numbers[number]) for idf, numbers in terms], own, rows[places])
        return found

    def _scored(
        self, segment: Segment, terms: Sequence[tuple[float, int]], refs: Sequence[ChunkRef], own: Array
    ) -> dict[ChunkRef, WordScores]:
        before, behind = _beside(segment, own, -1), _beside(segment, own, 1)
        rows = np.unique(np.concatenate([own, before[before >= 0], behind[behind >= 0]]))
        mean, mean_head, mean_body = self._averages
        body_length, head_length = segment.row_body[rows], segment.row_head[rows]
        bag, header, body = (np.zeros(len(rows)) for _ in range(3))
        for idf, term in terms:
            if term < 0:
                continue
            listed, in_body, in_head = segment.postings(term)
            at = np.minimum(np.searchsorted(listed, rows), len(listed) - 1)
            there = listed[at] == rows
            text, head = np.where(there, in_body[at], 0.0), np.where(there, in_head[at], 0.0)
            bag += _bm25(idf, text + head, (body_length + head_length) / mean, B)
            header += _bm25(idf, head, head_length / mean_head, HEADER_B)
            body += _bm25(idf, text, body_length / mean_body, B)
        where = np.searchsorted(rows, own)
        beside = np.zeros(len(own))
        for others in (before, behind):
            at = np.minimum(np.searchsorted(rows, np.maximum(others, 0)), len(rows) - 1)
            beside = np.maximum(beside, np.where(others >= 0, body[at], 0.0))
        code = segment.doc_code[segment.row_doc[own]]
        columns = (bag[where], header[where], beside, code)
        return {
            ref: WordScores(*values) for ref, *values in zip(refs, *(each.tolist() for each in columns), strict=True)
        }


def _keys(refs: Sequence[ChunkRef]) -> tuple[Array, Array]:
    """Return the doc_ids, as segments hold them, and the chunk indices."""
    doc_ids = [doc_id.encode("utf-8", "surrogatepass") for doc_id, _ in refs]
    return np.array(doc_ids or [], np.bytes_), np.array([chunk for _, chunk in refs], np.int64)


def _refs(segment: Segment, rows: Array) -> tuple[list[str], list[int]]:
    """Return the doc_ids and the chunk indices of these rows of a segment."""
    doc_ids = segment.doc_ids[segment.row_doc[rows]].tolist()
    return [doc_id.decode("utf-8", "surrogatepass") for doc_id in doc_ids], segment.row_chunk[rows].tolist()


def _best_of(
    segment: Segment,
    norms: Array,
    terms: Sequence[tuple[float, int]],
    mask: Array | None,
    limit: int,
    floor: float,
) -> tuple[Array, Array]:
    """Return rows of a segment and their scores: the ``limit`` best ones that are at least ``floor``, and perhaps others.

    ``terms`` are (idf, number), rarest first. Once a row needs one of the terms before to be among the best, only the
    rows that have one are scored for the rest: so the lists of frequent words are hardly read.
    """
    total = np.zeros(segment.rows, np.float32)
    postings = [(idf, *segment.postings(term)) for idf, term in terms]
    least_norm = float(norms.min()) if len(norms) else 0.0
    most = [_most(idf, body, head, least_norm) for idf, _, body, head in postings]
    rest, at, theta = sum(most), 0, floor
    for at, (idf, rows, body, head) in enumerate(postings):
        if len(rows) > FREQUENT:
            scored = total[total > 0]
            if len(scored) > limit:
                theta = max(theta, float(np.partition(scored, len(scored) - limit)[len(scored) - limit]))
            if theta > rest + CLOSE:
                break
        count = body.astype(np.float32) + head
        if mask is not None:
            passing = mask[rows]
            rows, count = rows[passing], count[passing]
        total[rows] += (idf * (K1 + 1)) * count / (count + norms[rows])
        rest -= most[at]
    else:
        at = len(postings)
        rest = 0.0
    found = np.flatnonzero(total > max(theta - rest - CLOSE, 0.0))
    scores = total[found]
    for idf, rows, body, head in postings[at:]:
        place = np.minimum(np.searchsorted(rows, found), len(rows) - 1)
        count = np.where(rows[place] == found, body[place].astype(np.float32) + head[place], np.float32(0))
        scores += (idf * (K1 + 1)) * count / (count + norms[found])
    if len(scores) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit] - CLOSE
        found, scores = found[scores >= least], scores[scores >= least]
    return found, scores


def _most(idf: float, body: Array, head: Array, least_norm: float) -> float:
    """Return what a term adds to a score at most."""
    count = float(body.max()) + float(head.max())
    return idf * (K1 + 1) * count / (count + least_norm)


def _bm25(idf: float, counts: Array, lengths: Array, b: float) -> Array:
    found: Array = idf * (K1 + 1) * counts / (counts + K1 * (1 - b + b * lengths))
    return found


def _beside(segment: Segment, rows: Array, step: int) -> Array:
    """Return the row of the Source before or behind each of these; -1 for none."""
    at = np.clip(rows + step, 0, segment.rows - 1)
    same = (segment.row_doc[at] == segment.row_doc[rows]) & (segment.row_chunk[at] == segment.row_chunk[rows] + step)
    return np.where(same, at, -1)
