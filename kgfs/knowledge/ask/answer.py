"""An answer: what was asked, the sentences that answer, and the Sources that were looked at. It holds for one epoch.

Places of documents are not part of it, since they change without an epoch; ``page`` adds them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from kgfs.domain.places import Locator


class State(StrEnum):
    PENDING = "pending"
    DONE = "done"
    NOT_FOUND = "not_found"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Place:
    """A span of the Text of a document, and the Source that it begins in."""

    doc_id: str
    chunk_id: str
    chunk_index: int
    char_start: int
    char_end: int
    line_start: int
    line_end: int
    page: int | None
    section_path: tuple[str, ...]
    first: Locator = field(default_factory=dict)
    last: Locator = field(default_factory=dict)
    """Where in the original it begins and ends: page, slide, sheet and row, message or cell."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that answers. ``text`` is exactly the characters of its place."""

    place: Place
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Looked:
    """A Source that was looked at."""

    place: Place
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that a language model wrote, and that Sources bear out."""

    text: str
    chunk_ids: tuple[str, ...]
    quotes: tuple[int, ...]
    """The numbers of the answer's quotes that it rests on."""
    line: int
    """The line of the answer that it stands in."""


@dataclass(frozen=True, slots=True)
class Answer:
    question: str
    ontology: str
    """The id of the ontology that was asked; '' for all."""
    state: State
    quotes: tuple[Quote, ...] = ()
    """By document, the best first; of one document in order of the Text, but the best sentence first."""
    looked: tuple[Looked, ...] = ()
    """Best first."""
    epoch: int = 0
    """The epoch of the graph that the answer is of."""
    asked_at: int = 0
    """Nanoseconds."""
    only_text: str = ""
    """Why meanings were not compared; '' where they were."""
    surety: float = 0.0
    """How surely the Sources answer: above 0 where they are taken to."""
    missing: tuple[str, ...] = ()
    """Words of the question that stand nowhere near the best sentences, the heaviest first."""
    reason: str = ""
    """Why it failed, or why nothing is left of what a language model wrote."""
    statements: tuple[Statement, ...] = ()
    """What a language model answered; none where the quotes alone do."""
    model: str = ""
    """The language model that answered; '' where none did."""
    trouble: str = ""
    """Why the language model did not answer; '' where it did, or where none is configured."""
    invalid: tuple[str, ...] = ()
    """Ids that the model cited and was not shown."""
    intent: dict[str, Any] | None = None
    """What the question is after, and by what more than its words it was looked for."""

    @property
    def doc_ids(self) -> frozenset[str]:
        """Return the documents that the answer has text of."""
        return frozenset(place.doc_id for place in self.places)

    @property
    def places(self) -> list[Place]:
        """Return the places of all that it quotes and looked at."""
        return [*(quote.place for quote in self.quotes), *(looked.place for looked in self.looked)]


def as_data(answer: Answer) -> dict[str, Any]:
    """Return the answer as plain data for JSON."""
    return asdict(answer)


def from_data(data: dict[str, Any]) -> Answer:
    """Return the answer of plain data. Raises KeyError, TypeError and ValueError where they are none."""
    known = {item.name for item in fields(Answer)}
    plain = {name: value for name, value in data.items() if name in known}
    return Answer(
        **plain
        | {
            "state": State(plain["state"]),
            "quotes": tuple(Quote(_place(one["place"]), one["text"], one["score"]) for one in plain["quotes"]),
            "looked": tuple(Looked(_place(one["place"]), one["text"], one["score"]) for one in plain["looked"]),
            "missing": tuple(plain["missing"]),
            "statements": tuple(
                Statement(one["text"], tuple(one["chunk_ids"]), tuple(one["quotes"]), one["line"])
                for one in plain.get("statements", ())
            ),
            "invalid": tuple(plain.get("invalid", ())),
        }
    )


def _place(data: dict[str, Any]) -> Place:
    return Place(**data | {"section_path": tuple(data["section_path"])})
