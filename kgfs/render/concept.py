"""``concept.md``: a concept with its description, evidence and relationships.

Where no document defines the concept, its most telling sentence stands in place of a description, as a quotation.

The page depends only on the :class:`ConceptPage`. It contains no path, no name of the ontology and no time, so
renaming never changes it and its size can be stored at commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.render.words import below, fold, lines_of, rendered, yaml_list, yaml_word

SHOWN_EVIDENCE = 50
SHOWN_RELATED = 20
"""The number of entries that a page lists before it refers to the folders with the rest."""


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    n: int
    quote: str
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
    """The confidence with two digits; of RELATED_TO the number of places instead, and of those by name BY_NAME."""


@dataclass(frozen=True, slots=True)
class ConceptPage:
    concept_id: str
    ontology: str
    """The ontology's id, because its name may change without a change of pages."""
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


def render(page: ConceptPage) -> bytes:
    """Return the whole ``concept.md`` as UTF-8, ending in a newline."""
    return rendered("\n".join(_lines(page, len(page.evidence), len(page.related))) + "\n")


def frame_size(frame: ConceptPage) -> int:
    """Return the size in bytes of a page without its entries.

    ``frame`` has no entries; the page is counted as if it had all that are shown.
    """
    evidence, related = min(frame.evidence_count, SHOWN_EVIDENCE), min(frame.related_count, SHOWN_RELATED)
    return len(rendered("\n".join(_lines(frame, evidence, related)) + "\n"))


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
    if page.description:
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
