"""Find rows of the graph that do not fit together. Each query is one scan of a table."""

from __future__ import annotations

import sqlite3

from kgfs.stores.graph.rows import SHOWN
from kgfs.stores.graph.vocabulary import Fault

_DANGLING = (
    ("source without a document", "SELECT s.chunk_id, '' FROM source s LEFT JOIN document d ON d.key = s.document WHERE d.key IS NULL"),
    ("evidence without a document", "SELECT i.owner || '/' || i.n, '' FROM instance i LEFT JOIN document d ON d.key = i.document WHERE d.key IS NULL"),
    (
        "evidence without an owner",
        "SELECT i.owner || '/' || i.n, d.doc_id FROM instance i JOIN document d ON d.key = i.document"
        f" WHERE d.state = {SHOWN} AND NOT EXISTS (SELECT 1 FROM concept c WHERE c.concept_id = i.owner)"
        " AND NOT EXISTS (SELECT 1 FROM relationship r WHERE r.relationship_id = i.owner)",
    ),
    ("mention without a document", "SELECT c.name, '' FROM mention m LEFT JOIN document d ON d.key = m.document LEFT JOIN concept c ON c.key = m.concept WHERE d.key IS NULL"),
    ("mention without a concept", "SELECT coalesce(d.doc_id, '?'), coalesce(d.doc_id, '') FROM mention m LEFT JOIN concept c ON c.key = m.concept LEFT JOIN document d ON d.key = m.document WHERE c.key IS NULL"),
    ("place without a document", "SELECT n.owner, '' FROM named n LEFT JOIN document d ON d.key = n.document WHERE d.key IS NULL"),
    (
        "terms of another size",
        "SELECT f.ontology, '' FROM term_file f WHERE f.size != (SELECT coalesce(sum(t.size), 0) FROM term t WHERE t.ontology = f.ontology)",
    ),
    (
        "term that lacks documents",
        "SELECT t.folded, '' FROM term t WHERE t.documents != (SELECT count(*) FROM candidate c JOIN document d ON d.key = c.document"
        f" WHERE c.ontology = t.ontology AND c.folded = t.folded AND d.state = {SHOWN})",
    ),
    (
        "concept that lacks places",
        "SELECT c.name, '' FROM concept c WHERE c.live AND c.named_size != (SELECT coalesce(sum(n.size), 0) FROM named n"
        f" JOIN document d ON d.key = n.document WHERE n.owner = c.concept_id AND d.state = {SHOWN})",
    ),
    (
        "concept without a mention",
        "SELECT c.name, '' FROM concept c WHERE c.live AND NOT EXISTS (SELECT 1 FROM mention m JOIN document d"
        f" ON d.key = m.document WHERE m.concept = c.key AND d.state = {SHOWN})",
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
    "SELECT chunk_id, '' FROM source WHERE gated = '' AND key NOT IN (SELECT id FROM source_words_docsize)"
    " UNION ALL SELECT 'row ' || id, '' FROM source_words_docsize WHERE id NOT IN (SELECT key FROM source WHERE gated = '')"
)


def faults(connection: sqlite3.Connection) -> list[Fault]:
    """Return all faults of the graph. Scans the tables."""
    found = [Fault(what, row, doc_id) for what, sql in _DANGLING for row, doc_id in connection.execute(sql).fetchall()]
    return found + [Fault("words", row, doc_id) for row, doc_id in connection.execute(_WORDS).fetchall()]
