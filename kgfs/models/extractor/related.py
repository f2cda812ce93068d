"""The relationships of a passage: typed ones, and pairs of labels that sentences say together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.domain.knowledge import BOUND, TOGETHER
from kgfs.models.extractor.assertions import is_readable
from kgfs.models.extractor.bound import is_bound, is_counted
from kgfs.models.extractor.noun_phrases import Phrase
from kgfs.models.extractor.typed import typed

if TYPE_CHECKING:
    from spacy.tokens import Span


@dataclass(frozen=True, slots=True)
class Stated:
    """A relationship that one sentence says. Both ends are keys of labels."""

    subject: str
    type: str
    object: str
    confidence: float


def stated_by(
    sentence: Span,
    labels: Mapping[Phrase, str],
    is_end: Callable[[str], bool] = lambda key: True,
    is_likely: Callable[[str], bool] = lambda key: False,
    *,
    topic: bool = False,
) -> Iterator[Stated]:
    """Yield the relationships between the labels of one sentence.

    ``labels`` are the keys of its labels by their tokens, ``first:end`` of the Doc. A typed relationship needs a label
    that is the whole phrase, and of which ``is_end`` holds. Two labels that do not overlap give one RELATED_TO, with
    confidence BOUND if the grammar binds them, else TOGETHER, unless a typed relationship joins them. Of labels inside
    a longer one only those count of which ``is_likely`` holds. The topic of an agenda binds all that it names.
    """
    joined: set[frozenset[str]] = set()
    for stated in typed(sentence):
        subject, object_ = labels.get(stated.subject, ""), labels.get(stated.object, "")
        if subject and object_ and subject != object_ and is_end(subject) and is_end(object_):
            joined.add(frozenset((subject, object_)))
            yield Stated(subject, stated.type, object_, stated.confidence)
    if not (topic or is_counted(sentence)):
        return
    readable = topic or is_readable(sentence)
    strongest: dict[tuple[str, str], float] = {}
    outer = set(outermost(labels))
    places = sorted(place for place, key in labels.items() if place in outer or is_likely(key))
    for at, one in enumerate(places):
        for other in places[at + 1 :]:
            if other[0] < one[1]:
                continue
            pair = min(labels[one], labels[other]), max(labels[one], labels[other])
            if pair[0] == pair[1] or frozenset(pair) in joined:
                continue
            if not in_one_bracket(sentence, one[0], other[0]):
                continue
            bound = readable and (topic or is_bound(sentence.doc[one[1] - 1], sentence.doc[other[1] - 1]))
            strongest[pair] = max(strongest.get(pair, 0.0), BOUND if bound else TOGETHER)
    for (first, second), confidence in strongest.items():
        yield Stated(first, "RELATED_TO", second, confidence)


def in_one_bracket(sentence: Span, first: int, other: int) -> bool:
    """Return whether no bracket that opens or closes between two tokens parts them: "(see X)" says nothing of X."""
    depth = lowest = 0
    for token in sentence.doc[first:other]:
        depth += (token.text in "([") - (token.text in ")]")
        lowest = min(lowest, depth)
    return depth == 0 and lowest == 0


def outermost(labels: Mapping[Phrase, str]) -> Sequence[Phrase]:
    """Return the places in order, without those inside a longer one."""
    kept: list[Phrase] = []
    for place in sorted(labels, key=lambda place: (place[0], -place[1])):
        if not kept or place[1] > kept[-1][1]:
            kept.append(place)
    return kept
