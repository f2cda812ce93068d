"""The graph's table ``ingest_version``: a history of the ingest logic, for readers that query the file directly."""

from __future__ import annotations

from kgfs.domain.documents import INGEST_VERSIONS
from kgfs.stores.database import Database


def keep_history(database: Database) -> None:
    """Write the description of each known ingest version. Writes only rows that differ, so that opening a graph is
    quick."""
    found = {
        row[0]: tuple(row[1:])
        for row in database.rows("SELECT version, description, breaking_changes FROM ingest_version")
    }
    missing = [
        (number, version.description, int(version.breaking))
        for number, version in INGEST_VERSIONS.items()
        if found.get(number) != (version.description, int(version.breaking))
    ]
    if missing:
        with database.write(durable=False) as connection:
            connection.executemany(
                "INSERT INTO ingest_version (version, description, breaking_changes) VALUES (?, ?, ?)"
                " ON CONFLICT (version) DO UPDATE SET description = excluded.description,"
                " breaking_changes = excluded.breaking_changes",
                missing,
            )
