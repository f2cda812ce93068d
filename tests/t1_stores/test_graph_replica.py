"""A copy of a graph on a server: made page by page, followed by the feed, made anew where no feed leads on.

What it answers is held against the server, or against the plain graph in memory, by the suites that all graphs pass.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgfs.errors import AwayError, FullError, GraphLostError, KgfsError, TimedOutError
from kgfs.stores.database import Database
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.reading import GraphReads
from kgfs.stores.graph.replica import filling, opening
from kgfs.stores.graph.replica.feeder import fed
from kgfs.stores.graph.replica.file import FORMAT, SCHEMA, Notes, format_for, is_usable
from kgfs.stores.graph.replica.following import Source
from kgfs.stores.graph.replica.graph import Replica, being_made
from kgfs.stores.graph.replica.opening import make_replica, open_replica
from kgfs.stores.graph.replica.outage import Outage
from kgfs.stores.graph.sqlite import SqliteGraph
from kgfs.stores.graph.vocabulary import Mark, Said
from kgfs.stores.locks import locked
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, name_taken, prepared, publish
from tests.support.graph_stores import copied, own
from tests.support.small_disk import small_file_system
from tests.t1_stores.test_graph_stateful import seen

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.place import Place

A, B, C = "a" * 16, "b" * 16, "c" * 16
ZEN = Doc(A, [Told("Zen", 2), Told("Koan")], [("Zen", "USES", "Koan", 0.8)], ["Zen uses koans.\n", "Sit.\n"])
WAY = Doc(B, [Told("Way"), Told("Zen", 1, ("chan",))], [("Way", "IS_A", "Zen", 0.4)], ["The way of Zen."], deposit=2)
LONG = "very " * 300 + "long label"


@pytest.fixture
def place(neo4j_place: Place) -> Place:
    return own(neo4j_place)


@pytest.fixture
def graph(place: Place) -> Iterator[Neo4jGraph]:
    with closing(connect(place)()) as store:
        yield store


def connect(place: Place) -> Callable[[], Neo4jGraph]:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    return lambda: Neo4jGraph(place)


def shown(graph: Graph) -> dict[str, object]:
    """All that readers see, but what a copy does not know: the feed before it was made."""
    everything = seen(graph)
    del everything["changes"], everything["epoch"]
    return {**everything, "at": graph.epoch(), "faults": graph.faults()}


def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


# ------------------------------------------------------------------------------------------------ making


def test_a_copy_of_what_is_there_shows_it_all(place: Place, graph: Neo4jGraph, tmp_path: Path) -> None:
    publish(graph, ZEN)
    publish(graph, replace(WAY, gated={0: "only links"}))
    publish(graph, Doc(C, [Told("Koan"), Told(LONG)], deposit=3), at=3000)
    graph.forget("gone", [A], 4000)
    batch, publication = prepared(graph, ZEN, "word", at=5000)
    said = Said(B, publication.concepts[:1], [], [replace(batch.instances[0], n=9, doc_id=B)])
    graph.reassign("word", [said], 5000, [Mark("m", ONTOLOGY, cid("Zen"), True)])
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        assert shown(replica) == shown(graph)
        assert replica.match(ONTOLOGY, [LONG]) == graph.match(ONTOLOGY, [LONG]) == {LONG: cid(LONG)}
        assert replica.marks_of(cid("Zen")) == graph.marks_of(cid("Zen")) != []
        assert name_taken(replica, ONTOLOGY, "zen") == cid("Zen"), "also dead concepts keep their names"
        assert replica.changes(replica.epoch() - 1) == graph.changes(graph.epoch() - 1), (
            "for who died in the last commit"
        )


def test_pages_of_any_size_give_the_same(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        publish(
            graph,
            Doc(f"{number:016x}", [Told(f"Zen {number}", number), Told("Way")], deposit=number, texts=["t"] * number),
        )
    monkeypatch.setattr(filling, "OWNERS_AT_ONCE", 2)
    monkeypatch.setattr(filling, "DOCUMENTS_AT_ONCE", 2)
    monkeypatch.setattr(filling, "ROWS_AT_ONCE", 3)
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        assert shown(replica) == shown(graph)
        assert {row.doc_id for row, _ in replica.find_text("t", limit=100)} == {
            f"{number:016x}" for number in range(1, 7)
        }


def test_filling_takes_the_memory_of_a_few_rows_however_long_a_text_is(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One document is a page of its own; its Sources are sent some at a time, here 10 in place of 1000."""
    from kgfs.stores.graph.neo4j.origin import Origin

    options = type(place).options
    monkeypatch.setattr(type(place), "options", lambda self: options(self) | {"fetch_size": 10})
    origin, text = Origin(place), "very " * 800
    publish(graph, ZEN)
    filling.fill(origin, tmp_path / "first.sqlite")  # and what is loaded for that
    publish(graph, Doc(B, [Told("Way")], texts=[text] * 300, deposit=2))
    tracemalloc.start()
    try:
        filling.fill(origin, tmp_path / "replica.sqlite")
        assert tracemalloc.get_traced_memory()[1] < len(text) * 150
    finally:
        tracemalloc.stop()
        origin.close()
    with closing(sqlite3.connect(tmp_path / "replica.sqlite")) as filled:
        kept = filled.execute("SELECT count(*) FROM source WHERE full_text = ?", [text])
        assert kept.fetchone() == (300,)


