"""What the index of words is derived from: the visible documents and their Sources."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from kgfs.formats.code import BEGINNING, may_be_code
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import SHOWN

if TYPE_CHECKING:  # imports numpy, which a mount needs only to search
    from kgfs.stores.words.segment import Indexed

_MARKED = "doc_id, reading, text_sha256, source_title, ontology, content_length, sources"


class WordSource:
    """The Sources of a graph for its index of words. Any thread may call."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def moment(self) -> tuple[int, int, int]:
        found = dict(self._database.rows("SELECT name, value FROM meta WHERE name IN ('identity', 'clears', 'epoch')"))
        return found["identity"], found["clears"], found["epoch"]

    def changed_documents(self, after: int) -> set[str] | None:
        with self._database.snapshot() as connection:
            meta = dict(connection.execute("SELECT name, value FROM meta"))
            if after < meta["changes_above"] or after > meta["epoch"]:
                return None
            rows = connection.execute(
                "SELECT DISTINCT name FROM change WHERE epoch > ? AND kind = 'document'", (after,)
            )
            return {name for (name,) in rows}

    def marks(self, doc_ids: Collection[str] | None) -> dict[str, tuple[int, int]]:
        from kgfs.stores.words.segment import mark_of

        where = "" if doc_ids is None else " AND doc_id IN (SELECT value FROM json_each(?))"
        values = () if doc_ids is None else (json.dumps([*doc_ids]),)
        rows = self._database.rows(
            f"SELECT {_MARKED} FROM document WHERE state = {SHOWN} AND hidden_by = ''{where}", values
        )
        return {row[0]: (mark_of(*row), row[-1]) for row in rows}

    def indexed(self, doc_ids: Sequence[str]) -> Iterator[Indexed]:
        """Yield the documents. The Sources of one are read as they are taken, and no more after the next one is."""
        from kgfs.stores.words.segment import Indexed, mark_of

        for doc_id in doc_ids:
            with self._database.snapshot() as connection:
                found = connection.execute(
                    f"SELECT key, {_MARKED} FROM document WHERE doc_id = ? AND state = {SHOWN} AND hidden_by = ''",
                    (doc_id,),
                ).fetchone()
                if found is None:
                    continue
                key, *marked = found
                title, ontology = marked[3], marked[4]
                is_code, sources = _with_headers(connection, key, title)
                yield Indexed(doc_id, mark_of(*marked), ontology, is_code, sources)


def _with_headers(
    connection: sqlite3.Connection, edition: int, title: str
) -> tuple[bool, Iterator[tuple[int, str, str]]]:
    """Return whether a document is program code, and chunk index, text and header of its Sources. Only code is held at
    once: a text of prose may be longer than memory has room for."""
    from kgfs.stores.words.headers import header_of_prose, headers

    rows = connection.execute(
        "SELECT chunk_index, full_text, section_path FROM source WHERE document = ? ORDER BY chunk_index",
        (edition,),
    )
    first = list[Any]()
    length = 0
    while length < BEGINNING and (row := rows.fetchone()):
        first.append(row)
        length += len(row[1])
    if not may_be_code("".join(text for _, text, _ in first)):
        every = chain(first, rows)
        return False, ((at, text, header_of_prose(title, json.loads(path))) for at, text, path in every)
    first += rows
    is_code, heads = headers(title, [(text, json.loads(path)) for _, text, path in first])
    return is_code, ((at, text, head) for (at, text, _), head in zip(first, heads, strict=True))
