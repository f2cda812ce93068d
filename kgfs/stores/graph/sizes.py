"""Compute the stored sizes of rendered files again, in a graph whose sizes an earlier version of the renderers gave.

The sizes depend on rows of the graph alone. So neither the garage nor a model is asked, and no document is read again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kgfs.render import source as source_txt
from kgfs.render import text as text_md
from kgfs.render.words import folded_size, has_controls
from kgfs.stores.database import Database
from kgfs.stores.graph.pages import page_frame, page_size
from kgfs.stores.graph.rows import LEAVING, words
from kgfs.stores.graph.sizes_kept import RENDERED

SLICE = 0.1
"""Seconds of one transaction, or those that one document or page takes."""
_FOR, _UP_TO = "renewed_for", "renewed_up_to"
"""Rows of ``meta`` while sizes are computed again: for which version of the renderers, and up to which key."""
_EDITIONS = f"SELECT key, source_title FROM document WHERE state != {LEAVING} AND key > ? ORDER BY key LIMIT 100"
_CONCEPTS = "SELECT key, concept_id FROM concept WHERE live = 1 AND key > ? ORDER BY key LIMIT 100"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A Source, as an excerpt needs it."""

    start: int
    end: int
    line: int
    page: int | None
    text: str


def renew_some(database: Database) -> bool:
    """Compute sizes again for about SLICE seconds, in one transaction; return whether there are more to compute.

    It is kept with them how far this came, so another process, or this one after a kill, goes on from there. Each transaction
    is short, so other processes may write between two of them. Another version of the renderers begins from the first row.
    """
    with database.write(durable=False) as connection:
        state = dict(
            connection.execute(f"SELECT name, value FROM meta WHERE name IN ('rendered', '{_FOR}', '{_UP_TO}')")
        )
        rendered = state["rendered"]
        if rendered >= RENDERED:
            return False
        end, reached = time.monotonic() + SLICE, state.get(_UP_TO, 0) if state.get(_FOR) == RENDERED else 0
        if rendered < 1:
            reached, is_over = _renewed(connection, _EDITIONS, _of_edition, reached, end)
            if is_over:
                rendered, reached = 1, 0
        if rendered >= 1:
            reached, is_over = _renewed(connection, _CONCEPTS, _of_page, reached, end)
            if is_over:
                connection.execute(f"DELETE FROM meta WHERE name IN ('{_FOR}', '{_UP_TO}')")
                connection.execute("UPDATE meta SET value = ? WHERE name = 'rendered'", (RENDERED,))
                return False
        connection.execute("UPDATE meta SET value = ? WHERE name = 'rendered'", (rendered,))
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(_FOR, RENDERED), (_UP_TO, reached)])
        return True


def _renewed(
    connection: sqlite3.Connection,
    after: str,
    renew: Callable[[sqlite3.Connection, int, str], None],
    reached: int,
    end: float,
) -> tuple[int, bool]:
    """Renew the rows after the key ``reached``, one at least, until the time ``end``. Return the key of the last one, and
    whether there is none after it."""
    while found := connection.execute(after, (reached,)).fetchall():
        for key, name in found:
            renew(connection, key, name)
            reached = key
            if time.monotonic() >= end:
                return reached, False
    return reached, True


def _of_edition(connection: sqlite3.Connection, key: int, title: str) -> None:
    """Write the sizes of one edition and of the labels of the concepts that it mentions, if it has control characters."""
    texts = connection.execute("SELECT full_text FROM source WHERE document = ?", (key,))
    if not has_controls(title) and not any(has_controls(text) for (text,) in texts):
        return
    rows = connection.execute(
        "SELECT chunk_index, char_start, char_end, line_start, page_number, full_text FROM source"
        " WHERE document = ? ORDER BY chunk_index",
        (key,),
    )
    pieces = {index: _Piece(*row) for index, *row in rows}
    media_type, size = connection.execute(
        "SELECT document_type, size_bytes FROM document WHERE key = ?", (key,)
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
        "SELECT key, label FROM concept WHERE key IN (SELECT concept FROM mention WHERE document = ?)", (key,)
    )
    connection.executemany(
        "UPDATE concept SET label_size = ? WHERE key = ?",
        [(folded_size(label), at) for at, label in mentioned.fetchall()],
    )


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


def _of_page(connection: sqlite3.Connection, key: int, concept_id: str) -> None:
    """Write the size of the page of a concept, if it is another one."""
    found = page_frame(connection, concept_id)
    if found is not None:
        size = page_size(connection, found[2])
        connection.execute("UPDATE concept SET size = ?1 WHERE key = ?2 AND size != ?1", (size, key))
