"""Find rows of the graph that do not fit together. Each query is one scan of a table."""

from __future__ import annotations

import sqlite3

from kgfs.stores.graph.kinds import KINDS, RowKind
from kgfs.stores.graph.rows import SHOWN
from kgfs.stores.graph.vocabulary import Fault

_DANGLING = (
    ("source without a document", "SELECT s.chunk_id, '' FROM source s LEFT JOIN document d ON d.key = s.document WHERE d.key IS NULL"),
    (
        "evidence without an owner",
        "SELECT i.owner || '/' || i.n, d.doc_id FROM instance i JOIN document d ON d.key = i.document"
        f" WHERE d.state = {SHOWN} AND NOT EXISTS (SELECT 1 FROM concept c WHERE c.concept_id = i.owner)"
        " AND NOT EXISTS (SELECT 1 FROM relationship r WHERE r.relationship_id = i.owner)",
    ),
    (
        "concept without a mention",
        "SELECT c.name, '' FROM concept c WHERE c.live AND NOT EXISTS (SELECT 1 FROM mention m JOIN document d"
        f" ON d.key = m.document WHERE m.concept = c.key AND m.passed AND d.state = {SHOWN})",
    ),
    (
        "concept of which other things are said",
        "SELECT c.name, '' FROM concept c WHERE (SELECT coalesce(sum(s.mentions), 0) FROM saying s WHERE s.concept = c.key)"
        " != (SELECT count(*) FROM mention m JOIN document d ON d.key = m.document"
        f" WHERE m.concept = c.key AND d.state = {SHOWN})",
    ),
    (
        "concept of more or fewer documents",
        "SELECT c.name, '' FROM concept c WHERE c.live AND c.documents != (SELECT count(DISTINCT m.document) FROM mention m"
        f" JOIN document d ON d.key = m.document WHERE m.concept = c.key AND d.state = {SHOWN})",
    ),
    (
        "concept that lacks evidence",
        "SELECT c.name, '' FROM concept c WHERE c.live AND c.evidence != (SELECT count(*) FROM instance i JOIN document d"
        f" ON d.key = i.document WHERE i.owner = c.concept_id AND d.state = {SHOWN})",
    ),
    (
        "neighbour without a relationship",
        "SELECT n.concept || '/' || n.type || '/' || n.name, '' FROM neighbour n LEFT JOIN relationship r"
        " ON r.relationship_id = n.relationship_id WHERE r.relationship_id IS NULL OR (r.evidence = 0 AND r.by_name = 0)",
    ),
    (
        "document that lacks sources",
        f"SELECT d.doc_id, d.doc_id FROM document d WHERE d.state = {SHOWN}"
        " AND d.chunk_count != (SELECT count(*) FROM source s WHERE s.document = d.key)",
    ),
)  # fmt: skip

_WORDS = (
    "SELECT chunk_id, '' FROM source WHERE key NOT IN (SELECT id FROM source_words_docsize)"
    " UNION ALL SELECT 'row ' || id, '' FROM source_words_docsize WHERE id NOT IN (SELECT key FROM source)"
)


def faults(connection: sqlite3.Connection) -> list[Fault]:
    """Return all faults of the graph. Scans the tables."""
    queries = [*_DANGLING, *(query for kind in KINDS.values() for query in (_without_document(kind), *kind.faults))]
    found = [Fault(what, row, doc_id) for what, sql in queries for row, doc_id in connection.execute(sql).fetchall()]
    return found + [Fault("words", row, doc_id) for row, doc_id in connection.execute(_WORDS).fetchall()]


def _without_document(kind: RowKind) -> tuple[str, str]:
    sql = f"SELECT {kind.shown}, '' FROM {kind.table} t LEFT JOIN document d ON d.key = t.document WHERE d.key IS NULL"
    return f"{kind.word} without a document", sql
