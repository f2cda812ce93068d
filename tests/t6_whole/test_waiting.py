"""When ``kgfs wait`` gives up, and what it says then. When a verb that stays gives up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app import backlog, timing
from kgfs.app.home import open_home
from kgfs.config import Config, load
from kgfs.errors import NoWorkerError, UnavailableError
from kgfs.ingest.storing.settle import Settler
from kgfs.knowledge.backlog import Owed
from kgfs.settings import Pipeline, Vectors
from kgfs.stores.catalog.rows import Job
from kgfs.stores.worker_lock import WorkerLock
from kgfs.tree.node import Folder
from tests.support.library import ME, Library, library_at

NOTE = "Zen/documents/note.txt"
ENDED = "bolt://127.0.0.1:1: nobody listens there."


@pytest.fixture
def owing(home: Path) -> Iterator[Library]:
    """A path waits until it is quiet."""
    with library_at(home) as library:
        library.root.make_folder("Zen", 0o755, ME)
        library.write(NOTE, b"Zen is a school.\n")
        yield library


@pytest.mark.claim("WORK-6")
def test_a_worker_that_begins_while_the_servers_are_asked_is_waited_for(
    owing: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, catalog = owing.context.config, owing.stores.catalog
    with ExitStack() as working:

        def meanwhile(config: Config, haste: float) -> None:
            working.enter_context(WorkerLock(config.run))
            documents = owing.node("Zen/documents")
            assert isinstance(documents, Folder)
            documents.remove_file("note.txt")

        monkeypatch.setattr(timing, "NO_WORKER", 0.0)
        monkeypatch.setattr(backlog, "away", meanwhile)
        backlog._wait(config, catalog, 0.0, lambda done, total, what: None, lambda reported: None)


@pytest.mark.claim("WORK-6")
def test_why_the_last_worker_ended_is_not_said_to_keep_another_from_beginning(
    owing: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may be back."""
    config = owing.context.config
    with WorkerLock(config.run) as lock:
        lock.note({"state": "ended", "reason": ENDED})
    monkeypatch.setattr(timing, "NO_WORKER", 0.0)
    with pytest.raises(NoWorkerError) as told:
        backlog._wait(config, owing.stores.catalog, 0.0, lambda done, total, what: None, lambda reported: None)
    assert "Start one: kgfs worker" in str(told.value) and str(told.value).endswith(f"before it could begin: {ENDED}")
    assert "cannot go on" not in str(told.value)


def reading(share: float) -> Owed:
    job = Job("read", "d", "o", 1, state="working", stage="extracting", progress=share)
    return Owed(unsettled=0, jobs=1, working=(job,), failed=0, unsupported=0, done=0)


def test_a_long_document_that_is_read_goes_on_though_a_server_is_away(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "STANDSTILL", 0.0)
    nobody = Vectors(store="qdrant", url="http://127.0.0.1:1")
    config = replace(load(home), vectors=nobody, pipeline=Pipeline(max_attempts=2))
    with open_home(load(home)) as stores:
        standstill = backlog._Standstill(config, Settler(config, stores))
        for step in range(5):
            standstill.check(reading(step / 5))
        with pytest.raises(UnavailableError, match="kgfs wait"):
            standstill.check(reading(4 / 5))
