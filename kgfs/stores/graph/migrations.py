"""What was added to ``schema.sql`` since it was first published; see ``kgfs.stores.migrations`` for the rules."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    # What was deposited since something, without a walk over all documents.
    "CREATE INDEX document_deposit ON document (ontology, deposit) WHERE state = 1;",
    # What persons said about the concept of a label; see Mark.
    """CREATE TABLE mark (
        mark     TEXT NOT NULL,
        concept  TEXT NOT NULL,
        ontology TEXT NOT NULL,
        joined   INTEGER NOT NULL,
        PRIMARY KEY (mark, concept)
    ) WITHOUT ROWID;
    CREATE INDEX mark_concept ON mark (concept);""",
)
