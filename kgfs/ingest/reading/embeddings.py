"""The vectors of a Reading, stored as one ``.npz`` object of the garage.

The arrays are ``windows`` with ``window_chunks`` and ``window_numbers`` (the Source of each window, and its number
within the Source), ``concepts`` in the order of the Reading's concepts and, where there are any, ``claims`` in the order of
its valid claims.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from kgfs.compute.contract import Compute
from kgfs.domain.knowledge import FoundClaim, FoundConcept
from kgfs.domain.text import Chunk, Verdict
from kgfs.errors import MissingError, StoreError
from kgfs.stores.batched import batched
from kgfs.stores.garage.contract import Objects, Reader
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.readings import FOUNDING, Decisions, Reading, later_vectors
from kgfs.stores.vectors.contract import Row, Vectors, unit

Windows = list[tuple[int, npt.NDArray[np.float32]]]
"""(chunk index, vectors of its windows) per Source."""

ByText = dict[str, npt.NDArray[np.float32]]
"""Text of a Source → vectors of its windows."""

Labels = dict[str, npt.NDArray[np.float32]]
"""Label → its vector."""

BATCH = 64
"""Sources embedded per call."""
LARGE = 1 << 22
"""Bytes of vectors from which on they are stored by way of a file."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of a Reading, one row per window, one per concept and one per valid claim."""

    windows: npt.NDArray[np.float32]
    window_chunks: npt.NDArray[np.int32]
    window_numbers: npt.NDArray[np.int32]
    concepts: npt.NDArray[np.float32]
    claims: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def encode(self) -> bytes:
        """Return the vectors as the bytes of an ``.npz`` file."""
        out = io.BytesIO()
        _write(out, windows_of(self), list(self.concepts), list(self.claims))
        return out.getvalue()


def key_of(doc_id: str, encoded: bytes) -> str:
    """Return the garage key of encoded vectors of a document."""
    return _key(doc_id, hashlib.sha256(encoded).hexdigest())


def _key(doc_id: str, sha256: str) -> str:
    return f"vectors/{doc_id}/{sha256[:32]}.npz"


def put(
    objects: Objects,
    compute: Compute,
    doc_id: str,
    windows: Windows,
    concepts: Sequence[FoundConcept],
    known: Labels,
    claims: Sequence[FoundClaim] = (),
) -> str:
    """Store the vectors of a Reading of a document, and return their key. They are durable then.

    Vectors of labels that are not ``known`` are computed, and put there. Many vectors are written to a file first, so that
    they are not held twice.
    """
    labels = _vectors_of_labels(compute, concepts, known)
    claimed = vectors_of_claims(compute, claims)
    size = sum(rows.nbytes for _, rows in windows) + sum(row.nbytes for row in (*labels, *claimed))
    if size < LARGE:
        out = io.BytesIO()
        _write(out, windows, labels, claimed)
        key = key_of(doc_id, out.getvalue())
        objects.put(key, out.getvalue())
        return key
    # It has no name, so that a kill leaves nothing of it.
    with os_errors(f"writing the vectors of {doc_id}"), tempfile.TemporaryFile() as file:
        _write(file, windows, labels, claimed)
        file.flush()
        file.seek(0)
        key = _key(doc_id, hashlib.file_digest(file, "sha256").hexdigest())
        objects.put(key, Path(f"/proc/self/fd/{file.fileno()}"))
    return key


def _vectors_of_labels(
    compute: Compute, concepts: Sequence[FoundConcept], known: Labels
) -> list[npt.NDArray[np.float32]]:
    """Return the vectors of the concepts' labels. Those that are not ``known`` are computed, and put there."""
    missing = [concept.label for concept in concepts if concept.label not in known]
    if missing:
        known |= {label: rows[0] for label, rows in zip(missing, compute.embed(missing), strict=True)}
    return [known[concept.label] for concept in concepts]


def vectors_of_claims(compute: Compute, claims: Sequence[FoundClaim]) -> list[npt.NDArray[np.float32]]:
    """Return the vectors of the valid ones of these claims: of those that are rejected nothing is found."""
    texts = [claim.claim for claim in claims if not claim.rejected]
    return [rows[0] for some in batched(texts, BATCH) for rows in compute.embed(some)]


