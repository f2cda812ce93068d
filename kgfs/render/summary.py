"""What a concept is called and how it is described: a pure function of the set of its surviving mentions.

Nothing of a mention that is gone can be left in the result, and the order in which mentions are given is of no account.
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
    """Label and kind: those with the greatest sum of scores over the mentions that chose them. Aliases: the other
    surface forms, one for each :func:`plain_form`, those in most mentions first. Description: the definition with the
    highest score. Ties: the earliest deposit, then the smallest by code point. BadInputError without mentions."""
    if not mentions:
        raise BadInputError("A concept without mentions has no label.")
    label = _elected([(mention.label, mention) for mention in mentions])
    kind = _elected([(mention.kind, mention) for mention in mentions])
    defining = [mention for mention in mentions if mention.definition]
    best = min(defining, key=lambda m: (-m.score, m.deposit, m.definition), default=None)
    return Summary(label, _aliases(label, mentions), best.definition if best else "", kind)


def surface_forms(mentions: Sequence[Mention]) -> set[str]:
    """Every form under which the mentions speak of the concept, labels among them."""
    return {form for mention in mentions for form in (mention.label, *mention.forms)}


def plain_form(form: str) -> str:
    """A key under which forms are trivially the same: normalised, hyphens as spaces, the last word's plural ending gone."""
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
