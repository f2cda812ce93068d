"""The table of the questions that a worker answers, and the function that dispatches to it.

To add a question, write a module that asks and answers it, as ``nearest`` does, and add a row to QUESTIONS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kgfs.compute import alike, likeness, matching, nearest
from kgfs.compute.questions import Materials, Message
from kgfs.errors import BadInputError

QUESTIONS: Mapping[str, Callable[[Materials, Message], Any]] = {
    nearest.NAME: nearest.answer,
    likeness.NAME: likeness.answer,
    matching.NAME: matching.answer,
    alike.NAME: alike.answer,
}
"""The value of a question's ``question`` field → the function that answers it with plain data. The function raises
BadInputError to refuse a question."""


def answering(materials: Materials) -> Callable[[Message], Any]:
    """Return a function that answers every question of QUESTIONS with these materials.

    The function raises BadInputError for a question that QUESTIONS does not list.
    """

    def answer(question: Message) -> Any:
        name = question.get("question")
        if not isinstance(name, str) or name not in QUESTIONS:
            raise BadInputError("this question is not known")
        return QUESTIONS[name](materials, question)

    return answer
