"""An ontology that is kept in step with a folder: the steps of a watch on real stores, and a watch that runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgfs.errors import BusyError, KgfsError
from kgfs.ingest import timing
from kgfs.ingest.watching.folder import FolderWatch, Watched, watch_folder
from kgfs.ingest.writing.intake import Ingested
from kgfs.stores.watch_files import confirmation_of, notes_of, watch_states
from tests.support.depositing import Desk

OLD = time.time() - 3600


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def write(path: Path, text: str, age: float = 3600) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time.time() - age, time.time() - age))


class Told:
    """What a watch told of, as (path, decision or kind of error)."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def __call__(self, path: str, result: Ingested | KgfsError) -> None:
        self.rows.append((path, result.decision if isinstance(result, Ingested) else type(result).__name__))

    def take(self) -> list[tuple[str, str]]:
        rows, self.rows = sorted(self.rows), []
        return rows


@contextmanager
def watching(desk: Desk, vault: Path, told: Told, into: str = "") -> Iterator[FolderWatch]:
    with watch_folder(Watched(vault, "Notes", into), desk.config.home, desk.stores, desk.deposits, told) as watch:
        yield watch


def paths(desk: Desk) -> set[str]:
    """The files of the ontology, by path."""
    names, ontology = desk.catalog.names, desk.ontology("Notes")
    found, waiting = set(), [(ontology.root, "")]
    while waiting:
        folder, above = waiting.pop()
        for name in names.children(folder):
            if name.kind == "folder":
                waiting.append((name.id, f"{above}{name.name}/"))
                found.add(f"{above}{name.name}/")
            else:
                found.add(above + name.name)
    return found


def test_added_changed_renamed_removed(desk: Desk, vault: Path) -> None:
    told = Told()
    write(vault / "a.md", "alpha")
    write(vault / "sub/b.md", "beta")
    write(vault / "c.md", "gamma")
    with watching(desk, vault, told) as watch:
        watch.step()
        assert told.take() == [("a.md", "insert"), ("c.md", "insert"), ("sub/b.md", "insert")]
        watch.step()
        assert told.take() == []
        names = desk.catalog.names
        was = names.resolve(desk.ontology("Notes").id, "sub/b.md")
        write(vault / "a.md", "alpha, longer")
        (vault / "sub/b.md").rename(vault / "b2.md")
        (vault / "c.md").unlink()
        watch.step()
        assert told.take() == [("a.md", "update"), ("b2.md", "moved"), ("c.md", "removed")]
    assert paths(desk) == {"a.md", "b2.md"}  # and the empty folder is gone
    now = names.resolve(desk.ontology("Notes").id, "b2.md")
    assert was is not None
    assert now is not None
    assert now.id == was.id  # the same name moved, with its history
    assert [gone.path for gone in names.trash(0, removed_before=2**63 - 1)] == ["c.md"]


def test_notes_outlive_the_process_and_may_be_lost(desk: Desk, vault: Path) -> None:
    told = Told()
    write(vault / "a.md", "alpha")
    write(vault / "b.md", "beta")
    with watching(desk, vault, told, "from/vault") as watch:
        watch.step()
    notes = notes_of(desk.config.home, vault, "Notes", "from/vault")
    notes.write_bytes(notes.read_bytes() + b'["half a li')  # a kill
    (vault / "b.md").unlink()
    told.take()
    with watching(desk, vault, told, "from/vault") as watch:
        watch.step()
        assert told.take() == [("b.md", "removed")]
    notes.unlink()
    with watching(desk, vault, told, "from/vault") as watch:
        watch.step()
        assert told.take() == [("a.md", "skip")]
    assert paths(desk) == {"from/", "from/vault/", "from/vault/a.md"}


def test_a_loss_is_held_back_until_it_is_confirmed(desk: Desk, vault: Path) -> None:
    told = Told()
    write(vault / "a.md", "alpha")
    with watching(desk, vault, told) as watch:
        watch.step()
        (vault / "a.md").rename(vault.parent / "a.md")
        watch.step()
        assert "empty" in watch.held
        assert paths(desk) == {"a.md"}
        vault.rename(vault.parent / "away")
        watch.step()
        assert "cannot be read" in watch.held
        (vault.parent / "away").rename(vault)
        confirmation_of(notes_of(desk.config.home, vault, "Notes", "")).touch()
        watch.step()
        assert watch.held == ""
        assert paths(desk) == set()


def test_what_is_written_or_refused_is_tried_later(desk: Desk, vault: Path) -> None:
    told = Told()
    with watching(desk, vault, told) as watch, (vault / "growing.md").open("w") as file:
        file.write("a")
        file.flush()
        os.utime(vault / "growing.md", (OLD, OLD))
        write(vault / "fresh.md", "fresh", age=0)
        assert watch.step() <= timing.WATCH_QUIET
        assert told.take() == []
        file.close()
        write(vault / "fresh.md", "fresh")
        os.utime(vault / "growing.md", (OLD, OLD))
        watch.step()
        assert told.take() == [("fresh.md", "insert"), ("growing.md", "insert")]


def test_once_takes_what_nobody_writes_however_new_it_is(desk: Desk, vault: Path) -> None:
    told = Told()
    with watching(desk, vault, told) as watch:
        write(vault / "fresh.md", "fresh", age=0)
        write(vault / "talk.jsonl", "{}", age=0)
        assert watch.bring_in_step()
        assert told.take() == [("fresh.md", "insert"), ("talk.jsonl", "insert")]
        assert watch.bring_in_step() and told.take() == []


def test_one_process_at_a_time_watches_a_folder(desk: Desk, vault: Path) -> None:
    with (
        watching(desk, vault, Told()),
        pytest.raises(BusyError, match="another process"),
        watching(desk, vault, Told()),
    ):
        pass


@pytest.mark.logs("empty, and had")
def test_a_watch_in_the_foreground_follows_within_seconds(home: Path, vault: Path) -> None:
    """Changes are taken while it runs, and it ends by a signal; the home's status names it."""
    words = [sys.executable, "-m", "kgfs", "ingest", "--watch", str(vault), "--ontology", "Notes", "--home", str(home)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            write(vault / "new/a.md", "alpha")
            assert process.stdout.readline().split("\t")[0] == "new/a.md"
            begun = time.monotonic()
            write(vault / "new/deep/b.md", "beta")
            assert process.stdout.readline().split("\t")[0] == "new/deep/b.md"
            (vault / "new/a.md").unlink()
            assert process.stdout.readline().split("\t")[2] == "removed"
            assert time.monotonic() - begun < 10
            assert [(state["files"], state["alive"]) for state in watch_states(home)] in ([(1, True)], [(2, True)])
        finally:
            process.send_signal(signal.SIGTERM)
            _, complaints = process.communicate(timeout=20)
    assert (process.returncode, complaints) == (0, "")
    assert [state["alive"] for state in watch_states(home)] == [False]
