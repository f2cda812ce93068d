"""[tree] on_duplicate: bytes that an ontology has already, under another path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kgfs.config import load
from kgfs.errors import BadInputError, DuplicateError
from kgfs.ingest.storing.content import SMALL
from kgfs.settings import Tree
from tests.support.depositing import Desk, desk_at
from tests.support.peers.homes import lifecycle_of_garage

pytestmark = lifecycle_of_garage

BYTES = b"The same bytes twice."
LARGE = b"large " * SMALL


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    with desk_at(home, replace(load(home), tree=Tree(on_duplicate="refuse"))) as desk:
        yield desk


def refused(desk: Desk) -> list[dict[str, Any]]:
    lines = desk.config.errors_log.read_text().splitlines() if desk.config.errors_log.exists() else []
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("content", [BYTES, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.logs("refused")
def test_a_second_path_is_refused_at_the_flush_and_written_down(desk: Desk, content: bytes, settled: bool) -> None:
    first = desk.file("a.txt", content)
    if settled:
        desk.settle()
    with pytest.raises(DuplicateError, match=r"'b.txt' was refused: the same bytes stand at a.txt"):
        desk.file("b.txt", content)
    second = desk.catalog.names.resolve(desk.ontology().id, "b.txt")
    assert second is not None
    assert (second.size, second.sha256) == (0, ""), "the name stays, as empty as it was made"
    (line,) = refused(desk)
    assert (line["path"], line["ontology"], line["held_by"]) == ("b.txt", "Notes", "a.txt")
    assert line["sha256"] == desk.row(first.id).sha256
    assert datetime.fromisoformat(line["at"]).tzinfo is not None
    desk.settle()
    assert desk.stores.garage.objects.get(desk.row(first.id).key) == content, "what was refused is kept for the first"
    assert desk.spool_files() == []


@pytest.mark.logs("refused")
@pytest.mark.parametrize("content", [BYTES, LARGE], ids=["small", "large"])
def test_what_was_refused_is_a_version_though_its_holder_changes_at_once(desk: Desk, content: bytes) -> None:
    """Nobody has to wait for the holder's quiet time: it is settled by the refusal."""
    first = desk.file("a.txt", content)
    with pytest.raises(DuplicateError):
        desk.file("b.txt", content)
    desk.write(first.id, b"Other bytes.")
    desk.settle()
    versions = desk.catalog.names.versions(first.id)
    assert [version.n for version in versions] == [1, 2]
    document = desk.catalog.names.document(versions[0].doc_id)
    assert document is not None
    assert desk.stores.garage.objects.get(document.key) == content
    assert document.sha256 == refused(desk)[0]["sha256"]


def test_bytes_that_a_writer_may_still_change_refuse_nobody(desk: Desk) -> None:
    first = desk.file("a.txt")
    writer = desk.deposits.open(first.id, write=True)
    writer.write(0, BYTES)
    writer.flush()
    second = desk.file("b.txt", BYTES)
    writer.write(0, b"Other bytes.")
    writer.flush()
    writer.release()
    desk.settle()
    assert desk.read(second.id) == BYTES
    assert desk.row(second.id).version == 1
    assert refused(desk) == []


@pytest.mark.logs("refused")
def test_bytes_that_another_process_has_still_to_settle_refuse_nobody(desk: Desk, home: Path, tmp_path: Path) -> None:
    first = desk.file("a.txt", BYTES)
    (tmp_path / "copy.txt").write_bytes(BYTES)
    with desk_at(home, desk.config) as other:
        assert other.deposits.ingest_file(tmp_path / "copy.txt", "Notes").decision == "insert"
        desk.write(first.id, b"Other bytes.")
        assert refused(desk) == []
        with pytest.raises(DuplicateError):
            desk.write(first.id, BYTES)
    assert desk.read(first.id) == b"Other bytes."
    assert len(refused(desk)) == 1


@pytest.mark.logs("refused")
def test_a_refused_overwriting_leaves_the_version_before(desk: Desk) -> None:
    desk.file("a.txt", BYTES)
    second = desk.file("b.txt", b"Other bytes.")
    desk.settle()
    with pytest.raises(DuplicateError):
        desk.write(second.id, BYTES)
    assert desk.read(second.id) == b"Other bytes."
    assert desk.settle() == 0
    assert [version.n for version in desk.catalog.names.versions(second.id)] == [1]


@pytest.mark.logs("refused")
def test_what_may_be_written(desk: Desk) -> None:
    """The same path again, names that make no document, other ontologies, and the path once the first one left it."""
    first = desk.file("a.txt", BYTES)
    desk.settle()
    desk.write(first.id, BYTES)
    hidden = desk.file(".a.txt.swp", BYTES)
    desk.file("a.txt", BYTES, parent=desk.ontology("Other").root)
    empty = desk.file("empty", b"")
    assert empty.size == 0
    desk.settle()
    with pytest.raises(DuplicateError):
        desk.deposits.move(hidden.id, desk.ontology().root, "c.txt", replace=False)
    desk.deposits.move(hidden.id, desk.ontology().root, "a.txt", replace=True)
    desk.settle()
    assert desk.row(hidden.id).version == 1, "an editor's save of what was there already"
    desk.deposits.remove(hidden.id)
    desk.file("c.txt", BYTES)
    desk.settle()
    assert len(refused(desk)) == 1


@pytest.mark.logs("refused")
def test_moves_between_ontologies_and_folders(desk: Desk) -> None:
    first = desk.file("a.txt", BYTES)
    other = desk.file("b.txt", BYTES, parent=desk.ontology("Other").root)
    desk.settle()
    with pytest.raises(DuplicateError):
        desk.deposits.move(other.id, desk.ontology().root, "b.txt", replace=False)
    desk.deposits.move(first.id, desk.ontology().root, "renamed.txt", replace=False)
    assert desk.row(other.id).ontology == desk.ontology("Other").id


@pytest.mark.logs("refused")
def test_ingest_is_refused_too_and_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.file("a.txt", BYTES)
    source = tmp_path / "copy.txt"
    source.write_bytes(BYTES)
    with pytest.raises(DuplicateError) as caught:
        desk.deposits.ingest_file(source, "Notes")
    assert caught.value.exit_code == 5
    assert desk.catalog.names.resolve(desk.ontology().id, "copy.txt") is None
    assert desk.deposits.ingest_file(source, "Notes", "a.txt").decision == "skip", "settled by the refusal"
    assert len(refused(desk)) == 1


def test_an_alias_is_what_it_is_by_default(home: Path) -> None:
    with desk_at(home) as desk:
        desk.file("a.txt", BYTES)
        desk.settle()
        second = desk.file("b.txt", BYTES)
        desk.settle()
        assert desk.row(second.id).decision == "in_progress"
        assert refused(desk) == []


def test_only_two_words_are_settings(home: Path) -> None:
    assert load(home, environ={"KGFS_TREE_ON_DUPLICATE": "refuse"}).tree.on_duplicate == "refuse"
    with pytest.raises(BadInputError, match="'alias' or 'refuse'"):
        load(home, environ={"KGFS_TREE_ON_DUPLICATE": "forbid"})
