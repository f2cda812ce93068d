"""What the index of words is derived from: the visible documents and their Sources that passed the gate."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

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
        return found.get("identity", 0), found["clears"], found["epoch"]

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
        from kgfs.stores.words.headers import headers
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
                sources = connection.execute(
                    "SELECT chunk_index, full_text, section_path, gated FROM source WHERE document = ? ORDER BY chunk_index",
                    (key,),
                ).fetchall()
            title, ontology = marked[3], marked[4]
            is_code, heads = headers(title, [(text, json.loads(path)) for _, text, path, _ in sources])
            yield Indexed(
                doc_id,
                mark_of(*marked),
                ontology,
                is_code,
                [
                    (index, text, head)
                    for (index, text, _, gated), head in zip(sources, heads, strict=True)
                    if not gated
                ],
            )
