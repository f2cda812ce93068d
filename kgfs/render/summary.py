"""The label and description of a concept: a pure function of the set of its surviving mentions.

The result contains nothing of a removed mention. The order in which mentions are given does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import Mention, Saying, points
from kgfs.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Summary:
    label: str
    aliases: tuple[str, ...]
    description: str
    kind: str


def summarise(mentions: Sequence[Mention]) -> Summary:
    """Return the summary of a concept from its surviving mentions, as :func:`summarise_sayings` does."""
    return summarise_sayings(sayings(mentions))


def sayings(mentions: Sequence[Mention]) -> list[Saying]:
    """Return the mentions with equal ones as one."""
    found: dict[tuple[Any, ...], Saying] = {}
    for one in mentions:
        same = (one.label, one.forms, one.kind, one.definition, one.kinds, one.passed)
        known = found.get(same)
        if known is None:
            found[same] = Saying(*same, 1, points(one.score), one.score, one.deposit)
            continue
        best, first = max(known.best, one.score), min(known.first, one.deposit)
        found[same] = Saying(*same, known.mentions + 1, known.points + points(one.score), best, first)
    return [*found.values()]


def summarise_sayings(said: Sequence[Saying]) -> Summary:
    """Return the summary of a concept from what its surviving mentions say. Raises BadInputError without any.

    Label and kind are those with the greatest sum of scores over the mentions that chose them. Aliases are the other
    surface forms, one for each :func:`plain_form`, those in most mentions first. The description is the definition
    with the highest score. Label, kind and description come from mentions that ``passed``. Ties go to what was said in the
    earliest deposit, then to the smallest by code point.
    """
    if not said:
        raise BadInputError("A concept without mentions has no label.")
    passed = [one for one in said if one.passed] or said
    label = _elected([(one.label, one) for one in passed])
    kind = _elected([(one.kind, one) for one in passed])
    defining = [one for one in passed if one.definition]
    best = min(defining, key=lambda one: (-one.best, one.first, one.definition), default=None)
    return Summary(label, _aliases(label, said), best.definition if best else "", kind)


def surface_forms(mentions: Sequence[Mention | Saying]) -> set[str]:
    """Return every form by which the mentions name the concept, labels included."""
    return {form for mention in mentions for form in (mention.label, *mention.forms)}


def plain_form(form: str) -> str:
    """Return a key under which trivially equal forms are the same.

    The key is normalised, with hyphens as spaces and the plural ending of the last word removed.
    """
    plain = re.sub(r"[\s\-‐‑_]+", " ", normalise_label(form))
    if len(plain) > 4 and plain.endswith("ies"):
        return plain[:-3] + "y"
    if re.search(r"(?:ss|x|ch|sh)es$", plain):
        return plain[:-2]
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-1]
    return plain


def _elected(votes: Sequence[tuple[str, Saying]]) -> str:
    scores: dict[str, int] = {}
    first: dict[str, int] = {}
    for value, one in votes:
        scores[value] = scores.get(value, 0) + one.points
        first[value] = min(first.get(value, one.first), one.first)
    return min(scores, key=lambda value: (-scores[value], first[value], value))


def _aliases(label: str, said: Sequence[Saying]) -> tuple[str, ...]:
    count: dict[str, int] = {}
    first: dict[str, int] = {}
    for one in said:
        for form in {one.label, *one.forms}:
            count[form] = count.get(form, 0) + one.mentions
            first[form] = min(first.get(form, one.first), one.first)
    shown = {plain_form(label), ""}
    aliases: list[str] = []
    for form in sorted(count, key=lambda form: (-count[form], first[form], form)):
        plain = plain_form(form)
        if plain not in shown:
            shown.add(plain)
            aliases.append(form)
    return tuple(aliases)
