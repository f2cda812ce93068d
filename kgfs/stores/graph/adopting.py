"""Replace the rows of the graph by those of another database, in one transaction."""

from __future__ import annotations

import sqlite3

from kgfs.errors import StoreError

BUILT = "built"
"""The schema name under which the other database is attached."""

_OWN = frozenset({"meta", "change", "ingest_version", "source_words"})
"""Tables that are not copied: their rows concern the database itself, or follow from other tables."""

_COMMITS = "commit"


def adopt(connection: sqlite3.Connection, ontology: str) -> int:
    """Replace all rows by those of the attached database; with ``ontology``, replace the rows of that ontology
    only. Return the new epoch, at which the change feed begins again. Runs in a transaction of the caller."""
    tables = {table: _columns(connection, table) for table in _tables(connection)}
    connection.execute("INSERT INTO source_words (source_words) VALUES ('delete-all')")
    # Tables without a column ``ontology`` first: their rows are selected through the tables that have one.
    for table in sorted(tables, key=lambda table: "ontology" in tables[table]):
        if not ontology:
            connection.execute(f'DELETE FROM "{table}"')
        elif table != _COMMITS:
            where, values = _rows_of(tables[table], table, "main", ontology)
            connection.execute(f'DELETE FROM "{table}" WHERE {where}', values)
    shifts = {table: _highest_key(connection, table) for table, columns in tables.items() if "key" in columns}
    for table, columns in tables.items():
        shifted = {"key": shifts.get(table, 0), "document": shifts["document"], "concept": shifts["concept"]}
        chosen = ", ".join(
            f'"{name}" + {shifted[name]}' if kind == "INTEGER" and shifted.get(name) else f'"{name}"'
            for name, kind in columns.items()
        )
        where, values = ("1", ()) if table == _COMMITS else _rows_of(columns, table, BUILT, ontology)
        listed = ", ".join(f'"{name}"' for name in columns)
        connection.execute(
            f'INSERT OR IGNORE INTO main."{table}" ({listed}) SELECT {chosen} FROM {BUILT}."{table}" WHERE {where}',
            values,
        )
    connection.execute(
        "INSERT INTO source_words (rowid, full_text) SELECT key, without_joiners(full_text) FROM main.source"
    )
    return _next_epoch(connection)


def _rows_of(columns: dict[str, str], table: str, schema: str, ontology: str) -> tuple[str, tuple[str, ...]]:
    """Return the WHERE condition, with its parameters, that selects an ontology's rows of a table."""
    if not ontology:
        return "1", ()
    if "ontology" in columns:
        return "ontology = ?", (ontology,)
    for name, other, key in (("document", "document", "key"), ("concept", "concept", "concept_id")):
        if name in columns:
            key = "key" if columns[name] == "INTEGER" else key
            return f"{name} IN (SELECT {key} FROM {schema}.{other} WHERE ontology = ?)", (ontology,)
    if table in ("insight_evidence", "session_entry"):  # for later formats; nothing fills these tables yet
        return "0", ()
    raise StoreError(f"Table {table} does not say which ontology its rows belong to.")


def _next_epoch(connection: sqlite3.Connection) -> int:
    epoch: int = connection.execute(
        f"SELECT max(value) FROM (SELECT value + 1 AS value FROM main.meta WHERE name = 'epoch'"
        f" UNION ALL SELECT value FROM {BUILT}.meta WHERE name = 'epoch')"
    ).fetchone()[0]
    connection.execute("DELETE FROM main.change")
    connection.execute(
        "UPDATE main.meta SET value = ? WHERE name IN ('epoch', 'changes_above', 'touched_above')", (epoch,)
    )
    connection.execute("UPDATE main.meta SET value = value + 1 WHERE name = 'clears'")
    return epoch


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [table for (table,) in found if table not in _OWN and not table.startswith("source_words_")]


def _columns(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    """Return the declared type of each column, by name."""
    return {name: kind for _, name, kind, *_ in connection.execute(f'PRAGMA main.table_info("{table}")')}


def _highest_key(connection: sqlite3.Connection, table: str) -> int:
    highest: int = connection.execute(f'SELECT coalesce(max(key), 0) FROM main."{table}"').fetchone()[0]
    return highest
