"""What only a server can show: conflicts, lost words, outages, secrets, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from kgfs.config import load
from kgfs.errors import AwayError, BadInputError, StoreError, TimedOutError
from kgfs.stores.graph import opening
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.memory import MemoryGraph
from kgfs.stores.graph.vocabulary import Batch
from scripts.servers import process
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, prepared, publish
from tests.support.graph_stores import on_server, own
from tests.support.peers.knowledge_server import MOST
from tests.support.peers.losing import Losing
from tests.support.required import missing
from tests.t1_stores.test_graph_bookmarks import put_ahead

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.place import Place

A, B, C = "a" * 16, "b" * 16, "c" * 16
ZEN = Doc(A, [Told("Zen", 2), Told("Koan")], [("Zen", "USES", "Koan", 0.8)], ["Zen uses koans.\n", "Sit.\n"])


@pytest.fixture
def graph(neo4j_place: Place) -> Iterator[Graph]:
    with closing(on_server(neo4j_place)) as store:
        yield store


def opened(place: Place) -> Neo4jGraph:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    return Neo4jGraph(place)


def nodes(graph: Graph) -> dict[str, int]:
    """How many nodes of each label the graph's space has, whoever sees them; and what editions hold."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    assert isinstance(graph, Neo4jGraph)

    def work(tx: Any, space: str) -> dict[str, int]:
        found = tx.run("MATCH (n {space: $space}) UNWIND labels(n) AS label RETURN label, count(*) AS n", space=space)
        counts = {row["label"]: row["n"] for row in found}
        held = tx.run("MATCH (e:Edition {space: $space}) RETURN collect(e.key) AS keys", space=space).single()["keys"]
        rows = tx.run("MATCH (n) WHERE n.edition IN $keys RETURN count(*) AS n", keys=held).single()["n"]
        return {**counts, "rows": rows}

    return graph._speaking.steadily(graph._graph, work)


# ------------------------------------------------------------------------------------ many at once


def test_eight_who_publish_at_once_come_one_after_the_other(neo4j_place: Place) -> None:
    """All speak of the same concepts, so they meet at the same nodes."""
    place = own(neo4j_place)
    docs = [Doc(f"{n:016x}", [Told("Zen"), Told(f"only {n}")], [("Zen", "USES", f"only {n}", 0.5)]) for n in range(16)]
    numbered = [
        (doc, [replace(row, n=row.n + 10 * at) for row in prepared(MemoryGraph(), doc, doc.doc_id)[0].instances])
        for at, doc in enumerate(docs)
    ]

    def work(which: int) -> list[int]:
        epochs = []
        with closing(opened(place)) as mine:
            for doc, instances in numbered[which::8]:
                batch, publication = prepared(MemoryGraph(), doc, doc.doc_id)
                mine.stage(doc.doc_id, doc.doc_id, Batch(batch.sources, instances))
                epochs.append(mine.publish(publication))
        return epochs

    opened(place).close()
    with ThreadPoolExecutor(8) as pool:
        epochs = [epoch for some in pool.map(work, range(8)) for epoch in some]
    assert sorted(epochs) == list(range(1, 17))
    with closing(opened(place)) as graph:
        assert dict(graph.counts()) == {
            "documents": 16, "sources": 16, "concepts": 17, "relationships": 16, "instances": 48,
        }  # fmt: skip
        zen = graph.concept(cid("Zen"))
        assert zen is not None
        assert (zen.evidence, zen.related) == (16, 16)
        told = graph.changes(0)
        assert told is not None
        assert sorted({change.epoch for change in told}) == list(range(1, 17))
        assert graph.faults() == []


