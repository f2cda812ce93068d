"""Compute the stored sizes of rendered files again, in a graph whose sizes an earlier version of the renderers gave.

The sizes depend on rows of the graph alone. So neither the garage nor a model is asked, and no document is read again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kgfs.render import source as source_txt
from kgfs.render import text as text_md
from kgfs.render.concept import SHOWN_EVIDENCE, SHOWN_RELATED
from kgfs.render.words import folded_size, has_controls
from kgfs.stores.database import Database
from kgfs.stores.graph.pages import page_frame, page_size
from kgfs.stores.graph.rows import LEAVING, words
from kgfs.stores.graph.sizes_kept import RENDERED, RENDERED_BY


@dataclass(frozen=True, slots=True)
class _Piece:
    """A Source, as an excerpt needs it."""

    start: int
    end: int
    line: int
    page: int | None
    text: str


def renew(database: Database) -> None:
    """Compute all sizes again that an earlier version of the renderers gave, in one transaction."""
    with database.write(durable=False) as connection:
        rendered = connection.execute(RENDERED_BY).fetchone()[0]
        if rendered < 1:
            concepts: set[str] = set()
            for edition in list(_with_controls(connection)):
                concepts |= _of_edition(connection, edition)
            _of_concepts(connection, concepts)
        if rendered < 2:
            _of_pages(connection, _with_related(connection))
        if rendered < 3:
            many = connection.execute(
                "SELECT concept_id FROM concept WHERE live = 1 AND evidence > ?", (SHOWN_EVIDENCE,)
            )
            _of_pages(connection, {concept_id for (concept_id,) in many})
        if rendered < 4:
            _of_pages(connection, _without_description(connection))
        if rendered < 5:
            _of_pages(connection, _below_headings(connection))
        if rendered < RENDERED:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'rendered'", (RENDERED,))


def _with_controls(connection: sqlite3.Connection) -> Iterator[int]:
    """Yield the keys of editions whose title or text has control characters."""
    for key, title in connection.execute(f"SELECT key, source_title FROM document WHERE state != {LEAVING}"):
        texts = connection.execute("SELECT full_text FROM source WHERE document = ?", (key,))
        if has_controls(title) or any(has_controls(text) for (text,) in texts):
            yield key


def _of_edition(connection: sqlite3.Connection, key: int) -> set[str]:
    """Write the sizes of one edition, and return the ids of the concepts that it mentions."""
    rows = connection.execute(
        "SELECT chunk_index, char_start, char_end, line_start, page_number, full_text FROM source"
        " WHERE document = ? ORDER BY chunk_index",
        (key,),
    )
    pieces = {index: _Piece(*row) for index, *row in rows}
    title, media_type, size = connection.execute(
        "SELECT source_title, document_type, size_bytes FROM document WHERE key = ?", (key,)
    ).fetchone()
    text = "".join(piece.text for piece in pieces.values())
    connection.execute(
        "UPDATE document SET title_size = ?, text_md_size = ? WHERE key = ?",
        (folded_size(title), text_md.base_size(title, media_type, size, text), key),
    )
    instances = connection.execute(
        "SELECT owner, n, quote, chunk_index, char_start, char_end, section_path FROM instance WHERE document = ?",
        (key,),
    ).fetchall()
    for owner, n, quote, chunk_index, start, end, section_path in instances:
        excerpt = _excerpt(pieces, chunk_index, (start, end), words(section_path))
        if excerpt is not None:
            connection.execute(
                "UPDATE instance SET quote_size = ?, source_size = ? WHERE owner = ? AND n = ? AND document = ?",
                (folded_size(quote), source_txt.base_size(excerpt), owner, n, key),
            )
    mentioned = connection.execute(
        "SELECT DISTINCT concept_id FROM mention JOIN concept ON concept.key = mention.concept WHERE document = ?",
        (key,),
    )
    return {concept_id for (concept_id,) in mentioned}


def _excerpt(
    pieces: Mapping[int, _Piece], index: int, quote: tuple[int, int], section_path: tuple[str, ...]
) -> source_txt.Excerpt | None:
    """Return what ``source.txt`` shows of a quote; None where a Source is not staged yet, which is staged again."""
    shown: list[_Piece] = []
    while not shown or shown[-1].end < quote[1]:
        if index not in pieces:
            return None
        shown.append(pieces[index])
        index += 1
    first = shown[0]
    text = "".join(piece.text for piece in shown)
    return source_txt.Excerpt(text, first.start, first.line, *quote, section_path, first.page)


def _of_concepts(connection: sqlite3.Connection, concepts: set[str]) -> None:
    """Write the sizes of the pages of these concepts and of their neighbours, which show their labels."""
    pages = set(concepts)
    for concept_id in concepts:
        of_concept = (concept_id,)
        (label,) = connection.execute("SELECT label FROM concept WHERE concept_id = ?", of_concept).fetchone()
        connection.execute("UPDATE concept SET label_size = ? WHERE concept_id = ?", (folded_size(label), concept_id))
        pages |= {other for (other,) in connection.execute("SELECT other FROM neighbour WHERE concept = ?", of_concept)}
    _of_pages(connection, pages)


def _with_related(connection: sqlite3.Connection) -> set[str]:
    """Return the ids of concepts whose pages show other relationships than before, or show them otherwise."""
    found = connection.execute(
        "SELECT concept_id FROM concept WHERE live = 1 AND (related > ? OR concept_id IN"
        " (SELECT concept FROM neighbour WHERE type = 'RELATED_TO'))",
        (SHOWN_RELATED,),
    )
    return {concept_id for (concept_id,) in found}


def _without_description(connection: sqlite3.Connection) -> set[str]:
    """Return the ids of concepts whose pages quote their most telling sentence."""
    found = connection.execute("SELECT concept_id FROM concept WHERE live = 1 AND description = ''")
    return {concept_id for (concept_id,) in found}


def _below_headings(connection: sqlite3.Connection) -> set[str]:
    """Return the ids of concepts with evidence below a heading."""
    found = connection.execute("SELECT DISTINCT owner FROM instance WHERE section_path != '[]'")
    return {concept_id for (concept_id,) in found}


def _of_pages(connection: sqlite3.Connection, concepts: set[str]) -> None:
    """Write the sizes of the pages of these concepts."""
    for concept_id in sorted(concepts):
        found = page_frame(connection, concept_id)
        if found is not None:
            key, _, frame = found
            connection.execute("UPDATE concept SET size = ? WHERE key = ?", (page_size(connection, frame), key))
