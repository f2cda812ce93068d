"""The question ``match``: all Sources of some documents that are at least so close in meaning to words or to a vector.

Every vector is compared. A process without a model asks it; the worker, which has the model and its vectors, answers it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import LONGEST_WORDS, ChunkRef
from kgfs.compute.questions import Materials, Message, ask
from kgfs.errors import BadInputError, StoreError

if TYPE_CHECKING:  # numpy, which a mount does not need
    from kgfs.stores.vectors.contract import Vector

NAME = "match"
DOCUMENTS = 30_000
"""The number of documents that one question may name. More of them are several questions."""
MOST = 10_000
"""The most Sources that one answer has."""
DIMENSIONS = 8192


def matching(
    run: Path,
    wanted: str | Sequence[float],
    ontology: str,
    doc_ids: frozenset[str] | None,
    equal: Mapping[str, str],
    limit: int,
    threshold: float,
    patience: Deadline,
) -> list[tuple[ChunkRef, float]]:
    """Return the ``limit`` Sources closest to words or a vector, with their cosines of at least ``threshold``, best first.

    Where ``equal`` wants the source_variant ``normalized`` they are claims instead, each as (doc_id, ordinal).
    ``doc_ids`` are the only documents to look in, None for all; ``equal`` as in ``vectors.contract.Filter``. Ties are in order
    of document and chunk. Raises the errors of :func:`kgfs.compute.questions.ask`, and StoreError where the answer does not have
    the expected form.
    """
    found: list[tuple[ChunkRef, float]] = []
    for some in [None] if doc_ids is None else _parts(doc_ids):
        question = {
            "question": NAME,
            "wanted": wanted if isinstance(wanted, str) else [float(value) for value in wanted],
            "ontology": ontology,
            "doc_ids": some,
            "equal": dict(equal),
            "limit": limit,
            "threshold": threshold,
        }
        try:
            found += [
                ((str(doc_id), int(chunk)), float(cosine)) for doc_id, chunk, cosine in ask(run, question, patience)
            ]
        except (TypeError, ValueError) as error:
            raise StoreError("The worker's answer has not the form it should have.") from error
    return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]


def _parts(doc_ids: frozenset[str]) -> Iterator[list[str]]:
    waiting = iter(sorted(doc_ids))
    while some := list(islice(waiting, DOCUMENTS)):
        yield some


def answer(materials: Materials, question: Message) -> list[tuple[str, int, float]]:
    """Return (doc_id, chunk index, cosine) of the Sources that the question asks for; of claims, their ordinals stand for chunks.

    Raises BadInputError where the question is too large or has another form, where the vector is not of the model, and where
    no embedding model is available.
    """
    from kgfs.stores.vectors.contract import Filter

    wanted, ontology, doc_ids, equal = (question.get(name) for name in ("wanted", "ontology", "doc_ids", "equal"))
    limit, threshold = question.get("limit"), question.get("threshold")
    if not isinstance(ontology, str) or not isinstance(equal, dict) or not isinstance(threshold, int | float):
        raise BadInputError("this question is not known")
    if not isinstance(limit, int) or not 1 <= limit <= MOST or (isinstance(doc_ids, list) and len(doc_ids) > DOCUMENTS):
        raise BadInputError("this question is too large")
    if materials.vectors is None:
        raise BadInputError(materials.lacks)
    where = Filter(
        kind="claim" if equal.get("source_variant") == "normalized" else "source",
        ontology=ontology,
        doc_ids=frozenset(map(str, doc_ids)) if isinstance(doc_ids, list) else None,
        equal={str(name): str(value) for name, value in equal.items()},
    )
    hits = materials.vectors.query(_vector(materials, wanted), where, limit, float(threshold), exact=True)
    if where.kind == "claim":
        return [(hit.doc_id, int(hit.item.rpartition(":")[2]), round(hit.score, 6)) for hit in hits]
    return [(hit.doc_id, hit.chunk_index, round(hit.score, 6)) for hit in hits]


def _vector(materials: Materials, wanted: object) -> Vector:
    import numpy as np

    if isinstance(wanted, str):
        if len(wanted) > LONGEST_WORDS:
            raise BadInputError("this question is too large")
        if materials.embed is None:
            raise BadInputError(materials.lacks)
        first: Vector = materials.embed([wanted])[0][0]
        return first
    if not isinstance(wanted, list) or not 1 <= len(wanted) <= DIMENSIONS:
        raise BadInputError("this question is not known")
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in wanted) or not any(wanted):
        raise BadInputError("a vector has finite numbers, and not zeros alone")
    vector: Vector = np.array(wanted, np.float32)
    vector /= np.linalg.norm(vector)
    return vector