def test_a_reader_sees_the_former_or_the_new(graph: Graph) -> None:
    """Never both and never neither, however often the two replace each other."""
    docs = [replace(ZEN, doc_id=doc_id, texts=[f"text of {doc_id}"]) for doc_id in (A, B)]
    publish(graph, docs[0], "first")
    over = threading.Event()
    seen: set[tuple[int, int, int]] = set()

    def look() -> None:
        while not over.is_set():
            shown = len(graph.documents(ONTOLOGY))
            page = graph.page(cid("Zen"))
            assert page is not None
            seen.add((shown, page.documents, len(page.evidence)))

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look) for _ in range(2)]
        try:
            for n in range(1, 9):
                publish(graph, docs[n % 2], f"commit {n}", supersedes=[docs[(n + 1) % 2].doc_id], at=1000 + n)
        finally:
            over.set()
        for reader in readers:
            reader.result()
    assert seen == {(1, 1, 2)}


def test_nothing_is_answered_of_a_commit_that_may_be_there_in_part(graph: Graph) -> None:
    """Whoever made it noted nothing: the question waits for it, and notes that it is there."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.locking import is_whole
    from kgfs.stores.graph.neo4j.origin import Origin

    assert isinstance(graph, Neo4jGraph)
    speaking, name = graph._speaking, graph._graph
    asks: list[Callable[[], object]] = [lambda: graph.documents(ONTOLOGY), lambda: graph.changes(0)]
    assert is_whole(speaking.read(lambda tx: speaking.root(tx, name)))
    publish(graph, replace(ZEN, doc_id=A), "first")
    for ask in asks:
        speaking.write_one("MATCH (g:Graph {name: $graph}) SET g.turn = g.turn + 1", 10.0, graph=name)
        assert not is_whole(speaking.read(lambda tx: speaking.root(tx, name)))
        assert ask()
        assert is_whole(speaking.read(lambda tx: speaking.root(tx, name)))
    with closing(Origin(speaking.place)) as origin:
        origin.look(lambda _: None, alone=True)
    assert is_whole(speaking.read(lambda tx: speaking.root(tx, name)))


@pytest.mark.parametrize(
    "number",
    ["epoch", "clears", "imposed", "marked", "redacted", "changes_above", "ids_above", "ids_up_to", "whole_at"],
)
def test_a_look_that_found_the_graph_itself_in_part_is_not_believed(graph: Graph, number: str) -> None:
    """The server reads the properties of a node one by one: a number of after may stand beside the ``turn`` of before. Nor is one
    that an older kgfs noted to be whole."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.locking import is_whole
    from kgfs.stores.graph.neo4j.origin import Origin

    assert isinstance(graph, Neo4jGraph)
    speaking, name = graph._speaking, graph._graph
    torn = "g.whole_at = null" if number == "whole_at" else f"g.{number} = coalesce(g.{number}, 0) + 1"
    publish(graph, ZEN, "first")
    with closing(Origin(speaking.place)) as origin:
        looks: list[Callable[[], object]] = [
            lambda: graph.documents(ONTOLOGY),
            lambda: speaking.steadily(name, lambda *_: True),
            lambda: origin.look(lambda look: look.standing),
        ]
        for look in looks:
            assert is_whole(speaking.read(lambda tx: speaking.root(tx, name)))
            speaking.write_one(f"MATCH (g:Graph {{name: $graph}}) SET {torn}", 10.0, graph=name)
            assert not is_whole(speaking.read(lambda tx: speaking.root(tx, name)))
            assert look()
    assert is_whole(speaking.read(lambda tx: speaking.root(tx, name)))


@contextmanager
def changing(place: Place) -> Iterator[None]:
    """Somebody changes the graph without a pause."""
    from kgfs.stores.graph.neo4j.locking import BEGUN
    from kgfs.stores.graph.neo4j.speaking import Speaking

    over = threading.Event()

    def change() -> None:
        with closing(Speaking(place)) as speaking:
            while not over.is_set():
                speaking.write_one(f"MATCH (g:Graph {{name: $graph}}) {BEGUN}", 60.0, graph=place.namespace)

    with ThreadPoolExecutor(1) as pool:
        changed = pool.submit(change)
        try:
            yield
        finally:
            over.set()
        changed.result()


