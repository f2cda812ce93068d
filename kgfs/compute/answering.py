"""List the questions that a worker answers, and answer one.

To add a question: a module that asks it and answers it, like ``nearest``, and a row of QUESTIONS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kgfs.compute import nearest
from kgfs.compute.questions import Materials, Message
from kgfs.errors import BadInputError

QUESTIONS: Mapping[str, Callable[[Materials, Message], Any]] = {
    nearest.NAME: nearest.answer,
}
"""The value of a question's ``question`` field → what answers it with plain data. BadInputError refuses it."""


def answering(materials: Materials) -> Callable[[Message], Any]:
    """Return what answers every question of the table with these materials. BadInputError for a question it does not have."""

    def answer(question: Message) -> Any:
        name = question.get("question")
        if not isinstance(name, str) or name not in QUESTIONS:
            raise BadInputError("this question is not known")
        return QUESTIONS[name](materials, question)

    return answer
