"""A segment: the postings of some documents' Sources in one file, mapped into memory and never changed.

Rows are Sources, in order of their documents and, within one, of their chunk indices. For each form there is the list of
its rows, with how often it stands in the text and in the header of each.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from kgfs.domain.word_forms import forms_in
from kgfs.errors import StoreError, from_os_error

Array = npt.NDArray[Any]

_MAGIC = b"kgfswrd1"
_HEAD = struct.Struct("<8sI")
_ALIGNED = 64
_WRITTEN = 1 << 20
"""Values of an array that are written, or added up, at once."""
MERGED_AT_ONCE = 1 << 19
"""Postings that are put into their places at the same time, some more where one form has as many."""
PIECE = 4096
"""Sources whose postings are gathered and sorted at once: those of a long text at once would take much memory."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A document, as it is indexed."""

    doc_id: str
    mark: int
    """A number that changes when what is indexed of the document does."""
    ontology: str
    is_code: bool
    sources: Iterable[tuple[int, str, str]]
    """Chunk index, text and header of each Source that is found, ascending; taken once."""


def mark_of(*parts: object) -> int:
    return xxhash.xxh3_64_intdigest("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"))


class Segment:
    """The arrays of a segment. Any number of threads may read it."""

    def __init__(self, arrays: dict[str, Array], ontologies: Sequence[str], name: str = "") -> None:
        self.name = name
        """The name of its file; '' where it is in memory only."""
        self.ontologies = tuple(ontologies)
        self.doc_ids: Array = arrays["doc_ids"]
        """Fixed-width bytes."""
        self.by_id: Array = arrays["by_id"]
        """The documents in order of their ids."""
        self.marks: Array = arrays["marks"]
        self.doc_ontology: Array = arrays["doc_ontology"]
        self.doc_code: Array = arrays["doc_code"]
        self.doc_first: Array = arrays["doc_first"]
        """The first row of each document, and the number of all rows."""
        self.row_doc: Array = arrays["row_doc"]
        self.row_chunk: Array = arrays["row_chunk"]
        self.row_body: Array = arrays["row_body"]
        """The number of forms in the text."""
        self.row_head: Array = arrays["row_head"]
        self.words: Array = arrays["words"]
        """All forms in UTF-8, one behind another, in the order of their hashes."""
        self.word_at: Array = arrays["word_at"]
        self.hashes: Array = arrays["hashes"]
        self.post_at: Array = arrays["post_at"]
        self.post_row: Array = arrays["post_row"]
        self.post_body: Array = arrays["post_body"]
        self.post_head: Array = arrays["post_head"]
        self.rows = len(self.row_doc)
        self.documents = len(self.doc_ids)

    @cached_property
    def ids(self) -> Array:
        """Return the document ids in order."""
        return np.asarray(self.doc_ids)[self.by_id]

    def find(self, doc_ids: Array) -> Array:
        """Return the number of each of these documents (bytes); -1 for those that it does not hold."""
        if not self.documents:
            return np.full(len(doc_ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self.ids, doc_ids), self.documents - 1)
        return np.where(self.ids[at] == doc_ids, self.by_id[at], -1)

    def row_of(self, document: int, chunk: int) -> int:
        """Return the row of a Source; -1 for none."""
        first, end = int(self.doc_first[document]), int(self.doc_first[document + 1])
        at = first + int(np.searchsorted(self.row_chunk[first:end], chunk))
        return at if at < end and self.row_chunk[at] == chunk else -1

    def term(self, form: str) -> int:
        """Return the number of a form; -1 if no row has it."""
        wanted = hash_of(form)
        at = int(np.searchsorted(self.hashes, np.uint64(wanted)))
        if at < len(self.hashes) and int(self.hashes[at]) == wanted and self.word(at) == form:
            return at
        return -1

    def counts(self, hashes: Array) -> Array:
        """Return the number of rows with each of these forms, by their hashes."""
        at = np.minimum(np.searchsorted(self.hashes, hashes), max(len(self.hashes) - 1, 0))
        if not len(self.hashes):
            return np.zeros(len(hashes), np.int64)
        found = np.diff(self.post_at)[at] if len(hashes) > len(self.hashes) else self.post_at[at + 1] - self.post_at[at]
        return np.where(self.hashes[at] == hashes, found, 0)

    def word(self, term: int) -> str:
        raw = self.words[int(self.word_at[term]) : int(self.word_at[term + 1])]
        return bytes(raw).decode("utf-8", "surrogatepass")

    def postings(self, term: int) -> tuple[Array, Array, Array]:
        """Return rows (ascending), counts in the text, and counts in the header."""
        span = slice(int(self.post_at[term]), int(self.post_at[term + 1]))
        return self.post_row[span], self.post_body[span], self.post_head[span]

    def arrays(self) -> dict[str, Array]:
        return {name: getattr(self, name) for name in _NAMES}


