"""What is wrong with a database file is told; what is not is not.

A database that several processes open at one moment, and that one process opens twice.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from kgfs.errors import KgfsError, StoreError
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.database import copy_database, fault_of, remove_database
from kgfs.stores.graph.sqlite import Graph

SCHEMA = "CREATE TABLE n (a TEXT NOT NULL, o TEXT NOT NULL, i INTEGER NOT NULL, PRIMARY KEY (a, i)) WITHOUT ROWID"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "some % name?.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(SCHEMA)
        db.execute("CREATE TABLE r (x)")
        db.execute("BEGIN")
        db.executemany("INSERT INTO n VALUES (?, 'o', ?)", [(f"a{n}", n) for n in range(3000)])
        db.executemany("INSERT INTO r VALUES (?)", [(os.urandom(200),) for _ in range(300)])
        db.execute("COMMIT")
    return path


@pytest.mark.parametrize("deep", [False, True])
def test_a_whole_one_has_none(database: Path, deep: bool) -> None:
    assert fault_of(database, deep=deep) == "", "though some versions of SQLite see NULLs in it"


@pytest.mark.parametrize("deep", [False, True])
def test_overwritten_pages_are_seen(database: Path, deep: bool) -> None:
    raw = bytearray(database.read_bytes())
    raw[4096 * 9 : 4096 * 9 + 300] = b"\xff" * 300
    database.write_bytes(raw)
    assert fault_of(database, deep=deep).startswith("damaged")


def test_a_schema_that_is_no_text_is_damage(tmp_path: Path) -> None:
    """SQLite quotes it when it complains, which Python cannot decode."""
    for path in (tmp_path / "front.sqlite", tmp_path / "graph.sqlite"):
        open_one = Catalog if path.name == "front.sqlite" else Graph
        open_one(path).close()
        raw = bytearray(path.read_bytes())
        for at in range(len(raw)):
            if raw[at : at + 13] == b"CREATE TABLE ":
                raw[at + 13 : at + 18] = b"\xab\xab( \xab"
        path.write_bytes(raw)
        assert fault_of(path).startswith("damaged")
        with pytest.raises(StoreError, match=r"kgfs (check|rebuild)"):
            open_one(path)


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no database " * 1000)
    assert "not a database" in fault_of(tmp_path / "x")


def test_a_copy_is_one_file_and_as_of_one_moment(database: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM n")
        copy_database(database, tmp_path / "copy")
        db.execute("COMMIT")
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy"]
    with closing(sqlite3.connect(tmp_path / "copy")) as copy:
        assert copy.execute("SELECT count(*) FROM n").fetchone() == (3000,)
    remove_database(tmp_path / "copy")
    remove_database(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


AT_ONCE, TIMES = 4, 60


def open_all(folder: Path, together: Barrier, refused: multiprocessing.Queue[str]) -> None:
    for number in range(TIMES):
        together.wait()
        try:
            Catalog(folder / str(number) / "front.sqlite").close()
            Graph(folder / str(number) / "graph.sqlite").close()
        except KgfsError as error:
            refused.put(str(error))
    refused.put("")


def test_a_new_one_is_refused_to_nobody(tmp_path: Path) -> None:
    spawned = multiprocessing.get_context("spawn")
    together, refused = spawned.Barrier(AT_ONCE), spawned.Queue()
    opening = [spawned.Process(target=open_all, args=(tmp_path, together, refused)) for _ in range(AT_ONCE)]
    for process in opening:
        process.start()
    heard = []
    while heard.count("") < AT_ONCE:
        heard.append(refused.get(timeout=600))
    for process in opening:
        process.join()
    assert [error for error in heard if error] == []


def test_a_process_that_opens_it_twice_keeps_its_locks(tmp_path: Path) -> None:
    """Else the next process that closes it takes itself for the last one, and deletes the log that this one goes on writing."""
    path = tmp_path / "graph.sqlite"
    first, second = Graph(path), Graph(path)
    log = path.with_name("graph.sqlite-wal").stat().st_ino
    code = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM meta').fetchall(); db.close()"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert path.with_name("graph.sqlite-wal").stat().st_ino == log
    first.clear()
    reader = sqlite3.connect(path)
    assert reader.execute("SELECT value FROM meta WHERE name = 'clears'").fetchone() == (1,)
    reader.close()
    second.close()
    first.close()
