"""What is added to the databases of a home that an earlier kgfs made. Entries are never edited once they are published."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

_JOINED = "full_text <> without_joiners(full_text)"

MIGRATIONS: Mapping[int, Mapping[str, tuple[str, ...]]] = {
    100: {
        "document": ("ALTER TABLE document ADD COLUMN guessed_encoding TEXT NOT NULL DEFAULT ''",),
        "term": ("CREATE INDEX IF NOT EXISTS term_heavy ON term (ontology, count DESC, folded) WHERE size > 0",),
    },
    101: {
        "claim": (
            "DROP TABLE claim",  # nothing ever filled it
            "CREATE TABLE claim ( document INTEGER NOT NULL REFERENCES document (key), ordinal INTEGER NOT NULL, "
            "ontology TEXT NOT NULL, own_id TEXT NOT NULL, claim_id TEXT NOT NULL, claim TEXT NOT NULL, "
            "role TEXT NOT NULL, domain TEXT NOT NULL, actor TEXT NOT NULL, actor_class TEXT NOT NULL, "
            "timeframe TEXT NOT NULL, timeframe_class TEXT NOT NULL, time_horizon TEXT NOT NULL, "
            "scope TEXT NOT NULL, authority TEXT NOT NULL, confidence REAL NOT NULL, added TEXT NOT NULL, "
            "rejected TEXT NOT NULL, chunk_index INTEGER NOT NULL, chunk_id TEXT NOT NULL, quote TEXT NOT NULL, "
            "char_start INTEGER NOT NULL, char_end INTEGER NOT NULL, byte_start INTEGER NOT NULL, "
            "byte_end INTEGER NOT NULL, line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, "
            "section_path TEXT NOT NULL, page INTEGER, locator TEXT NOT NULL, vector BLOB NOT NULL, "
            "vector_model TEXT NOT NULL, stems TEXT NOT NULL, actor_key TEXT NOT NULL, measures TEXT NOT NULL, "
            "PRIMARY KEY (document, ordinal) ) WITHOUT ROWID",
            "CREATE INDEX claim_shown ON claim (claim_id, document) WHERE claim_id != ''",
            "CREATE INDEX claim_listed ON claim (ontology, role, claim_id) WHERE claim_id != ''",
            "CREATE INDEX claim_about ON claim (ontology, actor_key, measures) WHERE claim_id != ''",
            "CREATE INDEX claim_own ON claim (own_id) WHERE claim_id != ''",
            "CREATE INDEX claim_rejected ON claim (ontology, document, ordinal) WHERE claim_id = ''",
            "CREATE TABLE claim_mark ( claim_id TEXT PRIMARY KEY, ontology TEXT NOT NULL, "
            "into_id TEXT NOT NULL ) WITHOUT ROWID",
        ),
        "source_words": (
            "INSERT INTO source_words (source_words, rowid, full_text)"
            f" SELECT 'delete', key, full_text FROM source WHERE {_JOINED}",
            f"INSERT INTO source_words (rowid, full_text) SELECT key, without_joiners(full_text) FROM source WHERE {_JOINED}",
        ),
    },
    102: {"source": ("CREATE INDEX IF NOT EXISTS source_gated ON source (document, gated) WHERE gated != ''",)},
}
"""Format → table → statements that make the next format of a database that has the table. They add, make anew what was empty,
and index words as the next format does."""


def migrate(db: sqlite3.Connection) -> int:
    """Bring a database to the newest format that its own leads to, in one transaction; return the format.

    Of two processes that open it, one migrates. A kill leaves the format as it was.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
        while found in MIGRATIONS:
            for table, statements in MIGRATIONS[found].items():
                if db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone():
                    for statement in statements:
                        db.execute(statement)
            found += 1
        db.execute(f"PRAGMA user_version={found}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return found
