"""Claims side by side: which of them say the same in other words, and which only speak of the same thing.

Whether two claims mean the same is a matter of their vectors; here are the signs in their words that a vector misses: another
number, a *not*, *rise* for *fall*, another actor. A claim that misses none of them and is close in meaning says the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from kgfs.domain.identity import claim_part_id_of
from kgfs.domain.names import safe_stem
from kgfs.domain.word_forms import plain, stem, words_in

ALIKE = 0.85
"""The least cosine of two claims that say the same."""
NEAR = 0.8
"""The least cosine of two claims that are worth reading together."""
SLUG_BYTES = 60

_NEGATION = re.compile(r"\b(?:not|never|no|cannot)\b|n['’]t\b", re.IGNORECASE)
_FIGURE = re.compile(r"([$€£¥]?)\s?(\d+(?:[.,]\d+)*)\s?(%|[^\W\d_]+)?")
_UP = ("rise", "rose", "risen", "gain", "more", "grow", "grew", "grown", "growth", "increase", "up", "higher")
_DOWN = (
    "fall",
    "fell",
    "fallen",
    "lose",
    "lost",
    "loss",
    "less",
    "drop",
    "decline",
    "decrease",
    "down",
    "lower",
    "fewer",
)
_UNDATED = ("unknown", "inferred")


class Statement(Protocol):
    """A claim as it is compared with others."""

    claim: str
    actor: str
    timeframe: str


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of all words, in order."""
    return tuple(stem(plain(word)) for word in words_in(text))


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text, without commas between thousands."""
    return [_value(found[1]) for found in _FIGURE.findall(text)]


def measures_of(claim: str) -> str:
    """Return what is equal in two claims that say the same: their numbers, the count of negations, the directions."""
    stems = frozenset(stems_of(claim))
    directions = "".join(sign for sign, words in (("+", _UP), ("-", _DOWN)) if stems & {stem(word) for word in words})
    return f"{' '.join(sorted(numbers_in(claim)))}|{len(_NEGATION.findall(claim))}|{directions}"


def actor_key(actor: str) -> str:
    """Return the form under which actors are one."""
    return " ".join(stems_of(actor))


def could_name(stems: Sequence[str], longest: int = 6) -> list[str]:
    """Return the keys of all actors that a claim with these stems may name: each run of up to ``longest`` of its words."""
    runs = (stems[at : at + length] for at in range(len(stems)) for length in range(1, longest + 1))
    return list(dict.fromkeys(" ".join(run) for run in runs))


def may_say_the_same(one: Statement, other: Statement) -> bool:
    """Return whether nothing in the words of two claims forbids that they say the same.

    Two that differ in one word alone do not: that word is what they are about.
    """
    ours, theirs = stems_of(one.claim), stems_of(other.claim)
    return (
        measures_of(one.claim) == measures_of(other.claim)
        and _has(ours, stems_of(other.actor))
        and _has(theirs, stems_of(one.actor))
        and _times_agree(one.timeframe, other.timeframe)
        and (ours == theirs or _differ_by(ours, theirs) >= 2)
    )


def other_figure(one: Statement, other: Statement) -> bool:
    """Return whether two claims give another number of the same unit for the same time."""
    ours, theirs = _figures(one), _figures(other)
    return (
        stems_of(one.timeframe) == stems_of(other.timeframe)
        and ours.keys() == theirs.keys()
        and any(sorted(ours[unit]) != sorted(theirs[unit]) for unit in ours)
    )


def _figures(said: Statement) -> dict[str, list[str]]:
    """Return the numbers of a claim outside of its timeframe, by unit."""
    dates, found = Counter(numbers_in(said.timeframe)), dict[str, list[str]]()
    for sign, number, unit in _FIGURE.findall(said.claim):
        value = _value(number)
        dates[value] -= 1
        if dates[value] < 0:
            found.setdefault(sign or stem(plain(unit)), []).append(value)
    return found


def _has(stems: Sequence[str], run: Sequence[str]) -> bool:
    return bool(run) and f" {' '.join(run)} " in f" {' '.join(stems)} "


def _times_agree(one: str, other: str) -> bool:
    ours, theirs = stems_of(one), stems_of(other)
    dated = one not in _UNDATED and other not in _UNDATED
    return ours == theirs or (dated and (_has(ours, theirs) or _has(theirs, ours)))


def _differ_by(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many stems that side has alone which has more of them."""
    ours, theirs = Counter(one), Counter(other)
    return max((ours - theirs).total(), (theirs - ours).total())


def _value(number: str) -> str:
    return re.sub(r",(?=\d{3}\b)", "", number)


def marked_as(marks: Mapping[str, str], claim_id: str, doc_id: str) -> str:
    """Return the claim that a document's evidence belongs to after what persons said.

    ``marks`` are the claims that others were merged into, by id; '' for one that was split by document.
    """
    passed: set[str] = set()
    while claim_id in marks and claim_id not in passed:
        passed.add(claim_id)
        claim_id = marks[claim_id] or claim_part_id_of(claim_id, doc_id)
    return claim_id


def file_name(claim_id: str, claim: str) -> str:
    """Return the name of a claim's file: its first words and the beginning of its id."""
    return f"{safe_stem(claim, SLUG_BYTES)}~{claim_id[:8]}.md"
