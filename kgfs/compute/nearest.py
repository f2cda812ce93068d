"""The question ``nearest``: which Sources are closest in meaning to some words.

A process without a model asks it. The worker, which has the model and its vectors, answers it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from kgfs.compute.deadline import Deadline
from kgfs.compute.questions import Asking, Materials, Message, text_in
from kgfs.errors import BadInputError, StoreError

NAME = "nearest"
ALSO = 1000
"""The number of Sources that one question may name in ``also``."""
DOCUMENTS = 10_000
"""The number of documents that one question may name."""
LONGEST_WORDS = 10_000

ChunkRef = tuple[str, int]
"""The doc_id and chunk index of a Source."""


def nearest(
    asking: Asking,
    words: str,
    ontology: str,
    limit: int,
    also: Sequence[ChunkRef],
    patience: Deadline,
    *,
    doc_ids: Collection[str] | None = None,
    only_known: bool = False,
) -> dict[ChunkRef, float]:
    """Return the cosines of the ``limit`` Sources closest to the words, and of those in ``also`` that have a vector.

    ``ontology`` is an ontology's id. ``doc_ids`` are the only documents to look in; where
    they are more than DOCUMENTS the caller has to leave others out. With ``only_known`` nothing is near to words none of
    which the model's vocabulary has whole. Raises the errors of
    :func:`kgfs.compute.questions.ask`, and StoreError where the answer does not have the expected form.
    """
    question: dict[str, object] = {
        "question": NAME,
        "words": words,
        "ontology": ontology,
        "limit": limit,
        "also": [f"{doc_id}:{chunk}" for doc_id, chunk in also],
    }
    if doc_ids is not None and len(doc_ids) <= DOCUMENTS:
        question["doc_ids"] = sorted(doc_ids)
    if only_known:
        question["only_known"] = True
    found = asking(question, patience)
    try:
        return {(str(doc_id), int(chunk)): float(cosine) for doc_id, chunk, cosine in found}
    except (TypeError, ValueError) as error:
        raise StoreError("The worker's answer has not the form it should have.") from error


def answer(materials: Materials, question: Message) -> list[tuple[str, int, float]]:
    """Return (doc_id, chunk index, cosine) of the Sources that the question asks for.

    Raises BadInputError where the question is too large or has another form, and where no embedding model is
    available.
    """
    from kgfs.stores.vectors.contract import Filter

    words, ontology = text_in(question, "words"), text_in(question, "ontology")
    limit, also = question.get("limit"), question.get("also")
    if not isinstance(limit, int) or not isinstance(also, list) or len(also) > ALSO or len(words) > LONGEST_WORDS:
        raise BadInputError("this question is too large")
    doc_ids = question.get("doc_ids")
    if doc_ids is not None and (not isinstance(doc_ids, list) or len(doc_ids) > DOCUMENTS):
        raise BadInputError("this question is too large")
    embed, vectors = materials.embed, materials.vectors
    if embed is None or vectors is None:
        raise BadInputError(materials.lacks)
    if question.get("only_known") and materials.known is not None:
        asked = re.findall(r"[^\W\d_]+", words)
        if not any(map(materials.known, asked)):
            return []
    vector = embed([words])[0][0]
    within = frozenset(map(str, doc_ids)) if doc_ids is not None else None
    hits = vectors.query(vector, Filter(kind="source", ontology=ontology, doc_ids=within), limit)
    known = {hit.item for hit in hits}
    wanted = frozenset(str(item) for item in also) - known
    if wanted:
        hits = hits + vectors.query(vector, Filter(kind="source", items=wanted), len(wanted))
    return [(hit.doc_id, hit.chunk_index, round(hit.score, 6)) for hit in hits]
