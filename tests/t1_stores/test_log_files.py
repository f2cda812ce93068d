"""Logs that anybody of a home appends to, and that end somewhere."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgfs.stores import error_log
from kgfs.stores.error_log import ErrorLog, elder, open_log

pytestmark = pytest.mark.logs("Note: words")


@pytest.fixture(autouse=True)
def enough(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(error_log, "ENOUGH", 10_000)
    return error_log.ENOUGH


def test_a_log_and_its_elder_are_all_there_is(tmp_path: Path, enough: int) -> None:
    path = tmp_path / "log" / "errors.ndjson"
    log = ErrorLog(path)
    for n in range(1000):
        log.add("worker", "words " * 10, n=n)
    assert {found.name for found in path.parent.iterdir()} == {path.name, elder(path).name}
    kept = [json.loads(line)["n"] for file in (elder(path), path) for line in file.read_bytes().splitlines()]
    assert kept == list(range(kept[0], 1000))
    assert all(0 < file.stat().st_size < enough + 200 for file in (path, elder(path)))
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in (path, elder(path)))


def test_nothing_is_lost_where_many_find_it_large_at_once(tmp_path: Path, enough: int) -> None:
    """One alone makes it the elder: the next would put a log of a few lines in its place."""
    for round_ in range(20):
        path = tmp_path / f"{round_}.ndjson"
        path.write_bytes(b"x" * enough)
        log = ErrorLog(path)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n, log=log: log.add("chores", "words", n=n), range(32)))
        assert elder(path).read_bytes().startswith(b"x" * enough)
        lines = elder(path).read_bytes()[enough:].splitlines() + path.read_bytes().splitlines()
        assert sorted(json.loads(line)["n"] for line in lines) == list(range(32))


def test_it_goes_on_growing_where_it_can_have_no_elder(tmp_path: Path, enough: int) -> None:
    path = tmp_path / "errors.ndjson"
    elder(path).mkdir()
    path.write_bytes(b"x" * enough)
    ErrorLog(path).add("worker", "words")
    assert b"words" in path.read_bytes()


def test_who_has_it_open_appends_to_the_elder(tmp_path: Path, enough: int) -> None:
    path = tmp_path / "mount.log"
    before = open_log(path)
    os.write(before, b"x" * enough)
    os.close(open_log(path))
    os.write(before, b"last words")
    os.close(before)
    assert elder(path).read_bytes().endswith(b"last words")
    assert path.read_bytes() == b""