MAKE = """
import sys
from pathlib import Path
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.replica import filling, opening
from tests.support.graph_stores import copied
filling.OWNERS_AT_ONCE = filling.DOCUMENTS_AT_ONCE = 1
uri, password, namespace, path = sys.argv[1], open(sys.argv[2]).read(), sys.argv[3], Path(sys.argv[4])
copied(Place(uri, password=password, namespace=namespace), path)
"""


@pytest.mark.claim("GRAPH-5")
def test_one_that_was_killed_goes_on_where_it_was(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(graph, ZEN)
    publish(graph, WAY)
    (tmp_path / "password").write_text(place.password)
    path = tmp_path / "replica.sqlite"
    words = [sys.executable, "-c", MAKE, place.uri, str(tmp_path / "password"), place.namespace, str(path)]
    for _ in range(3):
        killed = subprocess.run(
            words, env={**os.environ, "KGFS_FAIL_AT": "replica-page"}, cwd=Path(__file__).parents[2]
        )
        assert killed.returncode == -signal.SIGKILL
    assert is_usable(being_made(path))
    assert not path.exists(), "nobody reads half a copy"
    publish(graph, Doc(C, [Told("Zen"), Told("Late")], deposit=3))
    graph.forget("gone", [A], 4000)
    told: list[int] = []
    from kgfs.stores.graph.neo4j.origin import Origin

    with closing(Origin(place)) as origin:
        make_replica(origin, path, tmp_path / "lock", connect(place), lambda done, total: told.append(done))
    assert told[0] == 3, "the pages of the three that were killed"
    assert told == sorted(told)
    with closing(copied(place, path)) as replica:
        assert shown(replica) == shown(graph)


def give_up_early(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """The server keeps so many changes."""
    from kgfs.stores.graph.neo4j import feed

    monkeypatch.setattr(feed, "KEPT_CHANGES", kept)
    monkeypatch.setattr(feed, "MOST_CHANGES", kept)


@pytest.mark.claim("GRAPH-5")
def test_a_copy_comes_to_its_end_though_more_is_committed_meanwhile_than_the_feed_is_kept_for(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million concepts take minutes to copy; others read documents all that time."""
    from kgfs.stores.graph.neo4j.origin import Origin

    for number in range(4):
        publish(graph, Doc(f"{number:016x}", [Told(f"Zen {number}", 2), Told("Way")], deposit=number))
    give_up_early(monkeypatch, 30)
    monkeypatch.setattr(filling, "OWNERS_AT_ONCE", 1)
    monkeypatch.setattr(filling, "DOCUMENTS_AT_ONCE", 1)
    monkeypatch.setattr(filling, "KEEP_UP_EVERY", 0.0)
    told: list[int] = []

    def meanwhile(done: int, total: int) -> None:
        assert len(told) < 60, "it begins again and again"
        told.append(done)
        number = len(told)
        doc = Doc(f"{number % 7:016x}", [Told(f"Zen {number % 5}", 2), Told("Way", number % 3)], deposit=number)
        publish(graph, doc, f"commit {number}", at=5000 + number)
        graph.forget(f"gone {number}", [f"{(number * 3) % 7:016x}"], 6000 + number)

    path = tmp_path / "replica.sqlite"
    with closing(Origin(place)) as origin:
        make_replica(origin, path, tmp_path / "replica.lock", connect(place), meanwhile)
    assert graph.changes(0) is None and told == sorted(told), "what was begun was gone on with"
    with closing(copied(place, path)) as replica:
        assert shown(replica) == shown(graph)


def test_what_is_left_of_a_copy_that_no_feed_leads_on_from_is_not_gone_on_with(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(graph, ZEN)
    path = tmp_path / "replica.sqlite"
    from kgfs.stores.graph.neo4j.origin import Origin

    def killed(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with closing(Origin(place)) as origin:
        with pytest.raises(KeyboardInterrupt):
            make_replica(origin, path, tmp_path / "replica.lock", connect(place), killed)
        assert is_usable(being_made(path))
        give_up_early(monkeypatch, 5)
        for number in range(3):
            publish(graph, replace(ZEN, title=f"title {number}"), f"commit {number}")
        told: list[int] = []
        make_replica(origin, path, tmp_path / "replica.lock", connect(place), lambda done, total: told.append(done))
    assert 0 in told[:2], "nothing was copied behind what could not be followed"
    with closing(copied(place, path)) as replica:
        assert shown(replica) == shown(graph)


# ------------------------------------------------------------------------------------------- full disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path, "24m") as folder:
        yield folder


def fill_up(folder: Path, left: int = 0) -> Path:
    """A file that takes what the disk has, but so many bytes."""
    filler, disk = folder / "filler", os.statvfs(folder)
    with open(filler, "wb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_frsize - left)
    return filler


@pytest.mark.claim("AWAY-5")
def test_a_replica_that_cannot_be_looked_at_for_the_disk_is_full_is_not_thrown_away(
    place: Place, graph: Neo4jGraph, small_disk: Path
) -> None:
    from kgfs.stores.graph.neo4j.origin import Origin

    publish(graph, ZEN)
    path = small_disk / "replica.sqlite"
    copied(place, path).close()
    kept, filler = path.read_bytes(), fill_up(small_disk)
    with closing(Origin(place)) as origin, pytest.raises(KgfsError):
        make_replica(origin, path, small_disk / "replica.lock", connect(place))
    assert path.read_bytes() == kept
    filler.unlink()
    with closing(copied(place, path)) as replica:
        assert shown(replica) == shown(graph)


def test_a_disk_that_is_full_when_the_copy_is_made_makes_it_no_half_one(
    place: Place, graph: Neo4jGraph, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed to the log beside the file, and does not get into that, is not left behind by its new name."""
    from kgfs.stores.graph.neo4j.origin import Origin

    publish(graph, replace(ZEN, texts=["very long " * 200] * 100))
    path = small_disk / "replica.sqlite"

    follow = filling.follow

    def full_behind_the_last_page(origin: Source, database: Database) -> object:
        if Notes(database).all()["stage"] == "whole":
            fill_up(small_disk)
        return follow(origin, database)

    with closing(Origin(place)) as origin:
        with monkeypatch.context() as filled, pytest.raises(FullError):
            filled.setattr(filling, "follow", full_behind_the_last_page)
            make_replica(origin, path, small_disk / "replica.lock", connect(place))
        assert not path.exists()
        (small_disk / "filler").unlink()
        make_replica(origin, path, small_disk / "replica.lock", connect(place))
    with closing(copied(place, path)) as replica:
        assert shown(replica) == shown(graph)


@pytest.mark.claim("AWAY-5")
def test_a_copy_that_finds_no_room_leaves_some_to_what_is_written_and_goes_on_when_there_is_more(
    place: Place, graph: Neo4jGraph, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one, and one that is to have its place."""
    from kgfs.stores.graph.neo4j.origin import Origin

    def read_all(title: str) -> None:
        for number in range(12):
            doc = Doc(f"{number:016x}", [Told(f"Zen {number}")], deposit=number, texts=["very long " * 200] * 100)
            publish(graph, replace(doc, title=title))

    def write(bytes_: int) -> None:
        (small_disk / "spool").write_bytes(b"x" * bytes_)
        (small_disk / "spool").unlink()

    monkeypatch.setattr(filling, "DOCUMENTS_AT_ONCE", 1)
    read_all("first")
    path, lock, told = small_disk / "replica.sqlite", small_disk / "replica.lock", []
    filler = fill_up(small_disk, 2 << 20)
    with closing(Origin(place)) as origin:
        with pytest.raises(FullError, match="copying the graph"):
            make_replica(origin, path, lock, connect(place))
        write(512 << 10)
        filler.unlink()
        make_replica(origin, path, lock, connect(place), lambda done, total: told.append(done))
    assert told[0] > 100, "it went on"
    with closing(copied(place, path)) as replica:
        graph.clear()
        read_all("second")
        before = replica.document("0" * 16)
        for left in (2 << 20, 5 << 20):  # too little to copy it; too little to have it take the place
            filler = fill_up(small_disk, left)
            for _ in range(3):
                with pytest.raises(FullError):
                    replica.refresh()
                write(512 << 10)
            assert before is not None and replica.document("0" * 16) == before, "what was known is shown"
            assert "no space" in replica.lag().away_reason
            filler.unlink()
        replica.refresh()
        assert shown(replica) == shown(graph)
        assert replica.lag().away_since is None
        assert not being_made(path).exists()


def test_another_comment_makes_no_other_schema() -> None:
    """A replica is copied whole where its schema is another, which takes many minutes where a graph is large."""
    commented = SCHEMA.replace("    doc_id ", "    -- Whose it is.\n\n    doc_id  ", 1).replace(
        "-- ", "-- In other words: "
    )
    assert commented != SCHEMA
    assert format_for(commented) == FORMAT
    assert format_for(SCHEMA.replace("size_bytes ", "bytes ", 1)) != FORMAT
    assert format_for(f"{SCHEMA}\nCREATE INDEX another ON document (title);") != FORMAT


def test_a_file_of_another_schema_is_filled_anew(place: Place, graph: Neo4jGraph, tmp_path: Path) -> None:
    """Whole or half filled, and though no epoch passed since: what stands in it is not taken for the server's word."""
    publish(graph, ZEN)
    path = tmp_path / "replica.sqlite"
    copied(place, path).close()
    for file, other in ((path, FORMAT + 1), (being_made(path), FORMAT - 1)):
        path.rename(file)
        with closing(sqlite3.connect(file)) as former:
            former.execute("UPDATE document SET source_title = 'of another schema'")
            former.execute(f"PRAGMA user_version = {other}")
            former.commit()
        assert not is_usable(file)
        with closing(copied(place, path)) as replica:
            assert shown(replica) == shown(graph)
        assert is_usable(path)
        assert not being_made(path).exists()


def test_a_file_that_is_no_database_is_made_anew(place: Place, graph: Neo4jGraph, tmp_path: Path) -> None:
    publish(graph, ZEN)
    path = tmp_path / "replica.sqlite"
    path.write_bytes(b"SQLite format 4, perhaps" * 100)
    assert not is_usable(path)
    with closing(copied(place, path)) as replica:
        assert shown(replica) == shown(graph)


def test_reading_a_copy_is_reading_the_embedded_graph() -> None:
    """The same code on the same tables, so the same cost; what else a Graph can be asked is the server's word or its state."""
    asked = [name for name in dir(GraphReads) if not name.startswith("_")]
    others = {name for name in asked if getattr(Replica, name) is not getattr(SqliteGraph, name)}
    assert others == {"faults", "lag", "published", "refresh", "staged"}


# --------------------------------------------------------------------------------------------- following


@pytest.mark.claim("GRAPH-3", "GRAPH-4")
def test_what_others_commit_is_followed(place: Place, graph: Neo4jGraph, tmp_path: Path) -> None:
    """Each epoch's feed in order and without a gap, and nothing but what was committed."""
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        publish(graph, ZEN)
        publish(graph, WAY)
        batch, _ = prepared(graph, Doc(C, [Told("Staged")]), "later")
        graph.stage("later", C, batch)
        graph.forget("nothing", ["unknown"], 3000)
        publish(graph, replace(ZEN, title="A new title"), "again", supersedes=[B], at=4000)
        assert replica.epoch() == 0
        replica.refresh()
        assert replica.changed()
        assert not replica.changed()
        assert shown(replica) == shown(graph)
        assert replica.changes(0) == graph.changes(0)
        assert replica.lag().server_epoch == replica.epoch() == 4


@pytest.mark.claim("GRAPH-4")
def test_readers_see_a_version_whole_or_not_at_all(place: Place, graph: Neo4jGraph, tmp_path: Path) -> None:
    docs = [replace(ZEN, doc_id=doc_id, texts=[f"text of {doc_id}"] * 30) for doc_id in (A, B)]
    publish(graph, docs[0], "first")
    found: set[tuple[object, ...]] = set()
    over = threading.Event()
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica, fed(replica):

        def look() -> None:
            while not over.is_set():
                page = replica.page(cid("Zen"))
                assert page is not None
                counts = replica.counts()
                found.add((page.documents, len(page.evidence), counts["sources"], len(replica.documents(ONTOLOGY))))

        reader = threading.Thread(target=look)
        reader.start()
        try:
            for n in range(1, 7):
                publish(graph, docs[n % 2], f"commit {n}", supersedes=[docs[(n + 1) % 2].doc_id], at=1000 + n)
            until(lambda: replica.epoch() == 7)
        finally:
            over.set()
            reader.join()
    assert found == {(1, 2, 30, 1)}


def test_while_many_commit_it_comes_to_an_end(place: Place, graph: Neo4jGraph, tmp_path: Path) -> None:
    """There is never a pause between commits, in which all could be read again."""
    over = threading.Event()

    def commit() -> None:
        with closing(connect(place)()) as mine:
            number = 0
            while not over.is_set():
                mine.forget(f"nothing {number}", ["unknown"], 1000)
                number += 1

    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        busy = threading.Thread(target=commit)
        busy.start()
        try:
            for number in range(3):
                publish(graph, replace(ZEN, title=f"title {number}"), f"commit {number}")
                least = graph.epoch()
                replica.refresh()
                assert replica.epoch() >= least
                assert replica.document(A) == graph.document(A)
        finally:
            over.set()
            busy.join()
        replica.refresh()
        assert shown(replica) == shown(graph)


@pytest.mark.claim("GRAPH-3")
def test_its_own_writes_are_seen_when_they_return(place: Place, tmp_path: Path) -> None:
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        epoch = publish(replica, ZEN)
        assert replica.epoch() == epoch == replica.published(f"commit of {A} at 1000")
        assert replica.document(A) is not None
        replica.forget("gone", [A], 2000)
        assert replica.document(A) is None
        lease = replica.leases(5.0)
        with closing(lease):
            held = lease.take("matching", "me", 30)
            assert held is not None
            assert publish(replica.fenced(held), WAY) == 3 == replica.epoch()


def test_one_follows_and_others_read(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgfs.stores.graph.replica import graph as replicas

    monkeypatch.setattr(replicas, "PATIENCE", 0.05)
    path = tmp_path / "replica.sqlite"
    with closing(copied(place, path)) as one, closing(copied(place, path)) as other:
        publish(graph, ZEN)
        with locked(tmp_path / "replica.lock"):
            assert not one.follow()
            assert one.epoch() == 0
            with pytest.raises(TimedOutError, match="copying"):
                one.refresh()
        assert one.follow()
        assert shown(other) == shown(one) == shown(graph)
        assert publish(other, WAY) == one.epoch()


# ----------------------------------------------------------------------------- where no feed leads on


def restore(graph: Neo4jGraph, epoch: int) -> None:
    """What a copy sees of a server that was restored to the day of that epoch."""
    graph._speaking.write(
        lambda tx: tx.run(
            "MATCH (g:Graph {name: $graph}) OPTIONAL MATCH (c:Commit {space: g.space}) WHERE c.epoch > $epoch"
            " OPTIONAL MATCH (told:Change {space: g.space}) WHERE told.epoch > $epoch"
            " OPTIONAL MATCH (last:Commit {space: g.space, epoch: $epoch})"
            " SET g.epoch = $epoch, g.newest = last.commit_id DETACH DELETE c, told",
            graph=graph._graph,
            epoch=epoch,
        ).consume()
    )


@pytest.mark.parametrize("went_on", [0, 1, 2])
@pytest.mark.claim("GRAPH-6")
def test_a_server_that_was_restored_to_yesterday_is_noticed(
    place: Place, graph: Neo4jGraph, tmp_path: Path, went_on: int
) -> None:
    """Also where it has gone on since, to the same epoch or beyond."""
    publish(graph, ZEN)
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        publish(graph, WAY)
        replica.refresh()
        restore(graph, 1)
        graph.forget("undo", [B], 3000)
        restore(graph, 1)
        assert graph.epoch() == 1
        for number in range(went_on):
            publish(graph, Doc(C, [Told(f"Other {number}")], deposit=3 + number), f"other {number}")
        before = replica.epoch()
        replica.refresh()
        assert (before, replica.epoch()) == (2, 1 + went_on)
        assert replica.changed()
        assert shown(replica) == shown(graph)
        assert replica.changes(before - 1) is None or replica.epoch() == before - 1


@pytest.mark.parametrize("ontology", ["", ONTOLOGY])
@pytest.mark.claim("GRAPH-6")
def test_a_rebuilt_graph_is_copied_anew(place: Place, graph: Neo4jGraph, tmp_path: Path, ontology: str) -> None:
    publish(graph, ZEN)
    path = tmp_path / "replica.sqlite"
    with closing(copied(place, path)) as replica:
        with closing(graph.aside()) as built:
            publish(built, WAY)
            graph.adopt(built, ontology)
        replica.refresh()
        assert replica.document(A) is None
        assert shown(replica) == shown(graph)
        assert replica.changes(0) is None
        assert not being_made(path).exists()
        graph.clear()
        replica.refresh()
        assert replica.epoch() == 0 == replica.counts()["documents"]


def test_a_feed_that_does_not_reach_back_is_no_feed(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up_early(monkeypatch, 10)
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        for n in range(5):
            publish(graph, replace(ZEN, title=f"title {n}"), f"commit {n}")
        assert graph.changes(0) is None
        replica.refresh()
        assert shown(replica) == shown(graph)
        assert replica.clears() == 1, "it was copied anew"


@pytest.mark.parametrize("followed", [True, False])
@pytest.mark.claim("GRAPH-7")
def test_of_what_is_purged_no_word_stays_in_the_file(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, followed: bool
) -> None:
    """Also where its forgetting is heard of together with the purge; and nothing is copied anew for that."""
    monkeypatch.delattr(Replica, "_make_anew")
    path = tmp_path / "replica.sqlite"
    secret = Doc(B, [Told("Secretword")], texts=["the Secretword is here"])

    def words() -> bool:
        return any(b"ecretword" in file.read_bytes() for file in tmp_path.iterdir())

    publish(graph, ZEN)
    with closing(copied(place, path)) as replica:
        publish(graph, secret)
        replica.refresh()
        assert words()
        graph.forget("gone", [B], 2000)
        if followed:
            replica.refresh()
        graph.redact([cid("Secretword")], [])
        publish(graph, WAY, at=3000)
        graph.forget("gone too", [A], 4000)
        graph.redact([cid("Koan")], [])
        replica.refresh()
        assert not words()
        assert replica.changes(0) is None
        assert name_taken(replica, ONTOLOGY, "secretword") == cid("Secretword")
        assert shown(replica) == shown(graph)


@pytest.mark.parametrize("is_long", [False, True])
def test_who_opens_a_replica_while_another_process_makes_it_anew_takes_it_for_no_current_one(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    from kgfs.stores.graph.neo4j.origin import Origin

    path, lock = tmp_path / "replica.sqlite", tmp_path / "replica.lock"
    monkeypatch.setattr(opening, "PATIENCE", 0.1 if is_long else 60.0)

    def opened(*, refill: bool) -> Replica | None:
        outage = Outage(tmp_path / "away", ErrorLog(tmp_path / "errors.ndjson"))
        return open_replica(Origin(place), path, lock, connect(place), outage, refill=refill)

    with closing(connect(place)()) as graph, closing(copied(place, path)):
        publish(graph, ZEN)
        with ExitStack() as held:
            held.enter_context(locked(lock))
            mounted = opened(refill=True)
            assert mounted is not None and mounted.document(A) is None, "a mount does not wait"
            mounted.close()
            if not is_long:
                threading.Timer(0.2, held.pop_all().close).start()
            other = opened(refill=False)
        if is_long:
            assert other is None
        else:
            assert other is not None and other.document(A) is not None
            other.close()


@pytest.mark.parametrize("is_noted", [True, False])
def test_who_follows_waits_for_a_commit_that_may_be_there_in_part(
    place: Place, graph: Neo4jGraph, is_noted: bool
) -> None:
    """Not for one that is only under way: until it is committed nobody sees any of it."""
    from kgfs.stores.graph.neo4j.locking import lock
    from kgfs.stores.graph.neo4j.origin import Origin
    from kgfs.stores.graph.neo4j.speaking import ROOT, Speaking

    publish(graph, ZEN)
    holds, done = threading.Event(), threading.Event()

    def commit() -> None:
        with closing(Speaking(place)) as speaking:
            speaking.once(lambda tx: (lock(tx, place.namespace), holds.set(), done.wait(60)), writes=True)

    with closing(Origin(place)) as origin, closing(Speaking(place)) as speaking:
        if not is_noted:  # as where the one before was killed when it had committed
            statement = "MATCH (g:Graph {name: $graph}) SET g.turn = g.turn + 1 RETURN g.turn"
            speaking.write_one(statement, 60.0, graph=place.namespace)
        committing = threading.Thread(target=commit, daemon=True)
        looking = threading.Thread(target=origin.look, args=(lambda look: look.counts(),), daemon=True)
        committing.start()
        try:
            assert holds.wait(60)
            looking.start()
            looking.join(0.5 if not is_noted else 60)
            assert looking.is_alive() is not is_noted
        finally:
            done.set()
        looking.join(60)
        committing.join(60)
        origin.look(lambda look: look.counts())
        found = speaking.one(ROOT, graph=place.namespace)
        assert found is not None and found["root"]["whole"] == found["root"]["turn"]


def test_a_feed_that_is_given_up_while_it_is_followed_is_followed_by_what_is_left_of_it(
    place: Place, graph: Neo4jGraph, tmp_path: Path
) -> None:
    """Between the look at what there is and the reading of the feed."""
    publish(graph, ZEN)
    publish(graph, WAY, at=2000)
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        graph.forget("gone", [B], 3000)
        origin = replica._origin
        whole, purging = origin._whole, [lambda: graph.redact([cid("Way")], [])]  # type: ignore[attr-defined]

        def then_purged() -> object:
            found = whole()
            while purging:
                purging.pop()()
            return found

        origin._whole = then_purged  # type: ignore[attr-defined]
        replica.refresh()
        assert not purging
        assert shown(replica) == shown(graph)
        assert replica.document(B) is None


@pytest.mark.parametrize("how", ["purged", "too much"])
def test_a_feed_that_is_given_up_while_it_is_read_is_followed_by_what_is_left_of_it(
    place: Place, graph: Neo4jGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A server goes on to tell of what it had found before that was deleted, with nothing in it."""
    from kgfs.stores.graph.neo4j import feed, speaking
    from kgfs.stores.graph.neo4j.origin import Look

    monkeypatch.setattr(feed, "PART", 1)
    monkeypatch.setattr(speaking, "_AS_USUAL", 1)
    publish(graph, ZEN)
    publish(graph, WAY, at=2000)
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        graph.forget("gone", [B], 3000)
        if how == "purged":
            giving_up = [lambda: graph.redact([cid("Way")], [])]
        else:
            monkeypatch.setattr(feed, "KEPT_CHANGES", 1)
            monkeypatch.setattr(feed, "MOST_CHANGES", 1)
            giving_up = [lambda: publish(graph, Doc(C, [Told("Koan")], deposit=3), at=4000)]
        read = Look.changes

        def given_up(look: Look, after: int, up_to: int) -> Iterator[object]:
            rows = read(look, after, up_to)
            while giving_up:
                yield next(rows)
                giving_up.pop()()
            yield from rows

        monkeypatch.setattr(Look, "changes", given_up)
        replica.refresh()
        assert not giving_up
        assert shown(replica) == shown(graph)
        assert replica.document(B) is None


@pytest.mark.claim("GRAPH-6")
def test_a_graph_that_was_just_made_takes_no_other_ones_place(place: Place, graph: Neo4jGraph, tmp_path: Path) -> None:
    from kgfs.stores.graph.neo4j import spaces

    publish(graph, ZEN)
    with closing(copied(place, tmp_path / "replica.sqlite")) as replica:
        before = seen(replica)
        graph._speaking.write(lambda tx: spaces.drop(tx, place.namespace))
        with pytest.raises(GraphLostError):
            replica.refresh()
        assert replica.lag().is_lost
        with closing(graph.leases(5.0)) as leases, pytest.raises(GraphLostError):
            leases.take("publish", "somebody", 60.0)
        connect(place)().close()
        with pytest.raises(GraphLostError):
            replica.refresh()
        assert replica.lag().is_lost and seen(replica) == before
        with closing(connect(place)()) as made:
            publish(made, WAY)
            replica.refresh()
            assert not replica.lag().is_lost and shown(replica) == shown(made)


@pytest.mark.claim("GRAPH-2")
def test_a_server_that_was_away_and_comes_back_without_its_graph_is_told_of_twice(tmp_path: Path) -> None:
    log, path = ErrorLog(tmp_path / "errors.ndjson"), tmp_path / "away"
    first, second = Outage(path, log), Outage(path, log)
    for error in (AwayError("It is not reached."), TimedOutError("It says nothing.")):
        first.begins(error)
        second.begins(error)
    since = first.since()
    assert (first.reason(), first.is_of(GraphLostError)) == ("It is not reached.", False)
    for outage in (first, second, first):
        outage.begins(GraphLostError("It is empty.\nMost likely."))
    assert (second.reason(), second.is_of(GraphLostError)) == ("It is empty.\nMost likely.", True)
    assert second.since() == since
    assert len(log.read().splitlines()) == 2
    second.ends()
    assert (first.reason(), first.since(), first.is_of(GraphLostError)) == ("", None, False)
    path.write_text("It is not reached.")  # as an older kgfs noted it
    assert first.reason() == "It is not reached."
