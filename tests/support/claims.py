"""Claims made by hand or by rule, so that what follows from them is tested without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np

from kgfs.domain.knowledge import FoundClaim, Quote
from kgfs.domain.text import Chunk
from kgfs.ingest import pipeline
from kgfs.ingest.reading.draft import Draft
from kgfs.ingest.reading.embeddings import Embeddings, key_of
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading

MODEL = "by-hand"


@dataclass(frozen=True)
class Told:
    """A claim that a document makes; ``quote`` stands in its text, or nowhere if the claim was refused for that."""

    claim: str
    quote: str
    actor: str = "Acme"
    role: str = "metric"
    timeframe: str = "2024"
    rejected: str = ""


def found(text: str, chunks: Sequence[Chunk], told: Told, after: int = 0) -> FoundClaim:
    start = text.find(told.quote, after)
    chunk = max((one.index for one in chunks if one.start <= start), default=0)
    quote = Quote(start, start + len(told.quote), chunk) if start >= 0 else None
    assert quote or told.rejected
    return FoundClaim(
        claim=told.claim,
        role=told.role,
        domain="growth",
        actor=told.actor,
        actor_class="company",
        timeframe=told.timeframe,
        timeframe_class="explicit",
        time_horizon="past",
        scope="tactical",
        authority="high",
        confidence=0.9,
        quote=quote,
        rejected=told.rejected,
    )


def with_claims(
    objects: Objects, reading: Reading, text: str, told: Sequence[Told], vectors: Mapping[str, Sequence[float]]
) -> Reading:
    """Return the Reading with these claims; with ``vectors`` by claim, in the garage too."""
    claims = tuple(found(text, reading.chunks, one) for one in told)
    if not vectors:
        return replace(reading, claims=claims)
    rows = np.array([vectors[one.claim] for one in told if not one.rejected], np.float32)
    none, numbers = np.zeros((0, 0), np.float32), np.zeros(0, np.int32)
    labels = np.zeros((len(reading.concepts), rows.shape[1]), np.float32)
    raw = Embeddings(none, numbers, numbers, labels, rows).encode()
    key = key_of(reading.doc_id, raw)
    objects.put(key, raw)
    return replace(reading, claims=claims, vectors_key=key, embedding_model=MODEL)


_SENTENCE = re.compile(r"(Zen|A koan|Garbage collection|Direct experience) (is|uses|reclaims|comes) [^.]*\.")
_ROLES = {"is": "definition", "uses": "causal_claim", "reclaims": "heuristic", "comes": "instruction"}


def _claim(draft: Draft) -> None:
    """Make claims of certain sentences, whatever the document; those of *Direct experience* are refused."""
    text = draft.parsed.text
    draft.claims = tuple(
        found(
            text,
            draft.chunks,
            Told(
                f"In 2024 {sentence[0]}",
                sentence[0],
                sentence[1],
                _ROLES[sentence[2]],
                rejected="shorter than 20 tokens" if sentence[1].startswith("Direct") else "",
            ),
            sentence.start(),
        )
        for sentence in _SENTENCE.finditer(text)
    )


@contextmanager
def claimed_by_rule() -> Iterator[None]:
    """Have every document that is read meanwhile, here and in no other process, make claims."""

    def ranked(draft: Draft) -> None:
        stage.run(draft)
        _claim(draft)

    stage = next(one for one in pipeline.READING if one.name == "rank")
    reading = tuple(replace(one, run=ranked) if one is stage else one for one in pipeline.READING)
    with patch.object(pipeline, "READING", reading):
        yield
