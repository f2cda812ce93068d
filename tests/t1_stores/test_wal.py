"""A database that several processes open for the first time at one moment."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

from kgfs.errors import KgfsError
from kgfs.stores.catalog.sqlite import SqliteCatalog
from kgfs.stores.graph.sqlite import SqliteGraph

AT_ONCE, TIMES = 4, 60


def open_all(folder: Path, together: Barrier, refused: multiprocessing.Queue[str]) -> None:
    for number in range(TIMES):
        together.wait()
        try:
            SqliteCatalog(folder / str(number) / "front.sqlite").close()
            SqliteGraph(folder / str(number) / "graph.sqlite").close()
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
