"""The kinds of rows that documents bring into the graph: one table.

From a row of it follow the staging of such rows, their removal with their edition, the work of commits, of strikes, of
merges and splits, the reach of a purge, the search for faults, and the comparison of two graphs. Copying, clearing and
snapshots go by the columns ``document``, ``concept`` and ``ontology``, so they need no word here.

A new kind is a module with what writes, sums up and reads its rows, one row here, and its table in ``schema.sql``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.stores.graph import claims, joined, named, terms
from kgfs.stores.graph.editions import put_instances
from kgfs.stores.graph.rows import SHOWN, Derived
from kgfs.stores.graph.vocabulary import DocumentRow

_IDS = {"document": "d.doc_id", "concept": "(SELECT concept_id FROM concept WHERE key = t.concept)"}
"""What stands in place of the columns that hold keys."""

Put = Callable[[sqlite3.Connection, int, "DocumentRow | None", Sequence[Any]], None]
"""Inserts rows of the edition with this key; rows with the same primary key are replaced."""


@dataclass(frozen=True, slots=True)
class RowKind:
    """Rows of one table that belong to editions by its column ``document``, and go with them."""

    table: str
    key: str
    """The columns of the primary key, as a list for SQL."""
    word: str
    """What people call such a row."""
    shown: str
    """The SQL expression that shows people which row it is, with ``t`` for the table."""
    put: Put | None = None
    """Inserts staged rows. None where the publication itself writes the rows, or where nothing does yet."""
    derived: type[Derived] = Derived
    """What a commit works out of the rows."""
    compared: bool = False
    """Whether two graphs are compared row by row; else by what is read of them."""
    faults: tuple[tuple[str, str], ...] = ()
    """What may be wrong: a name for people, and a query of (row for people, doc_id or ''). That a row has no document is
    asked of all kinds."""


_KINDS = (
    RowKind("instance", "owner, n, document", "evidence", "t.owner || '/' || t.n", put=put_instances),
    RowKind(
        "mention",
        "concept, document, ordinal",
        "mention",
        "coalesce((SELECT name FROM concept WHERE key = t.concept), '')",
        faults=(
            (
                "mention without a concept",
                "SELECT coalesce(d.doc_id, '?'), coalesce(d.doc_id, '') FROM mention m LEFT JOIN concept c"
                " ON c.key = m.concept LEFT JOIN document d ON d.key = m.document WHERE c.key IS NULL",
            ),
        ),
    ),
    RowKind(
        "introduced",
        "document, short, long",
        "acronym",
        "t.short || ' ' || t.long",
        put=joined.introduce,
        compared=True,
    ),
    RowKind(
        "candidate",
        "document, folded",
        "candidate",
        "t.folded",
        put=terms.put_candidates,
        derived=terms.Terms,
        compared=True,
        faults=(
            (
                "terms of another size",
                "SELECT f.ontology, '' FROM term_file f WHERE f.size != (SELECT coalesce(sum(t.size), 0) FROM term t"
                " WHERE t.ontology = f.ontology)",
            ),
            (
                "term that lacks documents",
                "SELECT t.folded, '' FROM term t WHERE t.documents != (SELECT count(*) FROM candidate c JOIN document d"
                " ON d.key = c.document"
                f" WHERE c.ontology = t.ontology AND c.folded = t.folded AND d.state = {SHOWN})",
            ),
        ),
    ),
    RowKind(
        "named",
        "owner, document, matched",
        "place",
        "t.owner",
        put=named.put_named,
        derived=named.Named,
        compared=True,
        faults=(
            (
                "concept that lacks places",
                "SELECT c.name, '' FROM concept c WHERE c.live AND c.named_size != (SELECT coalesce(sum(n.size), 0)"
                f" FROM named n JOIN document d ON d.key = n.document WHERE n.owner = c.concept_id AND d.state = {SHOWN})",
            ),
        ),
    ),
    RowKind(
        "claim",
        "document, ordinal",
        "claim",
        "coalesce(nullif(t.claim_id, ''), t.ordinal)",
        put=claims.put_claims,
        derived=claims.Claims,
        compared=True,
    ),
    RowKind("record", "record_id", "record", "t.record_id"),
)

KINDS: dict[str, RowKind] = {kind.table: kind for kind in _KINDS}
"""The kinds by table, in the order in which their rows are staged, counted and removed."""

OF_DOCUMENTS = ("earlier_text",)
"""Tables whose rows are about documents by ``doc_id`` and stay when these leave, until a purge takes them."""


def rows_of(connection: sqlite3.Connection, table: str, ontology: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table in the visible editions of an ontology, in order of their values."""
    columns = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
    values = [_IDS.get(name, f't."{name}"') if kind == "INTEGER" else f't."{name}"' for _, name, kind, *_ in columns]
    yield from connection.execute(
        f'SELECT {", ".join(values)} FROM document d CROSS JOIN "{table}" t ON t.document = d.key'
        f" WHERE d.ontology = ? AND d.state = {SHOWN} ORDER BY {', '.join(str(n) for n in range(1, len(values) + 1))}",
        (ontology,),
    )