_NAMES = (
    "doc_ids", "by_id", "marks", "doc_ontology", "doc_code", "doc_first", "row_doc", "row_chunk", "row_body", "row_head",
    "words", "word_at", "hashes", "post_at", "post_row", "post_body", "post_head",
)  # fmt: skip


def hash_of(form: str) -> int:
    return xxhash.xxh3_64_intdigest(form.encode("utf-8", "surrogatepass"))


def build(documents: Iterable[Indexed], piece: int = PIECE) -> Segment:
    """Return a segment of these documents, in memory. More than ``piece`` Sources are put together from segments of so
    many, which does not change it."""
    pieces: list[Segment] = []
    building = _Building()
    for document in documents:
        building.begin(document)
        for chunk, text, header in document.sources:
            if building.rows == piece:
                pieces.append(building.segment())
                building = _Building()
                building.begin(document)
            building.add(chunk, text, header)
    if not pieces:
        return building.segment()
    pieces.append(building.segment())
    return _merged(pieces, [np.ones(one.documents, np.bool_) for one in pieces], goes_on=True)


class _Building:
    """The arrays of a segment while Sources are added to it."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._ontologies: dict[str, int] = {}
        self._ids: list[bytes] = []
        self._marks = list[int]()
        self._ontology = list[int]()
        self._code = list[bool]()
        self._row_doc, self._row_chunk, self._row_body, self._row_head = (array("i") for _ in range(4))
        # One entry for each form of each row: counted as they come, since all words of a long text take much memory.
        self._post_term, self._post_row, self._post_body, self._post_head = (array("i") for _ in range(4))

    @property
    def rows(self) -> int:
        return len(self._row_doc)

    def begin(self, document: Indexed) -> None:
        """Have the Sources that are added from now on be this document's."""
        self._ids.append(document.doc_id.encode("utf-8", "surrogatepass"))
        self._marks.append(document.mark)
        self._ontology.append(self._ontologies.setdefault(document.ontology, len(self._ontologies)))
        self._code.append(document.is_code)

    def add(self, chunk: int, text: str, header: str) -> None:
        terms = self._terms
        body, head = forms_in(text), forms_in(header)
        in_body, in_head = Counter(body), Counter(head)
        forms = [*in_body, *(form for form in in_head if form not in in_body)]
        self._post_term.extend([terms.setdefault(form, len(terms)) for form in forms])
        self._post_row.extend([self.rows] * len(forms))
        self._post_body.extend(in_body.values())
        self._post_body.extend([0] * (len(forms) - len(in_body)))
        self._post_head.extend(map(in_head.__getitem__, forms))
        self._row_doc.append(len(self._ids) - 1)
        self._row_chunk.append(chunk)
        self._row_body.append(len(body))
        self._row_head.append(len(head))

    def segment(self) -> Segment:
        """Return the segment. Call it last."""
        terms = self._terms
        hashes = np.array([hash_of(form) for form in terms], np.uint64)
        order = np.argsort(hashes, kind="stable")
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        term = rank[np.frombuffer(self._post_term, np.int32)] if self._post_term else np.zeros(0, np.int32)
        by_term = np.argsort(term, kind="stable")  # rows are added in their order, so each list of rows is ascending
        encoded = [form.encode("utf-8", "surrogatepass") for form in terms]
        encoded = [encoded[at] for at in order]
        doc_ids = np.array(self._ids or [b""], dtype=np.bytes_)[: len(self._ids)]
        row_doc = np.array(self._row_doc, np.int32)
        firsts = np.concatenate([[0], np.cumsum(np.bincount(row_doc, minlength=len(doc_ids)))])
        return Segment(
            {
                "doc_ids": doc_ids,
                "by_id": np.argsort(doc_ids, kind="stable").astype(np.int32),
                "marks": np.array(self._marks, np.uint64),
                "doc_ontology": np.array(self._ontology, np.int32),
                "doc_code": np.array(self._code, np.bool_),
                "doc_first": firsts.astype(np.int32),
                "row_doc": row_doc,
                "row_chunk": np.array(self._row_chunk, np.int32),
                "row_body": np.array(self._row_body, np.int32),
                "row_head": np.array(self._row_head, np.int32),
                "words": np.frombuffer(b"".join(encoded), np.uint8),
                "word_at": np.cumsum([0, *map(len, encoded)]).astype(np.int64),
                "hashes": hashes[order],
                "post_at": np.concatenate([[0], np.cumsum(np.bincount(term, minlength=len(terms)))]).astype(np.int64),
                "post_row": np.array(self._post_row, np.int32)[by_term],
                "post_body": np.minimum(self._post_body, 255).astype(np.uint8)[by_term],
                "post_head": np.minimum(self._post_head, 255).astype(np.uint8)[by_term],
            },
            [*self._ontologies],
        )


