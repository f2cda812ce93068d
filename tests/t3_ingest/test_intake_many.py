"""Many files taken in at once: the same as one by one, with far fewer waits for the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kgfs.config import Config
from kgfs.ingest.writing.intake import TOGETHER, Ingested
from kgfs.settings import Tree
from tests.support.depositing import Desk, desk_at


def sources(folder: Path, contents: dict[str, bytes]) -> list[Path]:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def taken(desk: Desk, files: list[Path], *, force: bool = False) -> list[tuple[str, str]]:
    """(name, decision or kind of error) of each, in order."""
    done = list(desk.deposits.ingest_files([(file, file.name) for file in files], "Notes", force=force))
    return [(path.name, told.decision if isinstance(told, Ingested) else type(told).__name__) for path, told in done]


def test_many_wait_for_the_journal_once_a_batch(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sources(tmp_path, {f"{n}.txt": b"number %d" % n for n in range(3 * TOGETHER)})
    desk.ontology("Notes")
    monkeypatch.setattr("kgfs.stores.timing.SYNC_WITHIN", 3600.0)  # what the second's passing syncs is not counted
    syncs: list[str] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor: syncs.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    assert {decision for _, decision in taken(desk, files)} == {"insert"}
    # Each object of the garage has its own, side by side with others; the catalog, one after the other, one a batch.
    assert sum(path.endswith("front.sqlite-wal") for path in syncs) <= len(files) // TOGETHER + 1
    assert desk.catalog.names.unsettled(quiet_before=2**63 - 1) == []


def test_each_is_told_of_what_would_be_alone(desk: Desk, tmp_path: Path) -> None:
    files = sources(
        tmp_path,
        {"a.txt": b"one", "b.txt": b"one", "c.txt": b"", "other/a.txt": b"two", "large.txt": b"x" * 200_000},
    )
    files.insert(2, tmp_path / "missing.txt")
    assert sorted(taken(desk, files)) == [
        ("a.txt", "insert"),
        ("a.txt", "update"),
        ("b.txt", "in_progress"),
        ("c.txt", "none"),
        ("large.txt", "insert"),
        ("missing.txt", "MissingError"),
    ]
    standing = desk.catalog.names.child(desk.ontology().root, "a.txt")
    assert standing is not None
    assert desk.read(standing.id) == b"two"
    assert desk.spool_files() == []
    assert taken(desk, [tmp_path / "b.txt", tmp_path / "c.txt"]) == [("b.txt", "skip"), ("c.txt", "none")]


@pytest.mark.logs("refuse DuplicateError")
def test_what_is_refused_is_told_of_and_the_others_go_on(home: Path, tmp_path: Path) -> None:
    with desk_at(home, Config(home, tree=Tree(on_duplicate="refuse"))) as desk:
        files = sources(tmp_path, {"a.txt": b"one", "b.txt": b"one", "c.txt": b"three"})
        assert taken(desk, files) == [("a.txt", "insert"), ("b.txt", "DuplicateError"), ("c.txt", "insert")]


def test_a_name_that_somebody_has_open_is_left_to_its_writer(desk: Desk, tmp_path: Path) -> None:
    """It is replaced as by a rename: the writer goes on with the bytes it has."""
    files = sources(tmp_path, {"a.txt": b"one", "b.txt": b"two"})
    open_file = desk.deposits.open(desk.file("a.txt", b"before").id, write=True)
    assert taken(desk, files) == [("a.txt", "insert"), ("b.txt", "insert")]
    assert open_file.read(0, 10) == b"before"
    open_file.release()