def _write(
    out: IO[bytes],
    windows: Windows,
    labels: Sequence[npt.NDArray[np.float32]],
    claims: Sequence[npt.NDArray[np.float32]],
) -> None:
    """Write the bytes that :meth:`Embeddings.encode` returns for these."""
    chunks = np.array([index for index, rows in windows for _ in range(len(rows))], np.int32)
    numbers = np.array([number for _, rows in windows for number in range(len(rows))], np.int32)
    rows = len(chunks)
    arrays: tuple[tuple[str, tuple[int, ...], Iterable[npt.NDArray[Any]]], ...] = (
        ("windows", (rows, windows[0][1].shape[1] if windows else 0), (part for _, part in windows)),
        ("window_chunks", (rows,), (chunks,)),
        ("window_numbers", (rows,), (numbers,)),
        ("concepts", (len(labels), len(labels[0]) if labels else 0), labels),
        *([("claims", (len(claims), len(claims[0])), claims)] if claims else []),
    )
    with zipfile.ZipFile(out, "w", allowZip64=True) as archive:
        for name, shape, parts in arrays:
            kind = np.dtype(np.int32 if len(shape) == 1 else np.float32)
            header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_1_0(file, header)
                for part in parts:
                    file.write(np.ascontiguousarray(part, kind).tobytes())


def embedded_text(context: str, content: str) -> str:
    """Return exactly what is embedded of a Source [CITE 1.2]. ``context`` is what a language model says of its document."""
    return f"{context}\n\n{content}" if context else content


def compute_windows(
    compute: Compute,
    text: str,
    chunks: Sequence[Chunk],
    verdicts: Sequence[Verdict],
    known: ByText,
    context: str = "",
) -> Windows:
    """Return the windows of every Source that passed the gate.

    The ``context`` that a language model gave stands before each text. The model is asked only for texts that are not ``known``.
    """
    found: dict[int, npt.NDArray[np.float32]] = {}
    waiting: dict[str, list[int]] = {}  # few texts at a time: all Sources of a document are as long as its Text

    def ask() -> None:
        for indices, rows in zip(waiting.values(), compute.embed(list(waiting)), strict=True):
            found.update(dict.fromkeys(indices, rows))
        waiting.clear()

    for chunk, verdict in zip(chunks, verdicts, strict=True):
        if not verdict.passed:
            continue
        words = embedded_text(context, text[chunk.start : chunk.end])
        if words in known:
            found[chunk.index] = known[words]
            continue
        waiting.setdefault(words, []).append(chunk.index)
        if len(waiting) == BATCH:
            ask()
    if waiting:
        ask()
    return sorted(found.items(), key=lambda one: one[0])


def mean_of(windows: Windows) -> npt.NDArray[np.float32]:
    """Return one row, the mean of the rows of all windows, of which there is at least one. They are not copied."""
    total = np.zeros(windows[0][1].shape[1], np.float32)
    count = 0
    for _, rows in windows:
        count += len(rows)
        for row in rows:
            total += row
    return (total / np.float32(count))[np.newaxis]


def windows_of(kept: Embeddings) -> Windows:
    """Return the result of :func:`compute_windows` for a Reading whose stored vectors are ``kept``."""
    starts = np.flatnonzero(kept.window_numbers == 0)
    parts = np.split(kept.windows, starts[1:]) if len(starts) else []
    return [(int(kept.window_chunks[start]), rows) for start, rows in zip(starts, parts, strict=True)]


def assemble(
    compute: Compute,
    windows: Windows,
    concepts: Sequence[FoundConcept],
    known: Labels | None = None,
    claims: Sequence[FoundClaim] = (),
) -> Embeddings:
    """Return ``windows`` together with vectors of the concepts' labels and of the valid claims. Vectors of ``known`` labels are not computed
    again."""
    labels = _vectors_of_labels(compute, concepts, dict(known or {}))
    claimed = vectors_of_claims(compute, claims)
    return Embeddings(
        windows=np.concatenate([rows for _, rows in windows]) if windows else np.zeros((0, 0), np.float32),
        window_chunks=np.array([index for index, rows in windows for _ in range(len(rows))], np.int32),
        window_numbers=np.array([number for _, rows in windows for number in range(len(rows))], np.int32),
        concepts=np.stack(labels) if labels else np.zeros((0, 0), np.float32),
        claims=np.stack(claimed) if claimed else np.zeros((0, 0), np.float32),
    )


def load(
    objects: Objects, reading: Reading, model: str = "", *, labels: bool = True, windows: bool = True
) -> Embeddings | None:
    """Return the Reading's vectors by ``model`` or, without one, by the model that the Reading was made with.

    None where the Reading was made without an embedder, or has no vectors by that model. A Reading that was not shown
    when it got vectors by a later model has no windows by it. Without ``labels``, or without ``windows``, these are not
    read, and are empty. Raise StoreError for an object that cannot be decoded.
    """
    if not model or model == reading.embedding_model:
        return _decoded(objects, reading.vectors_key, labels, windows) if reading.vectors_key else None
    labels_key, windows_key = later_vectors(reading.doc_id, reading.id, model)
    if not objects.exists(labels_key):
        return None
    of_labels = _decoded(objects, labels_key, labels, windows)
    if not windows or not objects.exists(windows_key):
        return of_labels
    return replace(_decoded(objects, windows_key, labels, windows), concepts=of_labels.concepts)


