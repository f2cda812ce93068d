"""The table of the questions that a worker answers, and the function that dispatches to it.

To add a question, write a module that asks and answers it, as ``nearest`` does, and add a row to QUESTIONS.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kgfs.compute import alike, completing, finding, likeness, matching, nearest, timing
from kgfs.compute.questions import Materials, Message
from kgfs.errors import BadInputError

QUESTIONS: Mapping[str, Callable[[Materials, Message], Any]] = {
    nearest.NAME: nearest.answer,
    likeness.NAME: likeness.answer,
    matching.NAME: matching.answer,
    alike.NAME: alike.answer,
    finding.NAME: finding.answer,
    completing.NAME: completing.answer,
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


class Answers:
    """Answers questions with materials that may be changed meanwhile. Any thread may call.

    What is asked while a question is answered, in the same thread, is answered with the same materials.
    """

    def __init__(self) -> None:
        self._materials = Materials(None, None)
        self._using: dict[int, int] = {}
        """Number of the materials → questions that are being answered with them."""
        self._number = 0
        self._changed = threading.Condition()
        self._last = 0.0
        """When a question was answered last, in monotonic seconds."""
        self._local = threading.local()

    @property
    def are_wanted(self) -> bool:
        """Return whether a question is being answered, or the next one of the same asker may be on its way."""
        with self._changed:
            return bool(self._using) or time.monotonic() - self._last < timing.QUESTION_FOLLOWS

    def change(self, materials: Materials, patience: float) -> None:
        """Answer with these materials from now on.

        Return when no question is being answered with the former ones, or after ``patience`` seconds.
        """
        with self._changed:
            former, self._number = self._number, self._number + 1
            self._materials = materials
            self._changed.wait_for(lambda: not any(at <= former for at in self._using), patience)

    def __call__(self, question: Message) -> Any:
        if question.get("question") == completing.NAME:  # it waits for a server, and needs none of the stores
            with self._changed:
                materials = self._materials
            return answering(materials)(question)
        with self._held() as materials:
            return answering(materials)(question)

    @contextmanager
    def _held(self) -> Iterator[Materials]:
        held: Materials | None = getattr(self._local, "materials", None)
        if held is not None:
            yield held
            return
        with self._changed:
            number, materials = self._number, self._materials
            self._using[number] = self._using.get(number, 0) + 1
        self._local.materials = materials
        try:
            yield materials
        finally:
            self._local.materials = None
            with self._changed:
                self._using[number] -= 1
                self._last = time.monotonic()
                if not self._using[number]:
                    del self._using[number]
                self._changed.notify_all()
