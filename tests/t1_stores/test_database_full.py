"""A transaction that fills the disk takes nothing of it in the end, so that others can write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.errors import NoSpaceError
from kgfs.stores.database import Database
from tests.support.small_disk import free, small_file_system

SCHEMA = "CREATE TABLE word (said TEXT);"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path, "4m") as folder:
        yield folder


def test_what_a_transaction_took_that_filled_the_disk_is_given_back(small_disk: Path) -> None:
    with closing(Database(small_disk / "words", SCHEMA, "")) as database:
        with database.write(durable=True) as connection:
            connection.execute("INSERT INTO word VALUES ('kept')")
        database.shorten_log()
        before = free(small_disk)
        with pytest.raises(NoSpaceError), database.write(durable=False) as connection:
            connection.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)"
                " INSERT INTO word SELECT printf('%4000d', i) FROM n"
            )
        assert free(small_disk) >= before - (64 << 10)
        assert database.rows("SELECT said FROM word") == [("kept",)]
        with database.write(durable=True) as connection:
            connection.execute("INSERT INTO word VALUES ('written since')")


def test_a_file_that_there_is_no_room_to_write_anew_is_scrubbed_in_its_place(small_disk: Path) -> None:
    with closing(Database(small_disk / "words", SCHEMA, "")) as database:
        for part in range(3):
            with database.write(durable=False) as connection:
                connection.executemany("INSERT INTO word VALUES (?)", [(f"{part} {'long ' * 100}",)] * 1000)
            database.shorten_log()
        with database.write(durable=False) as connection:
            connection.execute("DELETE FROM word WHERE said LIKE '1 %'")
        database.shorten_log()
        (small_disk / "others").write_bytes(b"x" * (free(small_disk) - (512 << 10)))
        before = free(small_disk)
        database.scrub()
        assert free(small_disk) >= before - (64 << 10)
        assert database.rows("SELECT count(*) FROM word") == [(2000,)]
    assert b"1 long" not in (small_disk / "words").read_bytes()
