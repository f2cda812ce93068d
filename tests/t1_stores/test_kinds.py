"""A kind of row that nothing but one row of the table names: what the store does with it follows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kgfs.stores.graph import kinds
from kgfs.stores.graph.comparing import difference
from kgfs.stores.graph.kinds import KINDS, OF_DOCUMENTS, RowKind
from kgfs.stores.graph.rows import Derived
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Batch, DocumentRow, Fault
from kgfs.stores.sqlite_files import fill
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, prepared

ONE = Doc("a" * 16, [Told("Zen", 2)])
OTHER = Doc("b" * 16, [Told("Zen"), Told("Koan")], deposit=2)
WORDS = {ONE.doc_id: ["quxfirst", "quxsecond"], OTHER.doc_id: ["quxother"]}


def put_toys(
    connection: sqlite3.Connection, edition: int, document: DocumentRow | None, rows: Sequence[tuple[str, str]]
) -> None:
    connection.executemany("INSERT OR REPLACE INTO toy VALUES (?, ?, ?)", [(edition, *row) for row in rows])


class Toys(Derived):
    """A toy about a concept goes with it."""

    def strike(self, key: int, concept_id: str) -> None:
        self._sql.execute("DELETE FROM toy WHERE owner = ?", (concept_id,))


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    table = """CREATE TABLE IF NOT EXISTS toy (document INTEGER NOT NULL REFERENCES document (key), word TEXT NOT NULL,
        owner TEXT NOT NULL, PRIMARY KEY (document, word)) WITHOUT ROWID;"""
    kind = RowKind("toy", "document, word", "toy", "t.word", put=put_toys, derived=Toys, compared=True)
    monkeypatch.setitem(KINDS, "toy", kind)

    def with_toys(connection: sqlite3.Connection, schema: str) -> None:
        fill(connection, schema)
        connection.execute(table)

    monkeypatch.setattr("kgfs.stores.database.fill", with_toys)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    graph = made(tmp_path / "graph.sqlite")
    yield graph
    graph.close()


def made(path: Path, documents: Sequence[Doc] = (ONE, OTHER)) -> Graph:
    graph = Graph(path)
    for doc in documents:
        batch, publication = prepared(graph, doc, doc.doc_id)
        graph.stage(doc.doc_id, doc.doc_id, batch)
        owners = [cid("Zen"), cid("Koan")]
        rows = list(zip(WORDS[doc.doc_id], owners, strict=False))
        graph.stage(doc.doc_id, doc.doc_id, Batch(rows={"toy": rows}, document=publication.document))
        graph.publish(publication)
    return graph


def differs(one: Graph, other: Graph) -> str:
    return difference(one, other, [ONTOLOGY], lambda done: None)


def test_it_is_staged_read_and_compared(graph: Graph, tmp_path: Path) -> None:
    assert list(graph.rows("toy", ONTOLOGY)) == [
        (ONE.doc_id, "quxfirst", cid("Zen")),
        (ONE.doc_id, "quxsecond", cid("Koan")),
        (OTHER.doc_id, "quxother", cid("Zen")),
    ]
    again = made(tmp_path / "again.sqlite")
    assert differs(graph, again) == ""
    with again._database.write(durable=True) as connection:
        connection.execute("UPDATE toy SET word = 'else' WHERE word = 'quxother'")
    assert "quxother" in differs(graph, again)
    again.close()


def test_a_purge_leaves_no_byte_of_it(graph: Graph, tmp_path: Path) -> None:
    assert "quxfirst" in bytes_below(tmp_path)
    graph.forget("gone", [ONE.doc_id], 2000)
    graph.redact([], [], [ONE.doc_id])
    assert "quxfirst" not in bytes_below(tmp_path) and "quxsecond" not in bytes_below(tmp_path)
    assert list(graph.rows("toy", ONTOLOGY)) == [(OTHER.doc_id, "quxother", cid("Zen"))]


def test_it_goes_with_a_concept_that_is_struck(graph: Graph) -> None:
    graph.forget("struck", [], 2000, [cid("Zen")])
    assert [word for _, word, _ in graph.rows("toy", ONTOLOGY)] == ["quxsecond"]


def test_what_is_built_beside_takes_its_place_and_clearing_empties_it(graph: Graph, tmp_path: Path) -> None:
    built = made(tmp_path / "built.sqlite", (OTHER,))
    for ontology in (ONTOLOGY, ""):
        graph.adopt(built, ontology)
        assert [word for _, word, _ in graph.rows("toy", ONTOLOGY)] == ["quxother"]
        assert differs(graph, built) == ""
    graph.clear()
    assert graph._database.rows("SELECT * FROM toy") == []
    built.close()


def test_a_check_finds_a_row_of_nothing(graph: Graph) -> None:
    assert graph.faults() == []
    with graph._database.write(durable=True) as connection:
        connection.execute("INSERT INTO toy VALUES (99, 'quxlost', '')")
    assert graph.faults() == [Fault("toy without a document", "quxlost")]


def test_every_table_with_rows_of_documents_is_a_kind(graph: Graph) -> None:
    """So no purge, no removal and no check can forget one."""
    tables = [name for (name,) in graph._database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    keys = {
        table: {name for _, name, *_, place in graph._database.rows(f'PRAGMA table_info("{table}")')}
        for table in tables
    }
    of_editions = {table for table, columns in keys.items() if "document" in columns}
    assert of_editions - {"source", "term"} == set(KINDS), "source has words in an index, term is a sum"
    assert {table for table, columns in keys.items() if "doc_id" in columns} - {"document"} == set(OF_DOCUMENTS)
    assert kinds.KINDS is KINDS


def bytes_below(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())
