"""The question ``complete``: what a language model answers to a question, given Sources, or what the question is after.

The worker, which has the model's client with its limits and its key, composes the prompt, asks and keeps the Record. The asking
process checks the answer: nothing in it is believed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import LONGEST_WORDS
from kgfs.compute.questions import SLOW, Materials, Message, ask, text_in, texts_in
from kgfs.errors import BadInputError, StoreError

NAME = SLOW
ANSWERED = "answer"
"""The outcome of a request that the model answered."""
MOST = 40
"""The number of blocks that one request may have."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the model is asked."""

    kind: str
    """``answer`` or ``intent``."""
    words: str
    """The question."""
    blocks: tuple[str, ...] = ()
    """What stands above it, the most useful first: Sources below their headers, or what is known. As many are shown as fit."""
    hint: str = ""
    """What is added when it is asked again."""
    doc_ids: tuple[str, ...] = ()
    """The documents that the blocks are of. With any of them the Record is purged."""
    claims: tuple[tuple[str, int], ...] = ()
    """The ``chunk_id`` of each block, and the number of claims in it."""


@dataclass(frozen=True, slots=True)
class Completion:
    outcome: str
    """ANSWERED, or what else came: refusal, empty, length, rejected, fault."""
    text: str
    reason: str
    """What went wrong, for people."""
    model: str
    shown: tuple[int, ...]
    """The blocks that the model was shown."""
    intent: Mapping[str, Any] | None = None
    """What the answer says, for the kind ``intent``."""


def complete(run: Path, request: Request, patience: Deadline) -> Completion:
    """Return what the language model answers. ``run`` is the home's run folder.

    Raises the errors of :func:`kgfs.compute.questions.ask`: StoreError where the worker has no model or refuses; and
    StoreError where the answer does not have the expected form.
    """
    found = ask(run, {"question": NAME, **asdict(request), "seconds": patience.left}, patience)
    try:
        outcome, text, reason, model = (str(found[name]) for name in ("outcome", "text", "reason", "model"))
        return Completion(outcome, text, reason, model, tuple(map(int, found["shown"])), found.get("intent"))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("The worker's answer has not the form it should have.") from error


def answer(materials: Materials, question: Message) -> dict[str, Any]:
    """Return what the model answers, as plain data. Raises BadInputError where the question is too large or has another form,
    and where the worker has no language model."""
    kind, words, hint = (text_in(question, name) for name in ("kind", "words", "hint"))
    blocks, doc_ids = (tuple(texts_in(question, name)) for name in ("blocks", "doc_ids"))
    seconds = question.get("seconds")
    if not isinstance(seconds, float | int):
        raise BadInputError("this question is not known")
    if len(words) > LONGEST_WORDS or len(blocks) > MOST:
        raise BadInputError("this question is too large")
    if materials.complete is None:
        raise BadInputError("it has no language model")
    request = Request(kind, words, blocks, hint, doc_ids, _counts(question.get("claims")))
    return asdict(materials.complete(request, float(seconds)))


def _counts(value: Any) -> tuple[tuple[str, int], ...]:
    try:
        return tuple((str(chunk_id), int(number)) for chunk_id, number in value)
    except (TypeError, ValueError) as error:
        raise BadInputError("this question is not known") from error
