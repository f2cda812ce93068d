"""The question ``likeness``: how close some texts are in meaning to some words, and which of the sentences have a verb.

A process without a model asks it. The worker, which has the models, answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import LONGEST_WORDS
from kgfs.compute.questions import Materials, Message, ask, text_in, texts_in
from kgfs.errors import BadInputError, StoreError

NAME = "likeness"
MOST = 600
"""The number of texts, and of sentences, that one question may have."""


@dataclass(frozen=True, slots=True)
class Likeness:
    cosines: tuple[float, ...]
    """Of each text's best window, in order."""
    verbs: tuple[bool | None, ...]
    """Whether each sentence has a verb; None where no grammar is loaded."""


def likeness(run: Path, words: str, texts: Sequence[str], sentences: Sequence[str], patience: Deadline) -> Likeness:
    """Return the cosines of the texts to the words, and whether the sentences have verbs.

    ``run`` is the home's run folder. Raises the errors of :func:`kgfs.compute.questions.ask`, and StoreError where the
    answer does not have the expected form.
    """
    question = {"question": NAME, "words": words, "texts": list(texts), "sentences": list(sentences)}
    found = ask(run, question, patience)
    try:
        cosines = tuple(float(cosine) for cosine in found["cosines"])
        verbs = tuple(None if verb is None else bool(verb) for verb in found["verbs"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("The worker's answer has not the form it should have.") from error
    if len(cosines) != len(texts) or len(verbs) != len(sentences):
        raise StoreError("The worker's answer has not the form it should have.")
    return Likeness(cosines, verbs)


def answer(materials: Materials, question: Message) -> dict[str, list[Any]]:
    """Return the cosines and verbs that the question asks for.

    Raises BadInputError where the question is too large or has another form, and where no embedding model is
    available.
    """
    words = text_in(question, "words")
    texts, sentences = texts_in(question, "texts"), texts_in(question, "sentences")
    if len(texts) > MOST or len(sentences) > MOST or len(words) > LONGEST_WORDS:
        raise BadInputError("this question is too large")
    if materials.embed is None:
        raise BadInputError(materials.lacks)
    wanted, *rows = materials.embed([words, *texts])
    has_verb = materials.verbs
    return {
        "cosines": [round(float((windows @ wanted[0]).max()), 6) for windows in rows],
        "verbs": [has_verb(sentence) if has_verb else None for sentence in sentences],
    }
