"""Read the content of ``concept.md`` from the tables. Used by readers, and within a commit to compute size and
mtime."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from kgfs.domain.knowledge import BY_HEADINGS, BY_NAME
from kgfs.domain.markup import words_shown
from kgfs.render.concept import (
    SHOWN_EVIDENCE,
    SHOWN_RELATED,
    ConceptPage,
    EvidenceLine,
    RelatedLine,
    evidence_line,
    frame_size,
    related_line,
    render,
)
from kgfs.render.meanings import Said, meanings_of
from kgfs.render.words import folded_size
from kgfs.stores.graph.rows import SHOWN, words

_OF_EVIDENCE = f"""
    FROM instance INDEXED BY instance_telling CROSS JOIN document ON document.key = instance.document
    WHERE instance.owner = ?1 AND document.state = {SHOWN}
    ORDER BY instance.defines DESC, instance.confidence DESC, instance.n LIMIT {SHOWN_EVIDENCE}"""

_OF_RELATED = f"""
    FROM neighbour CROSS JOIN relationship ON relationship.relationship_id = neighbour.relationship_id
    CROSS JOIN concept ON concept.concept_id = neighbour.other
    WHERE neighbour.concept = ?1
    ORDER BY neighbour.strength DESC, neighbour.type, neighbour.name, neighbour.relationship_id, neighbour.incoming
    LIMIT {SHOWN_RELATED}"""

_MEASURE = f"""CASE WHEN relationship.evidence = 0 THEN '{BY_NAME}' WHEN neighbour.type = 'RELATED_TO'
    THEN iif(relationship.evidence = 1, '1 place', relationship.evidence || ' places')
    WHEN neighbour.type IN ('BROADER', 'NARROWER') THEN '{BY_HEADINGS}' ELSE printf('%.2f', relationship.confidence) END"""

_LINE = """
    SELECT instance.n, instance.quote, document.source_title, instance.line_start, instance.line_end,
        instance.section_path, instance.quote_size"""

_EVIDENCE = f"{_LINE} {_OF_EVIDENCE}"

_RELATED = f"SELECT neighbour.type, neighbour.name, concept.label, {_MEASURE} {_OF_RELATED}"

_TELLING = f"""{_LINE}
    FROM instance INDEXED BY instance_telling CROSS JOIN document ON document.key = instance.document
    WHERE instance.owner = ? AND document.state = {SHOWN} AND instance.confidence > 0
    ORDER BY instance.defines DESC, instance.confidence DESC, instance.n LIMIT 1"""

_LOOKED_AT = 200
"""Pieces of evidence that tell whether a name is used for several things."""

_DEFINED_BY = f"""
    SELECT count(DISTINCT document) FROM (SELECT instance.document
    FROM instance INDEXED BY instance_telling CROSS JOIN document ON document.key = instance.document
    WHERE instance.owner = ? AND document.state = {SHOWN} AND instance.defines = 1 LIMIT {_LOOKED_AT})"""

_SAID = f"""
    SELECT instance.document, instance.defines, {_LINE.partition("SELECT")[2]}
    FROM instance INDEXED BY instance_telling CROSS JOIN document ON document.key = instance.document
    WHERE instance.owner = ? AND document.state = {SHOWN}
    ORDER BY instance.defines DESC, instance.confidence DESC, instance.n LIMIT {_LOOKED_AT}"""


def _bytes(line: str) -> int:
    return len(f"{line}\n".encode())


_AROUND_EVIDENCE = _bytes(evidence_line(EvidenceLine(0, "", "", 0, 0))) - len("000")
_AROUND_RELATED = _bytes(related_line(RelatedLine("", "", "", "")))

_SIZE = f"""
    SELECT (SELECT coalesce(sum(size), 0) FROM (
        SELECT {_AROUND_EVIDENCE} + 2 * length(n) + quote_size + title_size
            + below_size(source_title, section_path) + length(line_start)
            + iif(line_start = line_end, 0, {len("s-")} + length(line_end)) AS size {_OF_EVIDENCE}
    )) + (SELECT coalesce(sum(size), 0) FROM (
        SELECT {_AROUND_RELATED} + 2 * length(neighbour.type) + length(CAST(neighbour.name AS BLOB)) + label_size
            + length({_MEASURE}) AS size {_OF_RELATED}
    ))"""
"""Bytes of all lines that are shown."""


def page_frame(connection: sqlite3.Connection, concept_id: str) -> tuple[int, str, ConceptPage] | None:
    """Return key, directory name, and the page without its lines, of a living concept; None if it is not living."""
    found = connection.execute(
        "SELECT key, name, ontology, label, aliases, kind, description, evidence, related, documents"
        " FROM concept WHERE concept_id = ? AND live = 1",
        (concept_id,),
    ).fetchone()
    if found is None:
        return None
    key, name, ontology, label, aliases, kind, description, evidence, related, documents = found
    return key, name, ConceptPage(
        concept_id=concept_id,
        ontology=ontology,
        label=label,
        aliases=words(aliases),
        kind=kind,
        description=description,
        documents=documents,
        evidence_count=evidence,
        related_count=related,
        evidence=(),
        related=(),
        telling=None if description else most_telling(connection, concept_id),
        meanings=meanings(connection, concept_id, (label, *words(aliases))),
    )  # fmt: skip


def meanings(connection: sqlite3.Connection, concept_id: str, names: Iterable[str]) -> tuple[EvidenceLine, ...]:
    """Return a definition of each thing that a concept's names are used for, where documents define several."""
    if connection.execute(_DEFINED_BY, (concept_id,)).fetchone()[0] < 2:
        return ()
    rows = connection.execute(_SAID, (concept_id,))
    said = [Said(document, bool(defines), line[1], _line(*line)) for document, defines, *line in rows]
    return meanings_of(names, said)


