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
    # All that a folder of concepts shows of them, so that a million are listed or looked up without their rows;
    # live, too: SQLite 3.40 asks for it although the condition says it.
    """DROP INDEX concept_listed;
    CREATE INDEX concept_listed ON concept (ontology, name, concept_id, mtime, live) WHERE live = 1;
    DROP INDEX concept_drawn;
    CREATE INDEX concept_drawn ON concept (ontology, concept_id, name, mtime, live) WHERE live = 1;""",
    # Bytes that words take on a line of concept.md, so that its size is known without it. Rows from before have a number
    # that makes any sum negative. Nothing is compared by page_hash any more.
    """ALTER TABLE instance ADD COLUMN quote_size INTEGER NOT NULL DEFAULT -1099511627776;
    ALTER TABLE document ADD COLUMN title_size INTEGER NOT NULL DEFAULT -1099511627776;
    ALTER TABLE concept ADD COLUMN label_size INTEGER NOT NULL DEFAULT -1099511627776;""",
    # An order of concepts that is the same in all homes that have read the same documents.
    """ALTER TABLE concept ADD COLUMN norm_hash TEXT NOT NULL DEFAULT '';
    UPDATE concept SET norm_hash = norm_hash(norm) WHERE live = 1;
    CREATE INDEX concept_hashed ON concept (ontology, norm_hash, concept_id, live) WHERE live = 1;
    DROP INDEX concept_popular;
    CREATE INDEX concept_popular ON concept (ontology, related + evidence DESC, norm_hash, concept_id) WHERE live = 1;""",
)
