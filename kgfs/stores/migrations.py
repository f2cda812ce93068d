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
        "source_words": (
            "INSERT INTO source_words (source_words, rowid, full_text)"
            f" SELECT 'delete', key, full_text FROM source WHERE {_JOINED}",
            f"INSERT INTO source_words (rowid, full_text) SELECT key, without_joiners(full_text) FROM source WHERE {_JOINED}",
        ),
    },
}
"""Format → table → statements that make the next format of a database that has the table. They only add, and index words as
the next format does."""


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
