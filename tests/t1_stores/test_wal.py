"""A database that several processes open at one moment, and that one process opens twice."""

from __future__ import annotations

import multiprocessing
import sqlite3
import subprocess
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

from kgfs.errors import KgfsError
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.graph.sqlite import Graph

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
