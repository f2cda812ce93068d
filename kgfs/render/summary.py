"""The label and description of a concept: a pure function of the set of its surviving mentions.

The result contains nothing of a removed mention. The order in which mentions are given does not matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import Mention
from kgfs.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Summary:
    label: str
    aliases: tuple[str, ...]
    description: str
    kind: str


def summarise(mentions: Sequence[Mention]) -> Summary:
    """Return the summary of a concept from its surviving mentions. Raises BadInputError without mentions.

    Label and kind are those with the greatest sum of scores over the mentions that chose them. Aliases are the other
    surface forms, one for each :func:`plain_form`, those in most mentions first. The description is the definition
    with the highest score. Label, kind and description come from mentions that ``passed``. Ties go to the earliest deposit, then to the smallest by code point.
    """
    if not mentions:
        raise BadInputError("A concept without mentions has no label.")
    passed = [mention for mention in mentions if mention.passed] or mentions
    label = _elected([(mention.label, mention) for mention in passed])
    kind = _elected([(mention.kind, mention) for mention in passed])
    defining = [mention for mention in passed if mention.definition]
    best = min(defining, key=lambda m: (-m.score, m.deposit, m.definition), default=None)
    return Summary(label, _aliases(label, mentions), best.definition if best else "", kind)


def surface_forms(mentions: Sequence[Mention]) -> set[str]:
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


def _elected(votes: Sequence[tuple[str, Mention]]) -> str:
    scores: dict[str, list[float]] = {}
    first: dict[str, int] = {}
    for value, mention in votes:
        scores.setdefault(value, []).append(mention.score)
        first[value] = min(first.get(value, mention.deposit), mention.deposit)
    # fsum rounds once, so the order of the mentions cannot decide between close sums.
    return min(scores, key=lambda value: (-math.fsum(scores[value]), first[value], value))


def _aliases(label: str, mentions: Sequence[Mention]) -> tuple[str, ...]:
    count: dict[str, int] = {}
    first: dict[str, int] = {}
    for mention in mentions:
        for form in {mention.label, *mention.forms}:
            count[form] = count.get(form, 0) + 1
            first[form] = min(first.get(form, mention.deposit), mention.deposit)
    shown = {plain_form(label), ""}
    aliases: list[str] = []
    for form in sorted(count, key=lambda form: (-count[form], first[form], form)):
        plain = plain_form(form)
        if plain not in shown:
            shown.add(plain)
            aliases.append(form)
    return tuple(aliases)