def merge(segments: Sequence[Segment], kept: Sequence[Array]) -> Segment:
    """Return one segment with the ``kept`` documents (a mask for each segment) of all; nothing of others is in it."""
    return _merged(segments, kept)


def _merged(segments: Sequence[Segment], kept: Sequence[Array], *, goes_on: bool = False) -> Segment:
    """Return the same. With ``goes_on`` the first document of each segment but the first one is the last of the one before."""
    width = max((segment.doc_ids.dtype.itemsize for segment in segments), default=1)
    ontologies: dict[str, int] = {}
    names = [[ontologies.setdefault(name, len(ontologies)) for name in segment.ontologies] for segment in segments]
    every = np.unique(np.concatenate([np.asarray(segment.hashes) for segment in segments]))
    parts: dict[str, list[Array]] = {name: [] for name in _NAMES}
    given: list[_Given] = []
    totals, rows = np.zeros(len(every), np.int64), 0
    for segment, mask, codes in zip(segments, kept, names, strict=True):
        alive = mask[segment.row_doc]
        behind = sum(map(len, parts["doc_ids"]))
        known = 1 if goes_on and behind else 0
        new_doc = np.cumsum(mask) - 1 + behind - known
        parts["doc_ids"].append(segment.doc_ids[mask].astype(f"S{width}")[known:])
        parts["marks"].append(segment.marks[mask][known:])
        parts["doc_ontology"].append(np.array(codes or [0], np.int32)[segment.doc_ontology[mask]][known:])
        parts["doc_code"].append(segment.doc_code[mask][known:])
        parts["row_doc"].append(new_doc[segment.row_doc[alive]].astype(np.int32))
        for name in ("row_chunk", "row_body", "row_head"):
            parts[name].append(getattr(segment, name)[alive])
        given.append(_Given(segment, np.searchsorted(every, segment.hashes), alive, np.cumsum(alive) - 1 + rows))
        totals[given[-1].terms] += given[-1].counts
        rows += int(alive.sum())
    joined = {name: np.concatenate(some) for name, some in parts.items() if some}
    living = totals > 0
    encoded = _words_of(segments, every[living])
    per_doc = np.bincount(joined["row_doc"], minlength=len(joined["doc_ids"]))
    return Segment(
        joined
        | {
            "by_id": np.argsort(joined["doc_ids"], kind="stable").astype(np.int32),
            "doc_first": np.concatenate([[0], np.cumsum(per_doc)]).astype(np.int32),
            "words": np.frombuffer(b"".join(encoded), np.uint8),
            "word_at": np.cumsum([0, *map(len, encoded)]).astype(np.int64),
            "hashes": every[living],
            "post_at": np.concatenate([[0], np.cumsum(totals[living])]).astype(np.int64),
            **_postings(given, totals),
        },
        [*ontologies],
    )


class _Given:
    """What a merged segment gets of another one."""

    def __init__(self, segment: Segment, terms: Array, alive: Array, new_row: Array) -> None:
        self.segment = segment
        self.terms = terms
        """The number of each of its forms among those of all segments."""
        self.passing = alive[segment.post_row]
        self.new_row = new_row.astype(np.int32)
        empty = np.zeros(0, np.int64)
        self.counts = np.add.reduceat(self.passing, segment.post_at[:-1], dtype=np.int64) if len(terms) else empty
        """The number of its postings that are kept, by form: each form of a segment has one at least."""


