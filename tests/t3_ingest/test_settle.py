"""What quiet bytes come to mean, and that they reach the garage whatever is killed when."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.config import load
from kgfs.domain.documents import Name, State, StorageTier
from kgfs.domain.identity import doc_id_of
from kgfs.errors import BusyError
from kgfs.ingest.storing.settle import Settler, alive_sessions, open_session
from kgfs.ingest.storing.settling_batch import bring_home, put_small
from kgfs.ingest.writing import trash
from kgfs.settings import Pipeline
from kgfs.stores.catalog.facts import DocumentFailed, DocumentForgotten, DocumentRead, Settled, VersionMinted
from kgfs.stores.garage.contract import Sums
from kgfs.stores.spool_file import SpoolFile
from kgfs.stores.stores import Stores
from tests.support.depositing import Desk, desk_at, open_desk
from tests.support.peers.homes import EMBEDDED

pytestmark = pytest.mark.peers(EMBEDDED, "seaweedfs", "minio")
BIG = b"0123456789abcdef" * 20_000
SECOND = 10**9


def decisions(desk: Desk) -> list[tuple[str, str]]:
    """(path, decision) of every version minted, in order."""
    facts = desk.catalog.facts(0, limit=10_000)
    assert facts is not None
    return [(fact.path, fact.decision) for _, fact in facts if isinstance(fact, VersionMinted)]


def read_by_worker(desk: Desk, doc_id: str) -> None:
    desk.catalog.record(DocumentRead(doc_id, "done", "reading", "decisions", "commit", (), time.time_ns()))


@pytest.mark.parametrize("content", [b"small", BIG])
def test_a_quiet_file_becomes_a_version(desk: Desk, content: bytes) -> None:
    name = desk.file("Notes.TXT", content)
    assert desk.settle() == 1
    row, ontology = desk.row(name.id), desk.ontology()
    sha256 = hashlib.sha256(content).hexdigest()
    assert row.settled
    assert row.place is StorageTier.GARAGE
    assert row.key == f"sources/Notes/{sha256[:32]}.txt"
    assert row.doc_id == doc_id_of(f"{ontology.id}/Notes.TXT", sha256)
    assert row.version == 1
    document = desk.catalog.names.document(row.doc_id)
    assert document is not None
    assert (document.state, document.source_id) == (State.QUEUED, f"{ontology.id}/Notes.TXT")
    assert [job.doc_id for job in desk.catalog.jobs.all()] == [row.doc_id]
    assert desk.stores.garage.objects.get(row.key) == content
    assert desk.catalog.inbox(sha256) is None
    assert desk.spool_files() == []
    assert desk.settle() == 0


def test_quiet_means_the_configured_time(home: Path) -> None:
    with desk_at(home, replace(load(home), pipeline=Pipeline(settle=5.0))) as desk:
        name = desk.file(content=b"bytes")
        settler, now = desk.deposits.settler, time.time_ns()
        assert settler.due(now + 4 * SECOND) == []
        assert settler.run_once(now + 4 * SECOND) == 0
        assert [due.id for due in settler.due(now + 6 * SECOND)] == [name.id]
        assert settler.run_once(now + 6 * SECOND) == 1
        assert settler.due(now + 60 * SECOND) == []


def test_nothing_is_settled_while_a_writer_has_it_open(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    writer = desk.deposits.open(name.id, write=True)
    assert desk.settle() == 0
    reader = desk.deposits.open(name.id)
    writer.write(0, b"B")
    writer.release()
    assert desk.settle() == 1
    assert desk.row(name.id).version == 1
    reader.release()


def test_not_even_when_a_writer_came_after_the_question(desk: Desk) -> None:
    name = desk.file(content=BIG)
    due = desk.deposits.settler.due(time.time_ns() + 60 * SECOND)
    assert [found.id for found in due] == [name.id]
    writer = desk.deposits.open(name.id, write=True)
    writer.truncate(0)
    writer.write(0, BIG * 2)
    writer.flush()
    assert desk.deposits.settler.settle(due) == {}
    assert desk.spool_files() == [desk.row(name.id).key]
    writer.release()
    assert [decision.action for decision in desk.deposits.settler.settle(due).values()] == ["insert"]
    assert desk.read(name.id) == BIG * 2


def test_new_bytes_are_a_new_version_and_the_same_bytes_none(desk: Desk) -> None:
    name = desk.file(content=b"one")
    desk.settle()
    desk.write(name.id, b"two")
    desk.settle()
    desk.write(name.id, b"two")
    assert not desk.row(name.id).settled
    desk.settle()
    assert desk.row(name.id).settled
    assert [(version.n, version.size) for version in desk.catalog.names.versions(name.id)] == [(1, 3), (2, 3)]
    assert decisions(desk) == [("a.txt", "insert"), ("a.txt", "update")]
    assert desk.row(name.id).place is StorageTier.GARAGE
    assert desk.catalog.inbox(desk.row(name.id).sha256) is None


def test_the_same_bytes_under_two_names_are_one_document(desk: Desk) -> None:
    one, two, three = (desk.file(f"{letter}.txt", b"same") for letter in "abc")
    desk.settle()
    rows = [desk.row(name.id) for name in (one, two, three)]
    assert {row.doc_id for row in rows} == {rows[0].doc_id}
    assert {row.key for row in rows} == {rows[0].key}
    assert [decision for _, decision in decisions(desk)] == ["insert", "in_progress", "in_progress"]
    read_by_worker(desk, rows[0].doc_id)
    desk.file("d.md", b"same")
    desk.settle()
    assert decisions(desk)[-1] == ("d.md", "alias")


def test_a_b_a_is_no_cycle(desk: Desk) -> None:
    name = desk.file(content=b"A")
    desk.settle()
    first = desk.row(name.id).doc_id
    read_by_worker(desk, first)
    desk.write(name.id, b"B")
    desk.settle()
    second = desk.row(name.id).doc_id
    desk.write(name.id, b"A")
    desk.settle()
    assert desk.row(name.id).doc_id == first != second
    assert [version.doc_id for version in desk.catalog.names.versions(name.id)] == [first, second, first]
    assert decisions(desk)[-1] == ("a.txt", "alias")
    document = desk.catalog.names.document(first)
    assert document is not None
    assert document.state is State.DONE


def test_bytes_that_come_back_are_revived_with_their_identity(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    desk.settle()
    before = desk.row(name.id)
    read_by_worker(desk, before.doc_id)
    desk.deposits.remove(name.id)
    desk.catalog.record(DocumentForgotten(before.doc_id, "orphans", "commit2", time.time_ns()))
    again = desk.file("other.md", b"bytes")
    desk.settle()
    after = desk.row(again.id)
    assert (after.doc_id, after.key) == (before.doc_id, before.key)
    assert decisions(desk)[-1] == ("other.md", "revive")
    assert [job.doc_id for job in desk.catalog.jobs.all()] == [before.doc_id]


def test_bytes_that_come_back_after_the_trash_is_emptied_are_new(home: Path) -> None:
    config = load(home)
    with desk_at(home, replace(config, tree=replace(config.tree, trash_days=0))) as desk:
        name = desk.file(content=b"bytes")
        desk.settle()
        doc_id = desk.row(name.id).doc_id
        read_by_worker(desk, doc_id)
        desk.deposits.remove(name.id)
        desk.catalog.record(DocumentForgotten(doc_id, "orphans", "commit2", time.time_ns()))
        desk.file("b.txt", b"bytes")
        desk.settle()
        assert decisions(desk)[-1] == ("b.txt", "insert")


def test_a_failed_document_is_tried_again_under_a_new_name(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    desk.settle()
    desk.catalog.record(DocumentFailed(desk.row(name.id).doc_id, "failed", "broken", time.time_ns()))
    desk.file("b.txt", b"bytes")
    desk.settle()
    assert decisions(desk)[-1] == ("b.txt", "reprocess")


NO_DOCUMENTS = [(".hidden", b"dot"), ("a.txt~", b"backup"), (".a.txt.swp", BIG), ("empty.txt", b"")]


@pytest.mark.parametrize(("file_name", "content"), NO_DOCUMENTS)
def test_what_is_no_document_is_kept_all_the_same(desk: Desk, file_name: str, content: bytes) -> None:
    name = desk.file(file_name, content)
    if not content:
        desk.write(name.id, content)
    assert desk.settle() == 1
    row = desk.row(name.id)
    assert (row.settled, row.version, row.doc_id) == (True, 0, "")
    assert row.place is (StorageTier.GARAGE if content else StorageTier.NONE)
    assert desk.read(name.id) == content
    assert desk.catalog.jobs.owed() == 0
    assert desk.spool_files() == []
    facts = desk.catalog.facts(0)
    assert facts is not None
    (settled,) = [fact for _, fact in facts if isinstance(fact, Settled)]
    assert settled.reason


def test_a_file_below_a_dot_folder_is_no_document_until_it_leaves(desk: Desk) -> None:
    folder = desk.deposits.make_folder(desk.ontology().root, ".hidden", 0o755, 0, 0)
    name = desk.file("a.txt", b"bytes", folder.id)
    desk.settle()
    assert desk.row(name.id).doc_id == ""
    desk.deposits.move(folder.id, desk.ontology().root, "shown", replace=False)
    desk.settle()
    assert decisions(desk) == [("shown/a.txt", "insert")]


def test_a_temporary_name_that_gets_its_real_one_is_keyed_by_it(desk: Desk) -> None:
    name = desk.file("a.txt.part", BIG)
    desk.settle()
    assert desk.row(name.id).key.endswith(".part")
    desk.deposits.move(name.id, name.parent, "a.txt", replace=False)
    desk.settle()
    assert desk.row(name.id).key.endswith(".txt")
    assert desk.stores.garage.objects.get(desk.row(name.id).key) == BIG
    assert desk.spool_files() == []


def test_a_file_moved_to_another_ontology_is_a_document_there(desk: Desk) -> None:
    name = desk.file(content=BIG)
    desk.settle()
    before = desk.row(name.id)
    other = desk.ontology("Other")
    desk.deposits.move(name.id, other.root, "b.txt", replace=False)
    desk.settle()
    after = desk.row(name.id)
    assert after.key == f"sources/Other/{before.sha256[:32]}.txt"
    assert after.doc_id not in ("", before.doc_id)
    assert desk.read(name.id) == BIG


def test_a_file_moved_aside_and_the_one_that_takes_its_place_settle_together(desk: Desk) -> None:
    moved = desk.file(content=b"old bytes")
    desk.settle()
    other = desk.ontology("Other")
    desk.deposits.move(moved.id, other.root, "b.txt", replace=False)
    successor = desk.file("a.txt", b"new bytes")
    desk.write(moved.id, b"bytes of its own")
    assert desk.settle() == 2, "neither is refused, with its bytes in the garage for nothing"
    assert decisions(desk) == [("a.txt", "insert"), ("a.txt", "update"), ("b.txt", "insert")]
    assert [version.n for version in desk.catalog.names.versions(successor.id)] == [1, 2]
    keys = {desk.row(name.id).key for name in (moved, successor)}
    garage = {key for prefix in ("Notes", "Other") for key, _ in desk.stores.garage.objects.keys(f"sources/{prefix}/")}
    assert keys < garage
    assert len(garage) == 3


def test_a_write_between_the_decision_and_its_record_is_not_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    name = desk.file(content=BIG)
    record = desk.catalog.record

    def late(*facts: object, **more: object) -> int:
        monkeypatch.undo()
        desk.write(name.id, b"newer")
        return record(*facts, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(desk.stores.catalog, "record", late)
    assert desk.settle() == 0
    assert desk.read(name.id) == b"newer"
    assert not desk.row(name.id).settled
    assert desk.settle() == 1
    assert desk.read(name.id) == b"newer"


def test_writers_and_settlers_at_once_lose_nothing(desk: Desk) -> None:
    names = [desk.file(f"{number}.txt") for number in range(4)]
    stop = threading.Event()

    def settle() -> None:
        while not stop.is_set():
            desk.deposits.settler.settle_now()

    settlers = [threading.Thread(target=settle) for _ in range(2)]
    for thread in settlers:
        thread.start()
    try:
        for turn in range(12):
            for number, name in enumerate(names):
                content = (b"%d-%d|" % (number, turn)) * (20_000 if turn % 2 else 5)
                desk.write(name.id, content)
                assert desk.read(name.id) == content
    finally:
        stop.set()
        for thread in settlers:
            thread.join()
    desk.settle()
    for name in names:
        versions = desk.catalog.names.versions(name.id)
        assert [version.n for version in versions] == list(range(1, len(versions) + 1))
        row = desk.row(name.id)
        assert hashlib.sha256(desk.stores.garage.objects.get(row.key)).hexdigest() == row.sha256 == versions[-1].sha256
        for version in versions:
            assert hashlib.sha256(desk.stores.garage.objects.get(version.key)).hexdigest() == version.sha256
    assert desk.spool_files() == []


def test_many_files_settle_in_the_order_they_came(desk: Desk) -> None:
    names = [desk.file(f"{number:03}.txt", b"%d" % number) for number in range(150)]
    assert desk.settle() == 150
    assert [path for path, _ in decisions(desk)] == [name.name for name in names]
    assert [job.doc_id for job in desk.catalog.jobs.all()] == [desk.row(name.id).doc_id for name in names]


@pytest.mark.logs("settle CorruptError: The kept bytes of 'bad.txt'")
def test_damage_before_the_garage_is_told_and_holds_up_nobody(home: Path) -> None:
    with desk_at(home) as desk:
        bad, good = desk.file("bad.txt", BIG), desk.file("good.txt", b"good")
        path = desk.config.spool / bad.key
        path.write_bytes(b"X" + path.read_bytes()[1:])
        desk.deposits.copies.remembered(bad.sha256)
        assert desk.settle() == 1
        assert desk.row(good.id).settled
        assert not desk.row(bad.id).settled
        assert "bad.txt" in desk.config.errors_log.read_text()
        assert desk.deposits.settler.run_once(time.time_ns() + SECOND) == 0
        assert len(desk.config.errors_log.read_text().splitlines()) == 1


def test_a_dead_sessions_files_are_settled_by_others(home: Path) -> None:
    dead = open_desk(home)
    name = dead.file(content=BIG)
    dead.close()
    with desk_at(home) as desk:
        bystander = Settler(desk.config, desk.stores, session=None)
        assert bystander.settle_now() == 1
        assert desk.read(name.id) == BIG


def test_a_living_sessions_files_are_its_own_business(home: Path) -> None:
    with desk_at(home) as alive, desk_at(home) as other:
        name = alive.file(content=b"bytes")
        assert other.deposits.settler.settle_now() == 0
        assert Settler(other.config, other.stores, session=None).settle_now() == 0
        assert alive.deposits.settler.settle_now() == 1
        assert other.row(name.id).settled


def test_sweeping_takes_only_what_dead_sessions_left(home: Path) -> None:
    with desk_at(home) as desk:
        spool = desk.config.spool
        (spool / "deadbeef-00").write_bytes(b"left over")
        kept = desk.file("kept.txt", BIG)
        file = desk.deposits.open(desk.file("open.txt").id, write=True)
        file.write(0, BIG)
        assert len(desk.spool_files()) == 3
        assert desk.deposits.settler.sweep() == 1
        assert kept.key in desk.spool_files()
        assert len(desk.spool_files()) == 2
        file.release()


def test_sweeping_leaves_what_is_still_being_copied(home: Path) -> None:
    with desk_at(home) as desk:
        copy = SpoolFile.make(desk.config.spool / "copy-00")
        assert desk.deposits.settler.sweep() == 0
        assert desk.spool_files() == ["copy-00"]
        copy.close()
        assert desk.deposits.settler.sweep() == 1
        assert desk.spool_files() == []


def test_inbox_rows_of_a_dead_session_go_unless_a_name_has_them(home: Path) -> None:
    dead = open_desk(home)
    name = dead.file(content=b"first")
    dead.write(name.id, b"second")
    dead.close()
    first, second = (hashlib.sha256(content).hexdigest() for content in (b"first", b"second"))
    with desk_at(home) as desk:
        assert desk.catalog.inbox(first) == b"first"
        desk.deposits.settler.sweep()
        assert desk.catalog.inbox(first) is None
        assert desk.catalog.inbox(second) == b"second"
        assert desk.read(name.id) == b"second"


_HOLDER = """
import sys, time
from pathlib import Path
from kgfs.ingest.storing.settle import open_session
session = open_session(Path(sys.argv[1]))
print(session.id, flush=True)
time.sleep(60)
"""


def test_a_session_lives_as_long_as_its_process(tmp_path: Path) -> None:
    run = tmp_path / "run"
    mine = open_session(run)
    process = subprocess.Popen([sys.executable, "-c", _HOLDER, str(run)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    other = process.stdout.readline().strip()
    assert alive_sessions(run) == sorted([mine.id, other])
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert alive_sessions(run) == [mine.id]
    mine.close()
    mine.close()
    assert alive_sessions(run) == []
    assert list(run.iterdir()) == []


_KILLED = """
import sys
from pathlib import Path
from tests.support.depositing import open_desk
desk = open_desk(Path(sys.argv[1]))
desk.file("small.txt", b"small")
desk.file("big.md", b"0123456789abcdef" * 20_000)
desk.file(".hidden", b"hidden" * 30_000)
desk.settle()
"""


@pytest.mark.peers(EMBEDDED)
@pytest.mark.parametrize(
    "border", ["kept", "kept:2", "kept:3", "garage-put", "garage-put:2", "garage-put:3", "settled"]
)
def test_a_kill_at_any_border_ends_the_same(home: Path, border: str) -> None:
    environ = {**os.environ, "KGFS_FAIL_AT": border}
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(home)], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with desk_at(home) as desk:
        made = {"small.txt": b"small", "big.md": BIG, ".hidden": b"hidden" * 30_000}
        rows = desk.catalog.names.children(desk.ontology().root)
        for row in rows:
            if row.sha256:
                assert desk.read(row.id) == made[row.name]
        desk.settle()
        for row in rows:
            assert desk.read(row.id) == (made[row.name] if row.sha256 else b"")
        desk.deposits.settler.sweep()
        assert desk.spool_files() == []
        kept = {row.name for row in rows if row.sha256}
        assert sorted(path for path, _ in decisions(desk)) == sorted(kept - {".hidden"})
        assert desk.catalog.jobs.owed() == len(kept - {".hidden"})
        assert not desk.config.errors_log.exists()


@pytest.mark.peers(EMBEDDED)
@pytest.mark.parametrize("border", ["garage-put", "garage-put:2", "garage-put:3"])
def test_what_a_kill_left_in_the_garage_goes_when_its_file_is_written_over(home: Path, border: str) -> None:
    """And what only the garage has stays until it is settled."""
    environ = {**os.environ, "KGFS_FAIL_AT": border}
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(home)], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with desk_at(home) as desk:
        objects = desk.stores.garage.objects
        rows = [row for row in desk.catalog.names.children(desk.ontology().root) if row.sha256]
        before = {row.id: desk.read(row.id) for row in rows}
        trash.empty(desk.stores, desk.deposits.settler)
        assert {row.id: desk.read(row.id) for row in rows} == before
        assert list(objects.keys("sources/"))
        for row in rows:
            desk.write(row.id, f"another {row.name}".encode())
        desk.settle()
        trash.empty(desk.stores, desk.deposits.settler)
        held = {key for key, _, _ in desk.catalog.promised()}
        assert {key for key, _ in objects.keys("sources/")} == held
        assert desk.catalog.unheld() == []


def test_a_spool_file_that_another_process_writes_is_not_made_an_object(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 100_000)
    with desk_at(home) as writing, desk_at(home) as other:
        row = writing.file("a.txt")
        file = writing.deposits.open(row.id, write=True)
        file.write(0, b"x" * 100_000)
        file.flush()
        with pytest.raises(BusyError, match="being written"):
            other.deposits.ingest_file(tmp_path / "a.txt", "Notes")
        other.deposits.move(row.id, writing.ontology().root, "b.txt", replace=False)
        other.deposits.move(row.id, writing.ontology().root, ".b", replace=False)
        assert other.settle() == 0
        file.write(100_000, b"y" * 50_000)
        file.flush()
        file.release()
        assert other.read(row.id) == b"x" * 100_000 + b"y" * 50_000
        assert writing.settle() == 1
        assert other.read(row.id) == b"x" * 100_000 + b"y" * 50_000


def test_the_inbox_row_of_what_was_removed_goes_also_when_nothing_is_to_be_settled(desk: Desk) -> None:
    row = desk.file("a.txt", b"small")
    desk.deposits.remove(row.id)
    assert desk.settle() == 0
    assert desk.catalog.inbox(row.sha256) is None


def test_what_is_kept_and_closed_just_while_it_is_looked_at_is_not_cut_off(
    desk: Desk, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log, say, that its writer had flushed before: the row that was read then speaks of less than the file has now."""
    name = desk.file()
    file = desk.deposits.open(name.id, append=True)
    file.write(0, BIG)
    file.flush()
    with desk_at(home, desk.config) as other:
        copies = other.deposits.copies
        held = copies.held

        def closed_first(row: Name) -> bool:
            file.write(0, b"tail")
            file.flush()
            file.release()
            return held(row)

        monkeypatch.setattr(copies, "held", closed_first)
        assert other.deposits.settler.settle([desk.row(name.id)]) == {}
    assert desk.read(name.id) == BIG + b"tail"
    assert desk.settle() == 1
    assert desk.read(name.id) == BIG + b"tail"


def test_what_left_the_spool_for_an_ontology_that_is_no_more_is_found(desk: Desk) -> None:
    name, other = desk.file("a.txt", BIG), desk.ontology("Other")
    here = desk.ontology()
    key = f"sources/{here.prefix}/{name.sha256[:32]}.txt"
    bring_home(desk.stores, desk.config.spool, name, key)  # and killed before that could be noted
    desk.deposits.move(name.id, other.root, "a.txt", replace=False)
    desk.deposits.remove_ontology(here.id)
    assert desk.read(name.id) == BIG
    assert desk.settle() == 1
    assert desk.read(name.id) == BIG


def test_what_is_renamed_from_a_name_in_passing_just_while_it_settles_becomes_a_document(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = desk.file("a.txt.part", b"small")

    def renamed_first(stores: Stores, contents: Mapping[str, tuple[bytes, Sums]]) -> None:
        if desk.row(name.id).name != "a.txt":
            desk.deposits.move(name.id, name.parent, "a.txt", replace=False)
        put_small(stores, contents)

    monkeypatch.setattr("kgfs.ingest.storing.settling_batch.put_small", renamed_first)
    desk.settle()
    desk.settle()
    assert decisions(desk) == [("a.txt", "insert")]
