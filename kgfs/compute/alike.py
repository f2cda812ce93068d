"""The question ``alike``: how near some Sources are to each other in meaning.

A process without a model asks it. The worker, which has the vectors, answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import ChunkRef
from kgfs.compute.questions import Asking, Materials, Message
from kgfs.errors import BadInputError, StoreError

if TYPE_CHECKING:  # it is loaded where something is searched
    import numpy as np
    import numpy.typing as npt

NAME = "alike"
MOST = 100
"""The number of Sources that one question may name."""
PARTS = 10_000
"""What a cosine of 1 is in an answer."""


def alike(asking: Asking, places: Sequence[ChunkRef], patience: Deadline) -> npt.NDArray[np.float64]:
    """Return the cosines between these Sources, as a square matrix: those of the means of their windows.

    A Source without a vector has 0 everywhere. Raises the errors of :func:`kgfs.compute.questions.ask`, and StoreError
    where the answer does not have the expected form.
    """
    found = asking({"question": NAME, "items": [f"{doc_id}:{chunk}" for doc_id, chunk in places]}, patience)
    import numpy as np

    try:
        cosines = np.array(found, np.float64) / PARTS
    except (TypeError, ValueError) as error:
        raise StoreError("The worker's answer has not the form it should have.") from error
    if cosines.shape != (len(places), len(places)) or not np.isfinite(cosines).all():
        raise StoreError("The worker's answer has not the form it should have.")
    return cosines


def answer(materials: Materials, question: Message) -> list[list[int]]:
    """Return the matrix of cosines, in PARTS: integers are written and read much faster. Raises BadInputError where the question is too large or has another form."""
    import numpy as np

    from kgfs.stores.vectors.contract import Filter

    items, vectors = question.get("items"), materials.vectors
    if not isinstance(items, list) or len(items) > MOST:
        raise BadInputError("this question is too large")
    if vectors is None:
        raise BadInputError("it has no vectors")
    wanted = [str(item) for item in items]
    sums: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = {}
    for row in vectors.fetch(Filter(kind="source", items=frozenset(wanted))):
        sums[row.item] = sums[row.item] + row.vector if row.item in sums else row.vector
    if not sums:
        return [[0] * len(wanted) for _ in wanted]
    nothing = np.zeros_like(next(iter(sums.values())))
    means = np.stack([sums.get(item, nothing) for item in wanted])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    found: list[list[int]] = np.round(means @ means.T * PARTS).astype(int).tolist()
    return found