def _postings(given: Sequence[_Given], totals: Array) -> dict[str, Array]:
    """Return the postings of all, by form. Each is put into its place, some at a time: to sort all of them would take
    much memory."""
    free = np.cumsum(totals) - totals
    found: dict[str, Array] = {
        "post_row": np.empty(int(totals.sum()), np.int32),
        "post_body": np.empty(int(totals.sum()), np.uint8),
        "post_head": np.empty(int(totals.sum()), np.uint8),
    }
    for one in given:  # rows of later segments are higher, so each list stays ascending
        ends = one.segment.post_at
        first = 0
        while first < len(one.terms):
            end = max(first + 1, int(np.searchsorted(ends, ends[first] + MERGED_AT_ONCE, "right")) - 1)
            span = slice(int(ends[first]), int(ends[end]))
            terms, counts, passing = one.terms[first:end], one.counts[first:end], one.passing[span]
            before = np.cumsum(counts) - counts
            places = np.repeat(free[terms] - before, counts) + np.arange(counts.sum())
            found["post_row"][places] = one.new_row[one.segment.post_row[span][passing]]
            for name in ("post_body", "post_head"):
                found[name][places] = getattr(one.segment, name)[span][passing]
            free[terms] += counts
            first = end
    return found


def _words_of(segments: Sequence[Segment], hashes: Array) -> list[bytes]:
    """Return the forms with these hashes, in order."""
    found: list[bytes] = [b""] * len(hashes)
    for segment in segments:
        raw, ends = bytes(segment.words), segment.word_at.tolist()
        at = np.searchsorted(hashes, segment.hashes)
        for term, place in enumerate(at.tolist()):
            if place < len(hashes) and hashes[place] == segment.hashes[term]:
                found[place] = raw[ends[term] : ends[term + 1]]
    return found


# -------------------------------------------------------------------------------------------------------------- files


def save(segment: Segment, folder: Path) -> str:
    """Write a segment to a new file, durably, and return its name. Raises the typed error of an OSError."""
    layout: dict[str, Any] = {"ontologies": segment.ontologies, "arrays": {}}
    arrays, at = segment.arrays(), 0
    for name, values in arrays.items():
        layout["arrays"][name] = (values.dtype.str, len(values), at)
        at += -(-values.nbytes // _ALIGNED) * _ALIGNED
    layout["sum"] = _sum(arrays.values())
    described = json.dumps(layout).encode()
    start = -(-(_HEAD.size + len(described)) // _ALIGNED) * _ALIGNED
    try:
        descriptor, path = tempfile.mkstemp(".new", "segment-", folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_HEAD.pack(_MAGIC, len(described)) + described)
                for name, values in arrays.items():
                    file.seek(start + layout["arrays"][name][2])
                    for piece in _pieces(values):
                        file.write(piece)
                file.truncate(start + at)
                file.flush()
                os.fsync(file.fileno())
            final = Path(path).with_suffix(".words")
            Path(path).rename(final)
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise from_os_error(error, str(folder)) from error
    return final.name


def _sum(arrays: Iterable[Array]) -> str:
    digest = xxhash.xxh3_64()
    for values in arrays:
        for piece in _pieces(values):
            digest.update(piece)
    return digest.hexdigest()


def _pieces(values: Array) -> Iterator[bytes]:
    """Yield the bytes of an array in pieces, since those of a large segment are hundreds of megabytes."""
    for at in range(0, len(values), _WRITTEN):
        yield values[at : at + _WRITTEN].tobytes()


def opened(path: Path, *, verify: bool = False) -> Segment:
    """Map a segment's file. Raises StoreError for what is none and, with ``verify``, for one whose bytes have changed;
    FileNotFoundError for a file that another process replaced."""
    with path.open("rb") as file:
        raw = file.read(_HEAD.size)
        magic, size = _HEAD.unpack(raw) if len(raw) == _HEAD.size else (b"", 0)
        if magic != _MAGIC:
            raise StoreError(f"{path}: no index of words. Delete it: it is made again.")
        layout = json.loads(file.read(size))
        start = -(-(_HEAD.size + size) // _ALIGNED) * _ALIGNED
        whole = np.memmap(file, np.uint8, "r")
    arrays = {}
    for name, (kind, count, at) in layout["arrays"].items():
        dtype = np.dtype(kind)
        span = whole[start + at : start + at + count * dtype.itemsize]
        if len(span) != count * dtype.itemsize:
            raise StoreError(f"{path}: cut off. Delete it: it is made again.")
        arrays[name] = np.asarray(span).view(dtype) if count else np.zeros(0, dtype)
    if verify and _sum(arrays.values()) != layout["sum"]:
        raise StoreError(f"{path}: damaged. Delete it: it is made again.")
    return Segment(arrays, layout["ontologies"], path.name)