def claim_vectors(objects: Objects, reading: Reading) -> list[bytes]:
    """Return the vectors of a Reading's valid claims as the graph keeps them, in two bytes a number, which change a cosine by less
    than 0.001; none without a model, and where they are lost."""
    if not any(not claim.rejected for claim in reading.claims):
        return []
    try:
        found = load(objects, reading, labels=False, windows=False)
    except MissingError:
        return []
    return [unit(row, "a claim").astype("<f2").tobytes() for row in found.claims] if found is not None else []


def _decoded(objects: Objects, key: str, labels: bool, windows: bool) -> Embeddings:
    nothing, numbers = np.zeros((0, 0), np.float32), np.zeros(0, np.int32)
    try:
        with closing(objects.open(key)) as reader, np.load(_Opened(reader), allow_pickle=False) as arrays:
            return Embeddings(
                arrays["windows"] if windows else nothing,
                arrays["window_chunks"] if windows else numbers,
                arrays["window_numbers"] if windows else numbers,
                arrays["concepts"] if labels else nothing,
                arrays.get("claims", nothing),
            )
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise StoreError(f"{key}: not the vectors of a Reading ({error}).") from error


class _Opened(io.RawIOBase):
    """An object of the garage as a file, so that its arrays are read one by one."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._reader.sums.size}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._reader.sums.size - self._at)
        length = left if size is None or size < 0 else min(size, left)
        found = self._reader.read_at(self._at, length) if length else b""
        self._at += len(found)
        return found


def payloads(graph: Graph, vectors: Vectors, doc_id: str) -> dict[int, dict[str, Any]]:
    """Return chunk index → extra row fields that ``vectors`` stores, for each Source that the graph shows of a
    document."""
    found: dict[int, dict[str, Any]] = {}
    document = graph.document(doc_id)
    if document is None or not vectors.keeps_payload:
        return found
    of_document = {"content_hash": document.content_hash, "total_chunks": document.chunk_count}
    while rows := graph.sources(doc_id, max(found, default=-1)):
        for row in rows:
            place = {"chunk_start_char": row.char_start, "chunk_end_char": row.char_end}
            text = {"content": row.full_text} if vectors.keeps_content else {}
            found[row.chunk_index] = of_document | place | text
    return found


def source_rows(
    embeddings: Embeddings, ontology: str, doc_id: str, payloads: Mapping[int, Mapping[str, Any]] = MappingProxyType({})
) -> list[Row]:
    """Return one row per window of a Source; its item is ``<doc_id>:<chunk index>``."""
    chunks, numbers = embeddings.window_chunks.tolist(), embeddings.window_numbers.tolist()
    return [
        Row("source", f"{doc_id}:{chunk}", number, vector, ontology, doc_id, chunk, **payloads.get(chunk, {}))
        for vector, chunk, number in zip(embeddings.windows, chunks, numbers, strict=True)
    ]


def claim_rows(ontology: str, reading: Reading, found: Embeddings) -> list[Row]:
    """Return one row per valid claim; its item is ``<doc_id>:<ordinal>``. None where the vectors were made before the claims."""
    valid = [(ordinal, claim) for ordinal, claim in enumerate(reading.claims) if not claim.rejected]
    if len(found.claims) != len(valid):
        return []
    return [
        Row(
            kind="claim",
            item=f"{reading.doc_id}:{ordinal}",
            window=0,
            vector=vector,
            ontology=ontology,
            doc_id=reading.doc_id,
            chunk_index=claim.quote.chunk if claim.quote else -1,
            source_variant="normalized",
            role=claim.role,
            domain=claim.domain,
            authority=claim.authority,
        )
        for (ordinal, claim), vector in zip(valid, found.claims, strict=True)
    ]


def concept_rows(ontology: str, reading: Reading, decisions: Decisions, found: Embeddings) -> list[Row]:
    """Return a row with the label vector for each concept that these decisions about the Reading founded or renamed."""
    index = {concept.norm: at for at, concept in enumerate(reading.concepts)}
    return [
        Row("concept", matched.concept_id, 0, found.concepts[index[matched.norm]].copy(), ontology)
        for matched in decisions.concepts
        if matched.how in FOUNDING
    ]