def test_a_question_is_answered_however_fast_others_commit(graph: Graph) -> None:
    """At last it keeps them from committing."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    assert isinstance(graph, Neo4jGraph)
    publish(graph, ZEN)
    tried: list[float] = []

    def slow(tx: Any, space: str) -> int:
        tried.append(time.monotonic())
        time.sleep(0.2)
        return int(tx.run("MATCH (d:Document {space: $space}) RETURN count(d)", space=space).single()[0])

    with changing(graph._speaking.place):
        assert graph._speaking.steadily(graph._graph, slow) == 1
        assert graph._ask("UNWIND range(1, 500000) AS n WITH max(n) AS n RETURN n") == [500_000]
    assert 1 < len(tried) < 20


def test_all_attempts_at_a_question_end_when_its_time_is_up(neo4j_place: Place) -> None:
    place = own(neo4j_place)
    with closing(opened(place)) as graph:
        publish(graph, ZEN)
    tried: list[float] = []

    def slow(tx: Any, space: str) -> None:
        tried.append(time.monotonic())
        time.sleep(1.8)

    with closing(opened(replace(place, timeout=3.0))) as hasty, changing(place):
        begun = time.monotonic()
        with suppress(TimedOutError):  # the server looks only every other second whose time is up
            hasty._speaking.steadily(place.namespace, slow)
        assert time.monotonic() - begun < 12
    assert 1 < len(tried) < 4


# --------------------------------------------------------------------------------- what is left behind


def test_nothing_is_left_of_what_was_abandoned(graph: Graph) -> None:
    before = nodes(graph)
    batch, _ = prepared(graph, ZEN, "c1")
    graph.stage("c1", A, batch)
    assert nodes(graph)["rows"] == 6
    graph.abandon("c1")
    assert nodes(graph) == before


def test_a_version_of_any_size_takes_transactions_of_bounded_memory(graph: Graph) -> None:
    """The server refuses larger ones: shown by one of all rows. Prepared, published, abandoned and removed none is."""
    from kgfs.stores.graph.neo4j.editions import open_edition, put_sources
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    assert isinstance(graph, Neo4jGraph)
    limit = graph._speaking.read(
        lambda tx: tx.run("SHOW SETTINGS 'db.memory.transaction.max' YIELD value").single(strict=True)["value"]
    )
    if limit != f"{MOST / 2**20:.2f}MiB":
        missing("neo4j", f"the server of KGFS_NEO4J_FOLDER has another limit: {limit}")
    large = replace(ZEN, texts=[f"{n} " + "wordsofalongtext" * 6250 for n in range(36)])
    batch, publication = prepared(graph, large, "c1")

    def at_once(tx: Any) -> None:
        found = open_edition(tx, graph._graph, A, "at once")
        assert found is not None
        put_sources(tx, found[1], batch.sources)

    with pytest.raises(TimedOutError, match="Memory"):
        graph._speaking.once(at_once, writes=True)
    graph.stage("c1", A, batch)
    graph.stage("c2", A, Batch(batch.sources[:10]))
    graph.publish(publication)
    graph.abandon("c2")
    assert graph.counts()["sources"] == 36
    graph.forget("gone", [A], 2000)
    assert (graph.staged(), nodes(graph)["rows"]) == ([], 0)


def test_nothing_is_left_of_a_graph_that_was_emptied(graph: Graph) -> None:
    before = nodes(graph)
    publish(graph, ZEN)
    batch, _ = prepared(graph, Doc(B, [Told("Way")]), "c2")
    graph.stage("c2", B, batch)
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    assert isinstance(graph, Neo4jGraph)
    [space] = graph._ask("MATCH (g:Graph {name: $graph}) RETURN g.space")
    graph.clear()
    assert nodes(graph) == before
    assert graph._ask("MATCH (n {space: $former}) RETURN n", former=space) == []


@pytest.mark.parametrize("how", ["drop", "begin_anew", "loaded"])
def test_the_space_that_is_given_up_is_the_one_that_another_left_meanwhile(neo4j_place: Place, how: str) -> None:
    """Who gives up a graph's space waits for another who just gives it another one, and looks then which it is."""
    from kgfs.stores.graph.neo4j import spaces
    from kgfs.stores.graph.neo4j.speaking import Speaking

    place = own(neo4j_place)
    name, [first, second, third] = place.namespace, [f"{place.namespace}/{n}" for n in range(3)]
    acts: dict[str, Callable[[Any], object]] = {
        "drop": lambda tx: spaces.drop(tx, name),
        "begin_anew": lambda tx: spaces.begin_anew(tx, name, third),
        "loaded": lambda tx: spaces.loaded(tx, name, first, 1),
    }
    holds, done = threading.Event(), threading.Event()

    def renew(tx: Any) -> None:
        spaces.make_aside(tx, name, second, 0)
        holds.set()
        done.wait(60)

    with closing(Speaking(place)) as other, closing(Speaking(place)) as speaking, ThreadPoolExecutor(2) as pool:
        speaking.write(lambda tx: spaces.make_aside(tx, name, first, 0))
        renewed = pool.submit(lambda: other.once(renew, writes=True))
        try:
            assert holds.wait(60)
            acted = pool.submit(lambda: speaking.write(acts[how]))
            time.sleep(2)
            assert not acted.done()
        finally:
            done.set()
        renewed.result()
        answer = acted.result()
        question = "MATCH (d:Discarded) WHERE d.space STARTS WITH $beginning RETURN d.space AS space ORDER BY space"
        given_up = speaking.read(lambda tx: [row["space"] for row in tx.run(question, beginning=f"{name}/")])
        spaces.remove_discarded(speaking)
    assert given_up == ([first] if how == "loaded" else [first, second])
    assert answer is None, "a portion for a space that was given up is not taken for loaded"


