"""What was removed from a database is overwritten in its own pages, and everything else stays as it was."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.errors import BusyError, StoreError
from kgfs.stores import page_scrub, timing
from kgfs.stores.database import Database
from kgfs.stores.page_scrub import scrub_pages

SCHEMA = """
CREATE TABLE plain (id INTEGER PRIMARY KEY, said TEXT);
CREATE TABLE keyed (name TEXT PRIMARY KEY, said TEXT) WITHOUT ROWID;
CREATE INDEX plain_said ON plain (said);
CREATE VIRTUAL TABLE words USING fts5 (said);
"""
SECRET = "quxsecret"


def database_in(folder: Path, page_size: int = 4096) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "some.sqlite", isolation_level=None)
    connection.execute(f"PRAGMA page_size={page_size}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(SCHEMA)
    return connection


def rows(connection: sqlite3.Connection) -> list[list[tuple[object, ...]]]:
    return [connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ("plain", "keyed")]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32), page_size=st.sampled_from([512, 1024, 4096, 65536]))
def test_no_byte_of_a_removed_row_is_left(tmp_path_factory: pytest.TempPathFactory, seed: int, page_size: int) -> None:
    chance = random.Random(seed)
    folder = tmp_path_factory.mktemp("scrub")
    with closing(database_in(folder, page_size)) as connection:
        for n in range(chance.randint(1, 120)):
            is_secret = chance.random() < 0.5
            word = SECRET if is_secret else "stays"
            reported = f"{n} " + f"{word} {n} " * chance.choice([1, 5, 50, 400, 3000])
            connection.execute("INSERT INTO plain VALUES (?, ?)", (n, reported))
            connection.execute(
                "INSERT INTO keyed VALUES (?, ?)", (f"{word}{n}" * chance.randint(1, 90), reported[:9000])
            )
        if chance.random() < 0.5:  # some shrink in place
            connection.execute(f"UPDATE plain SET said = 'stays' WHERE said LIKE '%{SECRET}%' AND id % 3 = 0")
        for table in ("plain", "keyed"):
            connection.execute(f"DELETE FROM {table} WHERE said LIKE '%{SECRET}%'")
        before = rows(connection)
        scrub_pages(folder / "some.sqlite")
        assert rows(connection) == before
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("INSERT INTO plain (said) VALUES ('written afterwards')")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_a_connection_that_remembers_a_page_does_not_bring_it_back(tmp_path: Path) -> None:
    with closing(database_in(tmp_path)) as connection:
        connection.executemany("INSERT INTO plain VALUES (?, ?)", [(n, f"{SECRET} {n}") for n in range(40)])
        connection.execute("DELETE FROM plain WHERE id % 4 != 0 OR said LIKE '%q%' AND id > 20")
        scrub_pages(tmp_path / "some.sqlite")
        connection.execute("UPDATE plain SET said = 'stays'")
    left = (tmp_path / "some.sqlite").read_bytes()
    assert left.count(SECRET.encode()) == 0


def test_who_reads_sees_one_whole_state_meanwhile(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "some.sqlite", SCHEMA, "")) as database:
        with database.write(durable=False) as connection:
            connection.executemany("INSERT INTO plain VALUES (?, ?)", [(n, f"{n} {SECRET}") for n in range(4000)])
            connection.execute("DELETE FROM plain WHERE id % 2")
        assert database.row("SELECT count(*) FROM plain") == (2000,)
        scrub_pages(tmp_path / "some.sqlite")
        assert database.row("SELECT count(*), sum(id) FROM plain") == (2000, sum(range(0, 4000, 2)))


def test_a_database_that_is_read_on_and_on_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "WAL_BUSY", 0.2)
    with closing(database_in(tmp_path)) as connection:
        connection.execute("INSERT INTO plain (said) VALUES ('stays')")
        with closing(sqlite3.connect(tmp_path / "some.sqlite", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM plain").fetchall()
            connection.execute("INSERT INTO plain (said) VALUES ('later')")
            with pytest.raises(BusyError):
                page_scrub._scrub(tmp_path / "some.sqlite")


def test_a_damaged_database_is_told_of(tmp_path: Path) -> None:
    with closing(database_in(tmp_path)) as connection:
        connection.executemany("INSERT INTO plain VALUES (?, ?)", [(n, f"{n} stays" * 50) for n in range(400)])
    with open(tmp_path / "some.sqlite", "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(StoreError, match="not what it should be"):
        scrub_pages(tmp_path / "some.sqlite")
