"""``concept.md``: a concept with its description, evidence and relationships.

Where documents define the name as different things, the page begins with a definition of each. Where no document defines
the concept, its most telling sentence stands in place of a description, as a quotation.

The page depends only on the :class:`ConceptPage`. It contains no path and no time, and of the ontology's name only the
length matters (:func:`ontology_size`), so its size can be stored at commit.

Label and description of a concept are a pure function of the set of its surviving mentions. They contain nothing of a
removed mention. The order in which mentions are given does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.domain.forms import singular
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import Mention, Saying, points
from kgfs.errors import BadInputError
from kgfs.render.words import below, fold, lines_of, rendered, yaml_list, yaml_word

SHOWN_EVIDENCE = 50
SHOWN_RELATED = 20
"""The number of entries that a page lists before it refers to the folders with the rest."""


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    n: int
    quote: str
    """The quote as a reader sees it; ``quote.txt`` has it as it stands in the document."""
    title: str
    """The title of the document."""
    line_start: int
    line_end: int
    section: tuple[str, ...] = ()
    """The titles of the headings above the quote, outermost first."""


@dataclass(frozen=True, slots=True)
class RelatedLine:
    type: str
    name: str
    label: str
    measure: str
    """The confidence with two digits; of RELATED_TO the number of places instead, else BY_NAME or BY_HEADINGS."""


@dataclass(frozen=True, slots=True)
class ConceptPage:
    concept_id: str
    ontology: str
    """The ontology's id, with which sizes are stored, or its name where the page is shown."""
    label: str
    aliases: tuple[str, ...]
    kind: str
    description: str
    documents: int
    evidence_count: int
    related_count: int
    evidence: tuple[EvidenceLine, ...]
    """The SHOWN_EVIDENCE strongest: those that define the concept, then by confidence, then by number."""
    related: tuple[RelatedLine, ...]
    """The SHOWN_RELATED strongest, the strongest first."""
    telling: EvidenceLine | None = None
    """The evidence that says most of a concept without a description; None where no sentence says anything."""
    meanings: tuple[EvidenceLine, ...] = ()
    """A definition of each thing that the name is used for, where it is used for several."""


def render(page: ConceptPage) -> bytes:
    """Return the whole ``concept.md`` as UTF-8, ending in a newline."""
    return rendered("\n".join(_lines(page, len(page.evidence), len(page.related))) + "\n")


def frame_size(frame: ConceptPage) -> int:
    """Return the size in bytes of a page without its entries.

    ``frame`` has no entries; the page is counted as if it had all that are shown.
    """
    evidence, related = min(frame.evidence_count, SHOWN_EVIDENCE), min(frame.related_count, SHOWN_RELATED)
    return len(rendered("\n".join(_lines(frame, evidence, related)) + "\n"))


def ontology_size(ontology: str) -> int:
    """Return the bytes that the id or name of an ontology takes on a page."""
    return len(rendered(yaml_word(ontology)))


def evidence_line(line: EvidenceLine) -> str:
    where = f"{fold(line.title)}{below(line.title, line.section)}, {lines_of(line.line_start, line.line_end)}"
    return f"- [{line.n}](evidence/{line.n}/source.txt) “{fold(line.quote)}” ({where})"


def related_line(line: RelatedLine) -> str:
    link = f"related/{line.type}/{line.name}/concept.md"
    return f"- {line.type} [{fold(line.label)}]({link}) ({line.measure})"


def _lines(page: ConceptPage, evidence: int, related: int) -> Iterator[str]:
    """Yield the lines of the page, with ``evidence`` and ``related`` as the numbers of entries that it shows."""
    yield "---"
    yield f"id: {yaml_word(page.concept_id)}"
    yield f"label: {yaml_word(page.label)}"
    yield f"aliases: {yaml_list(page.aliases)}"
    yield f"kind: {yaml_word(page.kind)}"
    yield f"ontology: {yaml_word(page.ontology)}"
    yield f"documents: {page.documents}"
    yield f"evidence: {page.evidence_count}"
    yield f"relationships: {page.related_count}"
    yield "---"
    yield ""
    yield f"# {fold(page.label)}"
    if page.meanings:
        yield ""
        yield f"This name is used for {len(page.meanings)} different things:"
        yield ""
        yield from map(evidence_line, page.meanings)
    elif page.description:
        yield ""
        yield fold(page.description)
    elif page.telling is not None:
        yield ""
        yield f"> {fold(page.telling.quote)} ([{page.telling.n}](evidence/{page.telling.n}/source.txt))"
    if page.evidence_count:
        yield ""
        yield "## Evidence"
        yield ""
        yield from map(evidence_line, page.evidence)
        yield from _rest(page.evidence_count - evidence, "evidence")
    if page.related_count:
        yield ""
        yield "## Related"
        yield ""
        yield from map(related_line, page.related)
        yield from _rest(page.related_count - related, "related")


def _rest(hidden: int, folder: str) -> Iterator[str]:
    if hidden > 0:
        yield f"- {hidden} more in [{folder}/]({folder}/)"


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
    return singular(re.sub(r"[\s\-‐‑_]+", " ", normalise_label(form)))


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
