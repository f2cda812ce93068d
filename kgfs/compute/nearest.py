"""The question ``nearest``: which Sources are closest in meaning to some words. Asked by whoever has no model, answered
by the worker, which has the model and its vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgfs.compute.patience import Patience
from kgfs.compute.questions import Message, ask
from kgfs.errors import BadInputError, StoreError

if TYPE_CHECKING:  # numpy, which a mount does not need
    import numpy as np
    import numpy.typing as npt

    from kgfs.stores.vectors.contract import Vectors

ALSO = 1000
"""Sources that can be asked about by name in one question."""
LONGEST_WORDS = 10_000

Place = tuple[str, int]
"""doc_id and chunk index of a Source."""


def nearest(
    run: Path, words: str, ontology: str, limit: int, also: Sequence[Place], patience: Patience
) -> dict[Place, float]:
    """Cosines of the ``limit`` Sources closest to the words, and of those in ``also`` that have a vector. Errors are
    those of :func:`kgfs.compute.questions.ask`."""
    question = {
        "question": "nearest",
        "words": words,
        "ontology": ontology,
        "limit": limit,
        "also": [f"{doc_id}:{chunk}" for doc_id, chunk in also],
    }
    found = ask(run, question, patience)
    try:
        return {(str(doc_id), int(chunk)): float(cosine) for doc_id, chunk, cosine in found}
    except (TypeError, ValueError) as error:
        raise StoreError("The worker's answer has not the form it should have.") from error


def answering(
    embed: Callable[[Sequence[str]], list[npt.NDArray[np.float32]]] | None, vectors: Vectors | None
) -> Callable[[Message], Any]:
    """What answers it in the worker; without ``embed`` or ``vectors`` every question is refused with BadInputError."""

    def answer(question: Message) -> list[tuple[str, int, float]]:
        from kgfs.stores.vectors.contract import Filter

        words, ontology, limit, also = (question.get(name) for name in ("words", "ontology", "limit", "also"))
        if question.get("question") != "nearest" or not isinstance(words, str) or not isinstance(ontology, str):
            raise BadInputError("this question is not known")
        if not isinstance(limit, int) or not isinstance(also, list) or len(also) > ALSO or len(words) > LONGEST_WORDS:
            raise BadInputError("this question is too large")
        if embed is None or vectors is None:
            raise BadInputError("it has no embedding model")
        vector = embed([words])[0][0]
        hits = vectors.query(vector, Filter(kind="source", ontology=ontology), limit)
        known = {hit.item for hit in hits}
        wanted = frozenset(str(item) for item in also) - known
        if wanted:
            hits = hits + vectors.query(vector, Filter(kind="source", items=wanted), len(wanted))
        return [(hit.doc_id, hit.chunk_index, round(hit.score, 6)) for hit in hits]

    return answer
