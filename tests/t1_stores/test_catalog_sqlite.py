"""What only the durable catalog promises: processes, kills, full disks, file modes, queries that walk an index."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.errors import BadInputError, KgfsError, NoSpaceError, StoreError
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog import sqlite as module
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.schema import prepare
from kgfs.stores.catalog.sqlite import Catalog
from tests.support.catalog_building import Hand
from tests.support.small_disk import small_file_system

RECORDING = """
import sys
from pathlib import Path
from kgfs.domain.identity import new_id
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.sqlite import Catalog

path, root, tag, number = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
catalog = Catalog(path)
for i in range(number):
    made = f.FileMade(new_id(), "id-P", root, f"{tag}-{i}", 0o644, 0, 0, 1)
    kept = f.ContentKept(made.id, f"{tag}-{i}", 3, "inbox", "", 1, 1)
    print(i, catalog.record(made, kept, inbox={f"{tag}-{i}": b"abc"}), flush=True)
catalog.close()
"""


@pytest.fixture
def path(home: Path) -> Path:
    return home / "front.sqlite"


@pytest.fixture
def catalog(path: Path) -> Iterator[Catalog]:
    made = Catalog(path)
    yield made
    made.close()


def recorder(path: Path, root: int, tag: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RECORDING, str(path), str(root), tag, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_is_recorded_is_there_after_closing(path: Path) -> None:
    first = Catalog(path)
    file, doc_id = Hand(first).document("a", "x")
    seq, row = first.seq(), first.names.name(file)
    first.close()
    second = Catalog(path)
    assert second.seq() == seq and second.names.name(file) == row and second.names.document(doc_id)
    assert not second.changed()
    second.close()
    with pytest.raises(StoreError):
        second.seq()


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_files_are_private_whatever_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        catalog = Catalog(path)
        Hand(catalog).empty("a")
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
        catalog.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["front.sqlite", "front.sqlite-wal", "front.sqlite-shm"], 0o600)


def test_sqlite_keeps_commits_in_order_on_the_disk(catalog: Catalog) -> None:
    db = catalog._writer._db
    assert db.execute("PRAGMA synchronous").fetchone() == (1,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_two_processes_record_at_once(catalog: Catalog, path: Path) -> None:
    hand = Hand(catalog)
    catalog.changed()
    before = catalog.seq()
    workers = [recorder(path, hand.root, tag, 150) for tag in ("one", "two")]
    lines = [worker.communicate(timeout=60)[0].splitlines() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    numbers = sorted(int(line.split()[1]) for worker in lines for line in worker)
    assert numbers == list(range(before + 2, before + 602, 2))
    assert catalog.changed() and catalog.seq() == before + 600
    assert len(catalog.names.children(hand.root)) == 300
    feed = catalog.facts(before)
    assert feed and [seq for seq, _ in feed] == list(range(before + 1, before + 601))


def test_a_reader_sees_what_another_process_committed_at_once(catalog: Catalog, path: Path) -> None:
    hand = Hand(catalog)
    worker = recorder(path, hand.root, "w", 50)
    assert worker.stdout
    for line in worker.stdout:
        i, seq = map(int, line.split())
        assert catalog.seq() >= seq
        assert catalog.names.child(hand.root, f"w-{i}") and catalog.inbox(f"w-{i}") == b"abc"
    worker.stdout.close()
    assert worker.wait(10) == 0


@pytest.mark.parametrize("acknowledged", [1, 40, 97])
def test_a_kill_loses_nothing_that_was_acknowledged(path: Path, acknowledged: int) -> None:
    catalog = Catalog(path)
    root = Hand(catalog).root
    catalog.close()
    worker = recorder(path, root, "w", 1_000_000)
    assert worker.stdout
    for _ in range(acknowledged):
        last = worker.stdout.readline()
    worker.send_signal(signal.SIGKILL)
    rest = worker.stdout.read().splitlines()
    worker.stdout.close()
    worker.wait(10)
    whole = [line for line in rest if len(line.split()) == 2]
    number, seq = map(int, (whole[-1] if whole else last).split())
    again = Catalog(path)
    names = again.names.children(root, limit=1_000_000)
    assert {f"w-{i}" for i in range(number + 1)} <= {name.name for name in names}
    assert all(again.inbox(name.sha256) == b"abc" for name in names)
    assert again.seq() >= seq
    _, entries = again.unshipped(1 << 30)
    assert len(entries) == again.seq() == 1 + 2 * len(names)
    hand_made = again.record(f.FileMade(1 << 61, "id-P", root, "after", 0, 0, 0, 1))
    assert hand_made == len(entries) + 1
    again.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path, "2m") as point:
        yield point


def test_a_full_disk_is_said_and_harms_nothing(small_disk: Path) -> None:
    catalog = Catalog(small_disk / "front.sqlite")
    hand = Hand(catalog)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 1_000_000)
    made: list[int] = []
    file = hand.empty("first")
    with pytest.raises(NoSpaceError):
        for i in range(1000):
            body = os.urandom(30_000)
            kept = f.ContentKept(file, f"content-{i}", len(body), "inbox", "", i, i)
            catalog.record(kept, inbox={f"content-{i}": body})
            made.append(i)
    assert made
    assert hand.row(file).sha256 == f"content-{made[-1]}" and catalog.inbox(f"content-{made[-1]}")
    assert catalog.seq() == 2 + len(made)
    ballast.unlink()
    after = hand.empty("after")
    assert hand.names.child(hand.root, "after") == hand.row(after)
    catalog.close()
    again = Catalog(small_disk / "front.sqlite")
    assert again.names.name(after) and again.seq() == 3 + len(made)
    again.close()


def test_of_calls_that_wait_together_only_the_one_that_does_not_fit_fails(small_disk: Path) -> None:
    catalog = Catalog(small_disk / "front.sqlite")
    hand = Hand(catalog)
    outcomes: dict[int, object] = {}

    def record(i: int) -> None:
        made = f.FileMade((1 << 61) + i, "id-P", hand.root, f"f{i}", 0o644, 0, 0, 1)
        try:
            outcomes[i] = catalog.record(made, inbox={f"c{i}": os.urandom(3_000_000 if i == 2 else 10)})
        except KgfsError as error:
            outcomes[i] = type(error)

    threads = [threading.Thread(target=record, args=(i,)) for i in range(5)]
    with catalog._writer._turn:
        for thread in threads:
            thread.start()
        while len(catalog._writer._waiting) < 5:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert outcomes.pop(2) is NoSpaceError
    assert sorted(outcomes.values()) == [2, 3, 4, 5]  # type: ignore[type-var]
    catalog.close()


def test_calls_that_wait_together_share_one_commit(catalog: Catalog) -> None:
    hand = Hand(catalog)
    statements: list[str] = []
    catalog._writer._db.set_trace_callback(statements.append)
    threads = [threading.Thread(target=hand.empty, args=(f"f{i}",)) for i in range(8)]
    with catalog._writer._turn:
        for thread in threads:
            thread.start()
        while len(catalog._writer._waiting) < 8:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    catalog._writer._db.set_trace_callback(None)
    assert statements.count("COMMIT") == 1
    assert len(hand.names.children(hand.root)) == 8


def test_a_fault_of_one_call_is_raised_there_and_the_journal_goes_on(catalog: Catalog) -> None:
    hand = Hand(catalog)

    def faulty(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM name")
        raise ZeroDivisionError

    outcomes: list[object] = []

    def run(work: Callable[[], object]) -> None:
        try:
            outcomes.append(work())
        except ZeroDivisionError as error:
            outcomes.append(type(error))

    works = [lambda: catalog._writer.run(faulty), lambda: hand.row(hand.empty("beside")).name]
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    with catalog._writer._turn:
        for thread in threads:
            thread.start()
        while len(catalog._writer._waiting) < 2:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert set(outcomes) == {ZeroDivisionError, "beside"}
    with pytest.raises(BadInputError):
        hand.empty("a/b")
    assert hand.row(hand.empty("a")).name == "a"


def test_shipped_entries_are_trimmed_but_the_newest_kept(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.KEPT_ENTRIES == 10_000
    monkeypatch.setattr(module, "KEPT_ENTRIES", 10)
    hand = Hand(catalog)
    for i in range(29):
        hand.empty(f"f{i}")
    catalog.shipped(25)
    assert catalog.facts(19) is None and catalog.facts(0) is None
    feed = catalog.facts(20)
    assert feed and [seq for seq, _ in feed] == list(range(21, 31))
    assert catalog.unshipped()[0] == 26 and len(catalog.unshipped()[1]) == 5
    hand.empty("more")
    assert catalog.seq() == 31
    assert catalog.facts(20) is not None


def test_unshipped_entries_are_never_trimmed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_ENTRIES", 10)
    hand = Hand(catalog)
    for i in range(29):
        hand.empty(f"f{i}")
    catalog.shipped(5)
    feed = catalog.facts(5)
    assert feed and len(feed) == 25 and catalog.facts(4) is None


def test_a_file_that_is_no_journal_is_said_so(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match=r"front\.sqlite"):
        Catalog(path)
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreError, match="mount it with the version that made it"):
        Catalog(path)


def test_threads_that_ended_leave_no_connection(catalog: Catalog) -> None:
    hand = Hand(catalog)
    for _ in range(20):
        thread = threading.Thread(target=hand.names.children, args=(hand.root,))
        thread.start()
        thread.join()
    assert len(catalog._readers._all) <= 2


class Explaining:
    """A connection that refuses queries which read a whole table."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.explained = 0

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        plan = [row[3] for row in self._db.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]
        # A segment has a place in each version of its transcript at most, and "place" is a subquery that finds them.
        few = ("SCAN ontology", "SCAN tally", "SCAN CONSTANT ROW", "SCAN place")
        scans = [step for step in plan if step.startswith("SCAN") and not step.startswith(few)]
        assert scans == [], (sql, plan)
        self.explained += 1
        return self._db.execute(sql, parameters)


def test_reads_walk_an_index(path: Path) -> None:
    explaining = Explaining(prepare(path, durable=False))
    names = Names(lambda: explaining)  # type: ignore[arg-type,return-value]
    names.ontologies(), names.ontology("a"), names.ontology_named("a"), names.settings()
    names.name(1), names.child(1, "a"), names.children(1), names.resolve("a", "b"), names.path(1)
    names.names_of("d"), names.versions(1), names.version_of("d"), names.unsettled(quiet_before=1)
    names.unsettled(quiet_before=1, session="s"), names.unsettled(quiet_before=1, or_after=2, alive=["s", "t"])
    names.document("d"), names.document_with("o", "s"), names.documents("o"), names.newest("o")
    names.predecessors("d"), names.counts(), names.counts("o")
    assert explaining.explained >= 18
    explaining._db.close()
