"""A home of a format before is opened, with what it lacks added; nothing else changes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.sqlite_files import HOME_FORMAT
from tests.support.golden.opening import Golden, unpacked
from tests.support.graph_building import Doc, publish


def _as_100(home: Path) -> None:
    for name in ("front.sqlite", "graph.sqlite", "vectors.sqlite"):
        with closing(sqlite3.connect(home / name)) as database:
            if name == "graph.sqlite":
                database.execute("ALTER TABLE document DROP COLUMN guessed_encoding")
                database.execute("DROP INDEX IF EXISTS term_heavy")
                database.execute("DROP TABLE claim_mark")
                database.execute("DROP TABLE claim")
                database.execute(
                    "CREATE TABLE claim (claim_id TEXT PRIMARY KEY, document INTEGER NOT NULL) WITHOUT ROWID"
                )
            database.execute("PRAGMA user_version=100")
            database.commit()
    note = home / "run" / "stores.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "format": "100"}))


def columns_and_indexes(graph: Graph) -> list[list[tuple[object, ...]]]:
    asked = (
        "PRAGMA table_info(claim)",
        "PRAGMA table_info(claim_mark)",
        "SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'claim' AND type = 'index' ORDER BY name",
    )
    return [graph._database.rows(one) for one in asked]


def test_a_home_of_format_100_is_opened(tmp_path: Path) -> None:
    unpacked(tmp_path)
    home = Golden(tmp_path / "home", tmp_path / "mnt")
    _as_100(home.home)
    with open_home(load(home.home)) as stores:
        ontology = stores.catalog.names.ontologies()[0]
        row = stores.graph.documents(ontology.id)[0]
        assert row.guessed_encoding == ""
        with closing(Graph()) as fresh:
            assert columns_and_indexes(stores.graph) == columns_and_indexes(fresh)
    with closing(sqlite3.connect(home.home / "graph.sqlite")) as database:
        assert database.execute("PRAGMA user_version").fetchone()[0] == HOME_FORMAT
    assert json.loads((home.home / "run" / "stores.json").read_text())["format"] == str(HOME_FORMAT)
    home.close()


def test_words_of_format_101_are_found_by_phrases(tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    texts = ["the sever\u00adance pay", "plain severance pay"]
    graph = Graph(path)
    publish(graph, Doc("a" * 16, texts=texts))
    graph.close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO source_words (source_words) VALUES ('delete-all')")
        database.execute("INSERT INTO source_words (rowid, full_text) SELECT key, full_text FROM source")
        database.execute("DROP TABLE claim_mark")  # which format 101 has not
        database.execute("PRAGMA user_version=101")
        database.commit()
    graph = Graph(path)
    assert {index for _, index in graph.sources_with_phrase("severance pay")} == {0, 1} and graph.faults() == []
    graph.close()
