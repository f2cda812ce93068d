"""The stages from bytes to concepts, as the worker runs them, without stores."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kgfs.compute.local import LocalCompute
from kgfs.domain.knowledge import FoundConcept, FoundRelationship
from kgfs.domain.languages import ENGLISH
from kgfs.domain.text import Chunk, Text
from kgfs.formats.table import parse
from kgfs.ingest.reading.as_prose import prose_only
from kgfs.ingest.reading.chunk import chunk
from kgfs.ingest.reading.defined import with_definitions
from kgfs.ingest.reading.examples import without_examples
from kgfs.ingest.reading.gate import furniture_of, judge_all
from kgfs.ingest.reading.passages import language_told, passages_of
from kgfs.ingest.reading.rank import Vectors, rank, ranking
from kgfs.ingest.reading.validate import validate
from kgfs.settings import Models, Pipeline
from kgfs.stores.batched import batched


@dataclass(frozen=True, slots=True)
class Found:
    text: Text
    concepts: tuple[FoundConcept, ...]
    relationships: tuple[FoundRelationship, ...]
    ranking: Sequence[str]
    """The labels of all candidates, the likeliest first, before any is left out."""
    passed: Sequence[Chunk] = ()
    """The chunks that carry knowledge."""


class Pipe:
    def __init__(self, models: Models, settings: Pipeline, compute: LocalCompute | None = None) -> None:
        self.compute = compute or LocalCompute(models)
        self.settings = settings
        self.seconds: Counter[str] = Counter()

    def read(self, path: Path) -> Found:
        compute, settings = self.compute, self.settings
        with _Timed(self.seconds, "parse, chunk, gate"):
            text = parse(path.name, path.read_bytes())
            chunks = chunk(text, compute.tokens, settings.chunk_tokens, settings.overlap_tokens)
            language = language_told(text)
            verdicts = judge_all(text, chunks, verbs=compute.verbs if language in ("", ENGLISH) else None)
            passed = [piece for piece, verdict in zip(chunks, verdicts, strict=True) if verdict.passed]
            words = prose_only(text.media_type, text.text)
            passages = list(passages_of(text.title, words, passed, language, furniture_of(text)))
        with _Timed(self.seconds, "extract"):
            raw = compute.extract(passages, ())
        with _Timed(self.seconds, "validate, rank"):
            valid = [validate(compute.parse(output), words, piece) for output, piece in zip(raw, passed, strict=True)]
            windows = [rows for batch in batched(passages, 64) for rows in compute.embed([one.text for one in batch])]
            if not passages:
                return Found(text, (), (), [])

            def meaning(labels: Sequence[str]) -> tuple[Vectors, Vectors]:
                return np.stack([rows[0] for rows in compute.embed(labels)]), np.concatenate(windows)

            concepts, relationships = rank(text.title, passed, valid, settings.concepts_per_document, meaning)
            concepts = without_examples(text, with_definitions(text, passed, concepts))
            ranked = ranking(text.title, valid, meaning)
        return Found(text, concepts, relationships, ranked, passed)


class _Timed:
    def __init__(self, seconds: Counter[str], stage: str) -> None:
        self._seconds, self._stage = seconds, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._stage] += time.perf_counter() - self._start  # type: ignore[assignment]