def test_rows_that_left_are_removed(graph: Graph) -> None:
    publish(graph, ZEN)
    graph.forget("f", [A], 2000)
    left = nodes(graph)
    assert (left["rows"], left.get("Edition", 0), left.get("Concept", 0)) == (0, 0, 0)
    assert left["Owner"] == 3, "a directory name and evidence numbers are never given again"


def test_old_changes_are_given_up(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgfs.stores.graph.neo4j import feed

    monkeypatch.setattr(feed, "KEPT_CHANGES", 10)
    monkeypatch.setattr(feed, "MOST_CHANGES", 10)
    for n in range(5):
        publish(graph, replace(ZEN, title=f"title {n}"), f"commit {n}")
    assert graph.changes(0) is None
    kept = graph.changes(graph.epoch() - 1)
    assert kept
    assert {change.epoch for change in kept} == {5}
    assert {change.epoch for change in graph.changes(1) or []} == {2, 3, 4, 5}
    noted = graph._ask("MATCH (g:Graph {name: $graph}) RETURN g.turn = g.whole")
    assert noted == [True], "who follows need not wait for the next commit's lock"


# ------------------------------------------------------------------------------- killed and repeated


PUBLISH = """
import sys
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.place import Place
from tests.support.graph_building import publish
from tests.t1_stores.test_graph_neo4j import ZEN
uri, password, namespace = sys.argv[1], open(sys.argv[2]).read(), sys.argv[3]
publish(Neo4jGraph(Place(uri, password=password, namespace=namespace)), ZEN, "c1")
"""


FORGET = """
import sys
from kgfs.stores.graph.neo4j import commit
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.place import Place
commit.LEFT_AT_ONCE = 1
uri, password, namespace = sys.argv[1], open(sys.argv[2]).read(), sys.argv[3]
Neo4jGraph(Place(uri, password=password, namespace=namespace)).forget("gone", sys.argv[4:], 2000)
"""


@pytest.mark.parametrize(("border", "left"), [("graph-committing", 3), ("graph-committed", 0)])
def test_a_forgetting_whose_writer_was_killed_is_done_in_whole_or_not_at_all(
    neo4j_place: Place, tmp_path: Path, border: str, left: int
) -> None:
    place, doc_ids = own(neo4j_place), [A, B, C]
    with closing(opened(place)) as graph:
        for doc_id in doc_ids:
            publish(graph, replace(ZEN, doc_id=doc_id))
        (tmp_path / "password").write_text(place.password)
        words = [sys.executable, "-c", FORGET, place.uri, str(tmp_path / "password"), place.namespace, *doc_ids]
        killed = subprocess.run(words, env={**os.environ, "KGFS_FAIL_AT": border}, cwd=Path(__file__).parents[2])
        assert killed.returncode == -signal.SIGKILL
        assert len(graph.documents(ONTOLOGY)) == graph.counts()["documents"] == left
        assert graph.forget("gone", doc_ids, 2000) == 4
        assert (graph.documents(ONTOLOGY), graph.counts()["instances"], graph.faults()) == ([], 0, [])


@pytest.mark.parametrize(("border", "done"), [("graph-committing", None), ("graph-committed", 1)])
def test_a_commit_whose_writer_was_killed_is_done_once(
    neo4j_place: Place, tmp_path: Path, border: str, done: int | None
) -> None:
    place = own(neo4j_place)
    (tmp_path / "password").write_text(place.password)
    words = [sys.executable, "-c", PUBLISH, place.uri, str(tmp_path / "password"), place.namespace]
    killed = subprocess.run(words, env={**os.environ, "KGFS_FAIL_AT": border}, cwd=Path(__file__).parents[2])
    assert killed.returncode == -signal.SIGKILL
    with closing(opened(place)) as graph:
        assert graph.published("c1") == done
        assert publish(graph, ZEN, "c1") == 1 == graph.epoch()
        assert graph.counts()["instances"] == 4
        assert graph.faults() == []


def test_a_commit_whose_acknowledgement_was_lost_is_done_once(neo4j_place: Place) -> None:
    with deaf_proxy(neo4j_place.uri) as (uri, losses):
        graph = opened(replace(own(neo4j_place), uri=uri))
        batch, publication = prepared(graph, ZEN, "c1")
        graph.stage("c1", A, batch)
        losses.append("the next commit")
        assert graph.publish(publication) == 1 == graph.epoch()
        assert losses == []
        assert graph.counts()["documents"] == 1
        graph.close()


COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""The message that ends a transaction, as Bolt frames it."""


@contextmanager
def deaf_proxy(uri: str) -> Iterator[tuple[str, list[str]]]:
    """A way to the server that, while the list holds something, takes one entry from it at a commit and cuts the
    connection as the server's answer comes."""
    host, _, port = uri.removeprefix("bolt://").partition(":")
    losses: list[str] = []
    with socket.create_server((process.HOST, 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                upstream = socket.create_connection((host, int(port)))
                deaf = threading.Event()
                for one, other, heard in ((client, upstream, asked), (upstream, client, answered)):
                    threading.Thread(target=carry, args=(one, other, heard, deaf), daemon=True).start()

        def asked(data: bytes, deaf: threading.Event) -> bool:
            if COMMIT in data and losses:
                losses.pop()
                deaf.set()
            return True

        def answered(data: bytes, deaf: threading.Event) -> bool:
            return not deaf.is_set()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"bolt://{process.HOST}:{listening.getsockname()[1]}", losses
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def carry(
    one: socket.socket, other: socket.socket, heard: Callable[[bytes, threading.Event], bool], deaf: threading.Event
) -> None:
    with one:
        try:
            while (data := one.recv(65536)) and heard(data, deaf):
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


# ------------------------------------------------------------------------------- settings, secrets


def test_a_wrong_password_names_the_setting_and_not_the_secret(guest: Place) -> None:
    with pytest.raises(StoreError, match="password_file") as told:
        opened(replace(guest, password="my secret word"))
    assert "my secret word" not in str(told.value)
    assert "my secret word" not in repr(replace(guest, password="my secret word"))


def test_who_has_an_old_password_does_not_shut_out_those_who_have_the_new_one(guest: Place, tmp_path: Path) -> None:
    """By default the server lets nobody in under a user, for some seconds, after three wrong ones."""
    secret = tmp_path / "password"
    secret.write_text(guest.password)
    with closing(opened(replace(guest, password_file=secret))) as old:
        secret.write_text("an old one")
        for _ in range(8):
            with pytest.raises(AwayError, match=f"does not let '{guest.user}' in"):
                old.epoch()
        with closing(opened(guest)) as current:
            current.epoch()
        secret.write_text(guest.password)
        old.epoch()


def test_who_is_shut_out_is_told_of_the_others(guest: Place) -> None:
    for _ in range(3):
        with pytest.raises(AwayError, match="password_file"):
            opened(replace(guest, password="my secret word"))
    with pytest.raises(AwayError, match=f"does not let '{guest.user}' in for some seconds"):
        opened(guest)


def test_a_server_that_is_not_there_is_named(neo4j_place: Place) -> None:
    [port] = process.free_ports(1)
    nowhere = replace(neo4j_place, uri=f"bolt://{process.HOST}:{port}", timeout=1.0)
    with pytest.raises(AwayError, match=f"{port}.*cannot be reached"):
        opened(nowhere)


def test_a_database_that_is_not_there_is_named(neo4j_place: Place) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        opened(replace(neo4j_place, database="nowhere", timeout=20.0))


def test_namespaces_are_apart(neo4j_place: Place) -> None:
    with closing(on_server(neo4j_place)) as one, closing(on_server(neo4j_place)) as other:
        publish(one, ZEN)
        publish(other, Doc(B, [Told("Zen", 3)], texts=["Zen elsewhere"]))
        assert [row.doc_id for row, _ in one.find_text("zen")] == [A]
        assert [row.doc_id for row, _ in other.find_text("zen")] == [B]
        assert len(one.instances(cid("Zen"))) == 2
        assert other.document(A) is None
        other.clear()
        assert one.counts()["documents"] == 1


def test_processes_see_each_others_writes_through_a_file_of_bookmarks(neo4j_place: Place, tmp_path: Path) -> None:
    place = replace(own(neo4j_place), bookmarks=tmp_path / "bookmarks")
    with closing(opened(place)) as writer, closing(opened(place)) as reader:
        publish(writer, ZEN)
        noted = (tmp_path / "bookmarks").read_text()
        assert noted
        assert reader.counts()["documents"] == 1
        publish(writer, replace(ZEN, doc_id=C, deposit=2))
        assert (tmp_path / "bookmarks").read_text() != noted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bookmarks", "bookmarks.lock"]


@pytest.mark.slow
@pytest.mark.claim("GRAPH-6")
def test_a_server_that_was_restored_is_not_waited_for(neo4j_place: Place, tmp_path: Path) -> None:
    """It has not done yet what the bookmarks of its later days speak of, and will not for a long time."""
    from kgfs.stores.graph.neo4j.origin import Origin

    noted = tmp_path / "bookmarks"
    place = replace(own(neo4j_place), bookmarks=noted)
    with closing(opened(place)) as graph:
        publish(graph, ZEN)
    put_ahead(noted)
    with closing(Origin(replace(place, timeout=5.0))) as origin:
        with pytest.raises(TimedOutError):
            origin.standing()
        deadline = time.monotonic() + 120
        while noted.exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        standing = origin.standing()
        assert standing is not None
        assert standing.epoch == 1
    with closing(opened(place)) as graph:
        assert graph.document(A) is not None


@pytest.mark.parametrize(
    ("uri", "open_to_others"),
    [
        ("bolt://127.0.0.1:7687", False),
        ("bolt://[::1]:7687", False),
        ("neo4j://localhost", False),
        ("neo4j://graph.example:7687", True),
        ("bolt://10.0.0.1", True),
        ("neo4j+s://graph.example", False),
    ],
)
def test_plain_text_to_another_machine_is_known(uri: str, open_to_others: bool) -> None:
    from kgfs.stores.graph.neo4j.place import Place

    assert Place(uri).open_to_others is open_to_others
    assert not Place(uri, ca_file=Path(__file__)).open_to_others


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize(
    "uri", ["http://host:7474", "bolt://user:word@host", "host:7687", "bolt+ssc://host:7687", "neo4j+ssc://host:7687"]
)
def test_a_uri_that_cannot_be_used_is_refused(uri: str) -> None:
    from kgfs.stores.graph.neo4j.place import Place

    with pytest.raises(BadInputError, match="uri") as told:
        Place(uri)
    assert "word" not in str(told.value).replace("password", "")


@pytest.mark.parametrize(("uri", "noted"), [("neo4j+s://graph.example", True), ("bolt+s://graph.example", False)])
def test_a_home_notes_bookmarks_where_it_may_ask_any_member_of_a_cluster(
    home: Path, tmp_path: Path, uri: str, noted: bool
) -> None:
    (tmp_path / "word").write_text("open sesame")
    settings = {"STORE": "neo4j", "URI": uri, "PASSWORD_FILE": str(tmp_path / "word")}
    config = load(home, environ={f"KGFS_GRAPH_{name}": value for name, value in settings.items()})
    assert opening._place(config).bookmarks == (config.run / "graph.bookmarks" if noted else None)


def test_an_own_authority_goes_with_every_scheme() -> None:
    from kgfs.stores.graph.neo4j.place import Place

    assert Place("neo4j+s://host:7687", ca_file=Path(__file__)).address() == "neo4j://host:7687"
    assert Place("neo4j+s://host:7687").address() == "neo4j+s://host:7687"


@pytest.mark.claim("MACH-5")
def test_who_looks_for_faults_is_not_held_by_a_server_that_fell_silent(neo4j_place: Place) -> None:
    place = own(neo4j_place)
    with (
        closing(Losing(urlsplit(place.uri).port or 0)) as wire,
        closing(opened(replace(place, uri=f"bolt://127.0.0.1:{wire.port}"))) as first,
        closing(opened(replace(place, uri=f"bolt://127.0.0.1:{wire.port}", timeout=12.0))) as graph,
    ):
        publish(first, ZEN)
        assert graph.faults() == []
        with wire.losing(b"MATCH (g:Graph"):
            begun = time.monotonic()
            with pytest.raises(TimedOutError):
                graph.faults()
        assert time.monotonic() - begun < 60.0


@pytest.mark.claim("MACH-5")
def test_a_connection_that_was_dropped_without_a_word_while_idle_is_no_more_than_a_server_that_is_silent(
    neo4j_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who works tries again after that; of anything else a document would be given up in the end."""
    from kgfs.stores.graph.neo4j.place import Place

    options = Place.options
    monkeypatch.setattr(Place, "options", lambda self: options(self) | {"liveness_check_timeout": 0.5})
    place = own(neo4j_place)
    with closing(Losing(urlsplit(place.uri).port or 0)) as wire:
        patient = replace(place, uri=f"bolt://127.0.0.1:{wire.port}")
        with closing(opened(patient)) as first, closing(opened(replace(patient, timeout=12.0))) as graph:
            publish(first, ZEN)
            assert graph.epoch() == 1
            time.sleep(1.0)
            dropped, told = wire.forget(), []
            assert dropped > 1
            while len(told) < dropped:
                try:
                    assert graph.epoch() == 1
                    break
                except TimedOutError as error:
                    told.append(str(error))
            assert told and wire.swallowed, "one that was idle was asked first"


def test_a_reader_that_stands_still_holds_nothing_on_the_server_without_end(
    neo4j_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgfs.stores.graph.neo4j import speaking
    from kgfs.stores.graph.neo4j.origin import Origin

    place = own(neo4j_place)
    with closing(opened(place)), closing(Origin(place)) as origin:
        monkeypatch.setattr(speaking, "LOOKING", 1.0, raising=False)

        def still(look: Any) -> None:
            time.sleep(10.0)
            list(look.counts())

        with pytest.raises((TimedOutError, AwayError)):
            origin.look(still)
