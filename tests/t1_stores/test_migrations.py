"""A database made by an earlier kgfs is brought to the tables of this one, once, whole or not at all."""

from __future__ import annotations

import sqlite3
from importlib import resources
from pathlib import Path

import pytest

from kgfs.domain.documents import INGEST_VERSIONS, IngestVersion, State
from kgfs.errors import StoreError
from kgfs.stores.catalog import schema as catalog
from kgfs.stores.catalog.encoding import encode
from kgfs.stores.catalog.facts import VersionMinted
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.database import Database
from kgfs.stores.graph.migrations import MIGRATIONS as GRAPH
from kgfs.stores.graph.sqlite import FORMAT, Graph
from kgfs.stores.migrations import newest, statements
from tests.support.catalog_building import Hand
from tests.support.graph_building import ONTOLOGY

FIRST = "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
SECOND = "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 7;\nCREATE INDEX by_size ON thing (size);\n"
THIRD = "CREATE TABLE other (id INTEGER PRIMARY KEY)"


def _made(path: Path, schema: str, version: int) -> None:
    with sqlite3.connect(path) as db:
        for statement in statements(schema):
            db.execute(statement)
        db.execute(f"PRAGMA user_version={version}")
    db.close()


def _format(path: Path) -> int:
    db = sqlite3.connect(path)
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return found


def test_each_missing_migration_is_carried_out_once_and_rows_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    first = Database(path, FIRST, 3, "")
    with first.write(durable=True) as connection:
        connection.execute("INSERT INTO thing VALUES (1, 'one')")
    first.close()
    assert _format(path) == 3
    Database(path, FIRST, 3, "", (SECOND,)).close()
    assert _format(path) == 4
    for _ in range(2):
        third = Database(path, FIRST, 3, "", (SECOND, THIRD))
        assert third.rows("SELECT id, name, size FROM thing") == [(1, "one", 7)]
        assert third.rows("SELECT count(*) FROM other") == [(0,)]
        third.close()
    assert _format(path) == 5


def test_a_new_file_has_the_tables_of_all_migrations(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.sqlite", FIRST, 3, "", (SECOND, THIRD))
    assert database.rows("SELECT count(*), (SELECT count(*) FROM other) FROM thing WHERE size = 7") == [(0, 0)]
    database.close()
    assert _format(tmp_path / "a.sqlite") == 5


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    _made(path, FIRST, 3)
    with pytest.raises(StoreError, match="no_such_table"):
        Database(path, FIRST, 3, "", (SECOND, "ALTER TABLE no_such_table ADD COLUMN x"))
    assert _format(path) == 3
    db = sqlite3.connect(path)
    assert [row[1] for row in db.execute("PRAGMA table_info(thing)")] == ["id", "name"]
    db.close()


@pytest.mark.parametrize("found", [2, 5])
def test_an_unknown_format_is_refused_and_left(tmp_path: Path, found: int) -> None:
    path = tmp_path / "a.sqlite"
    _made(path, FIRST, found)
    with pytest.raises(StoreError, match=f"has format {found}, this kgfs needs 4. Do this."):
        Database(path, FIRST, 3, "Do this.", (SECOND,))
    assert _format(path) == found


def test_a_journal_of_the_first_format_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "front.sqlite"
    _made(path, catalog.SCHEMA, catalog.VERSION)
    opened = Catalog(path)
    hand = Hand(opened)
    doc_id = hand.mint(hand.file("a.txt", "one"))
    document = opened.names.document(doc_id)
    assert document is not None and document.state is State.QUEUED
    opened.close()
    assert _format(path) == catalog.VERSION + len(catalog.MIGRATIONS)


@pytest.mark.claim("AGE-2")
def test_a_journal_of_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "front.sqlite"
    _made(path, catalog.SCHEMA, catalog.VERSION + len(catalog.MIGRATIONS) + 1)
    with pytest.raises(StoreError, match="a newer kgfs wrote it"):
        Catalog(path)


@pytest.mark.claim("AGE-2")
def test_what_knew_facts_by_the_names_of_classes_refuses_the_format_of_tags() -> None:
    """Such a kgfs knew formats up to 13."""
    assert newest(catalog.VERSION, catalog.MIGRATIONS) > 13


def test_a_graph_of_the_first_format_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    _made(path, resources.files("kgfs.stores.graph").joinpath("schema.sql").read_text("utf-8"), FORMAT)
    opened = Graph(path)
    assert (opened.epoch(), opened.counts(ONTOLOGY)["documents"]) == (0, 0)
    opened.close()
    assert _format(path) == FORMAT + len(GRAPH)


def test_decisions_of_before_are_taken_from_the_facts_at_hand(tmp_path: Path) -> None:
    path = tmp_path / "front.sqlite"
    _made(path, catalog.SCHEMA, catalog.VERSION)
    fact = VersionMinted(5, "o", 1, "d", "s", 3, "k", "o/a", "a", "insert", "new document", 9)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO entry VALUES (7, ?)", (encode(fact),))
        for n, deposit in ((1, 7), (2, 8)):  # the second's fact is not at hand any more
            db.execute("INSERT INTO version VALUES (5, ?, 'd', 's', 3, 'k', 'a', 9, ?)", (n, deposit))
        row = (5, "o", 4, "a", "file", 420, 0, 0, 9, 9, 9, 3, "", "garage", "s", "k", "d", 1, 1, 5, 9, 9, "")
        db.execute(f"INSERT INTO name VALUES ({', '.join('?' * len(row))})", row)
    db.close()
    opened = Catalog(path)
    try:
        versions = [(version.decision, version.reason) for version in opened.names.versions(5)]
        name = opened.names.name(5)
    finally:
        opened.close()
    assert versions == [("insert", "new document"), ("", "")]
    assert name is not None
    assert (name.decision, name.reason) == ("insert", "new document")


def test_a_graph_has_the_written_history_of_ingest_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.sqlite"

    def history() -> list[tuple[int, str, int]]:
        Graph(path).close()
        db = sqlite3.connect(path)
        rows = db.execute("SELECT version, description, breaking_changes FROM ingest_version ORDER BY 1").fetchall()
        db.close()
        return rows

    before = [(number, version.description, int(version.breaking)) for number, version in INGEST_VERSIONS.items()]
    assert history() == before
    newer = max(INGEST_VERSIONS) + 1
    with monkeypatch.context() as patch:
        patch.setitem(INGEST_VERSIONS, newer, IngestVersion("Pages", breaking=True))  # type: ignore[arg-type]
        assert history() == [*before, (newer, "Pages", 1)]
    assert history() == [*before, (newer, "Pages", 1)], "an older kgfs leaves what a newer one said"
