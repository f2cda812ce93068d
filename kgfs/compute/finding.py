"""The question ``find``: which Sources answer some words, ranked by words and meaning.

A process that searches once asks it: loading the index of words and numpy takes it longer than the search. The worker, which
has both loaded, answers it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import DOCUMENTS, LONGEST_WORDS
from kgfs.compute.questions import Asking, Materials, Message, text_in
from kgfs.errors import BadInputError

NAME = "find"


def find(
    asking: Asking,
    words: str,
    ontology: str,
    doc_ids: Collection[str] | None,
    min_score: float | None,
    patience: Deadline,
) -> Any:
    """Return what a worker found, as plain data; the caller knows its form.

    ``ontology`` is an ontology's id, ``doc_ids`` the only documents to look in; None for all. Raises BadInputError for more
    than DOCUMENTS of them, and the errors of :func:`kgfs.compute.questions.ask`.
    """
    if doc_ids is not None and len(doc_ids) > DOCUMENTS:
        raise BadInputError("This question is too large for the worker.")
    question = {
        "question": NAME,
        "words": words,
        "ontology": ontology,
        "doc_ids": None if doc_ids is None else sorted(doc_ids),
        "min_score": min_score,
        "seconds": patience.left,
    }
    return asking(question, patience)


def answer(materials: Materials, question: Message) -> Any:
    """Return what is found, as plain data. Raises BadInputError where the question is too large or has another form, and where
    this process cannot find."""
    words, ontology = text_in(question, "words"), text_in(question, "ontology")
    doc_ids, least, seconds = (question.get(name) for name in ("doc_ids", "min_score", "seconds"))
    if not isinstance(least, float | int | None) or not isinstance(seconds, float | int):
        raise BadInputError("this question is not known")
    if len(words) > LONGEST_WORDS or not (doc_ids is None or (isinstance(doc_ids, list) and len(doc_ids) <= DOCUMENTS)):
        raise BadInputError("this question is too large")
    if materials.find is None:
        raise BadInputError("it has no index of words")
    return materials.find(words, ontology, None if doc_ids is None else frozenset(map(str, doc_ids)), least, seconds)
