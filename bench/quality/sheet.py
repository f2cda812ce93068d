"""A sheet of what a home shows, drawn evenly and by a seed, to be judged by reading."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from bench.quality.shown import Shown, ShownConcept, ShownRelationship

CONCEPTS = 100
RELATIONSHIPS = 30
TERMS = 100
SORTS = ("typed", "by name", "related")
RULES = """\
Concept: good (would stand in a careful index of this document), so-so (true, but too general or too narrow to look
up), junk (no thing, cut wrong, misread). Description: worth keeping or not (it says what the thing is). First evidence:
good (read alone, the sentence says something of the concept), so-so, bad. Typed relationship: true (the sentence
asserts it), vague, false. By name: does it hold? RELATED_TO: do these sentences connect the two? Term: as a label."""


def sort_of(reported: ShownRelationship) -> str:
    """Return the sort of a relationship: ``related`` for RELATED_TO, ``by name`` without a sentence, else ``typed``."""
    if reported.type == "RELATED_TO":
        return "related"
    return "typed" if reported.sentences else "by name"


def sheet(shown: Shown, seed: int) -> str:
    """Return the sheet: up to CONCEPTS concepts, then up to RELATIONSHIPS relationships of each sort, then TERMS terms."""
    source = random.Random(seed)
    concepts = source.sample(shown.concepts, min(CONCEPTS, len(shown.concepts)))
    lines = ["# Sample", "", RULES, "", "## Concepts", ""]
    for at, one in enumerate(concepts, 1):
        lines.extend(_concept(at, one))
    for sort in SORTS:
        some = [
            reported for reported in shown.relationships if sort_of(reported) == sort and reported.type != "LINKS_TO"
        ]
        drawn = source.sample(some, min(RELATIONSHIPS, len(some)))
        lines += [f"## Relationships: {sort} ({len(drawn)} of {len(some)})", ""]
        for at, reported in enumerate(drawn, 1):
            lines.extend(_relationship(f"{sort[0].upper()}{at}", reported))
    terms = source.sample(shown.terms, min(TERMS, len(shown.terms)))
    lines += [f"## Terms ({len(terms)} of {len(shown.terms)})", ""]
    lines += [f"M{at} {label} - in: {title}" for at, (label, title) in enumerate(terms, 1)]
    return "\n".join(lines) + "\n"


def _concept(at: int, one: ShownConcept) -> Iterator[str]:
    concept = one.concept
    also = f" (also: {'; '.join(concept.aliases)})" if concept.aliases else ""
    yield f"C{at} **{concept.label}**{also} - in: {one.title}"
    if concept.description:
        yield f"   description: {_line(concept.description)}"
    yield f"   first evidence: {_line(one.first) or '(none)'}"
    yield ""


def _relationship(name: str, reported: ShownRelationship) -> Iterator[str]:
    yield f"{name} **{reported.subject}** {reported.type} **{reported.object}**"
    yield from (f"   - {_line(sentence)}" for sentence in reported.sentences)
    yield ""


def _line(words: str) -> str:
    return " ".join(words.split())


def judged(lines: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the counts of a judged sheet.

    A judgement is a line such as ``C1 good keep good`` or ``T1 true``: the name of an entry, then words, one for label,
    description (``-`` for none) and first evidence of a concept, one for a relationship or a term (M).
    """
    counts: dict[str, dict[str, int]] = {}
    for line in lines:
        name, *words = line.split()
        parts = ("label", "description", "evidence") if name[0] == "C" else ((*SORTS, "term")["TBRM".index(name[0])],)
        for part, word in zip(parts, words, strict=True):
            if word != "-":
                counts.setdefault(part, {}).setdefault(word, 0)
                counts[part][word] += 1
    return counts
