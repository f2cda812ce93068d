"""Read the rows of a kind as they are, with ids in place of keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from kgfs.stores.graph.rows import SHOWN

_IDS = {"document": "d.doc_id", "concept": "(SELECT concept_id FROM concept WHERE key = t.concept)"}
"""What stands in place of the columns that hold keys."""


def rows_of(connection: sqlite3.Connection, table: str, ontology: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table in the visible editions of an ontology, in order of their values."""
    columns = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
    values = [_IDS.get(name, f't."{name}"') if kind == "INTEGER" else f't."{name}"' for _, name, kind, *_ in columns]
    yield from connection.execute(
        f'SELECT {", ".join(values)} FROM document d CROSS JOIN "{table}" t ON t.document = d.key'
        f" WHERE d.ontology = ? AND d.state = {SHOWN} ORDER BY {', '.join(str(n) for n in range(1, len(values) + 1))}",
        (ontology,),
    )