def most_telling(connection: sqlite3.Connection, concept_id: str) -> EvidenceLine | None:
    """Return the sentence that a page without a description quotes: one that defines the concept, or that says most."""
    found = connection.execute(_TELLING, (concept_id,)).fetchone()
    return _line(*found) if found else None


def _line(n: int, quote: str, title: str, first: int, last: int, section_path: str, size: int) -> EvidenceLine:
    """Return the line of a piece of evidence. It has ``size`` bytes of the quote: those of the words that a reader sees, or
    of evidence that an earlier kgfs stored, those of the quote as it stands in the document."""
    shown = words_shown(quote)
    return EvidenceLine(n, shown if folded_size(shown) == size else quote, title, first, last, words(section_path))


def with_lines(connection: sqlite3.Connection, frame: ConceptPage) -> ConceptPage:
    """Return the page with its evidence and relationship lines."""
    of_concept = (frame.concept_id,)
    return replace(
        frame,
        evidence=tuple(_line(*row) for row in connection.execute(_EVIDENCE, of_concept)),
        related=tuple(RelatedLine(*row) for row in connection.execute(_RELATED, of_concept)),
    )


def concept_page(connection: sqlite3.Connection, concept_id: str) -> ConceptPage | None:
    """Return the page of a living concept; None if it is not living. The caller holds one snapshot.

    A page that an earlier kgfs sized says nothing of several meanings until a commit changes it.
    """
    found = page_frame(connection, concept_id)
    if found is None:
        return None
    page = with_lines(connection, found[2])
    if page.meanings:
        (size,) = connection.execute("SELECT size FROM concept WHERE key = ?", (found[0],)).fetchone()
        return page if len(render(page)) == size else replace(page, meanings=())
    return page


def page_size(connection: sqlite3.Connection, frame: ConceptPage) -> int:
    """Return the bytes of the page with this frame. The sizes of the lines are summed in SQL without reading their
    words."""
    lines: int = connection.execute(_SIZE, (frame.concept_id,)).fetchone()[0]
    return frame_size(frame) + lines
