"""A home whose graph stands on a Neo4j server: its verbs, its mount, and both while the server is away."""

from __future__ import annotations

import json
import os
import pty
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgfs.app.home import open_stores
from kgfs.cli.progress import WIDTH
from kgfs.config import load
from kgfs.errors import TimedOutError
from kgfs.stores.graph.opening import _place, open_graph
from kgfs.stores.locks import locked
from tests.support.graph_building import Doc, Told, publish
from tests.support.graph_stores import on_server
from tests.support.knowledge_of import knowledge_in
from tests.support.running import KGFS, PATIENCE, QUICK, Place, until
from tests.support.starting import ROOT
from tests.support.texts import GARBAGE, ZEN
from tests.t1_stores.test_graph_bookmarks import put_ahead
from tests.t6_whole.test_purge import ingest, told, traces

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place as Server

MORE = "A telescope is an instrument that gathers light. The telescope uses a mirror. The mirror gathers light.\n"


@pytest.fixture
def secret(tmp_path: Path, neo4j_place: Server) -> Path:
    path = tmp_path / "password"
    path.write_text(neo4j_place.password)
    return path


@pytest.fixture(scope="module")
def _warm(neo4j_place: Server) -> None:
    """A server that has just started plans each kind of question for the first time, slowly; commands have a deadline."""
    with closing(on_server(neo4j_place)) as graph:
        publish(graph, Doc("a" * 16, [Told("Zen", 2), Told("Koan")], [("Zen", "USES", "Koan", 0.8)]))
        graph.forget("gone", ["a" * 16], 2000)


@pytest.fixture
def served(place: Place, neo4j_place: Server, secret: Path, _warm: None) -> Place:
    place.environment |= QUICK | {
        "KGFS_GRAPH_STORE": "neo4j",
        "KGFS_GRAPH_URI": neo4j_place.uri,
        "KGFS_GRAPH_PASSWORD_FILE": str(secret),
        "KGFS_GRAPH_NAMESPACE": f"test-{secrets.token_hex(6)}",
        "KGFS_GRAPH_TIMEOUT": "60",
    }
    return place


def read(place: Place) -> dict[str, int]:
    """How many of each kind the graph shows of the one ontology."""
    [ontology] = place.status()["ontologies"]
    return dict(ontology["read"])


@pytest.mark.slow
def test_documents_are_read_found_rebuilt_and_forgotten(served: Place, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    served.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    assert not (served.home / "graph.sqlite").exists()
    counts = read(served)
    assert counts["documents"] == 1
    assert counts["concepts"] > 2
    hits = json.loads(served.run("search", "meditation", "--json").stdout)
    assert hits
    served.run("rebuild", "--yes")
    assert read(served) == counts
    served.run("rebuild", "Zen", "--yes")
    assert read(served) == counts
    served.run("check")
    served.run("forget", "Zen/zen.md", "--yes")
    assert set(read(served).values()) == {0}


def on_terminal(place: Place, *words: str | os.PathLike[str]) -> str:
    """What a verb says to a terminal."""
    screen, terminal = pty.openpty()
    environment = os.environ | place.environment | {"KGFS_HOME": str(place.home)}
    process = subprocess.Popen(
        [*KGFS, *words], env=environment, cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    hanging = threading.Timer(PATIENCE, process.kill)
    hanging.start()
    said = b""
    with open(screen, "rb", buffering=0) as read, suppress(OSError):  # EIO: nobody has the terminal any more
        while more := read.read(4096):
            said += more
    ended = process.wait()
    hanging.cancel()
    assert ended == 0, said
    return said.decode()


@pytest.mark.mounted
@pytest.mark.slow
@pytest.mark.claim("GRAPH-5")
def test_the_first_mount_shows_how_much_is_copied_and_status_how_old_it_is(served: Place, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    served.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    assert not (served.home / "replica.sqlite").exists()
    assert served.status()["replica"] is None
    total = sum(read(served).values())

    said = on_terminal(served, "mount", served.mountpoint)
    bars = re.findall(r"\r\x1b\[K\[(#*)(\.*)\] (\d+)/(\d+) rows of the graph copied", said)
    rows = [int(done) for _, _, done, _ in bars]
    assert {int(of) for *_, of in bars} == {total}
    assert rows == sorted(rows)
    assert rows[0] == 0 and rows[-1] == total and len(set(rows)) > 2
    assert all(len(full) == WIDTH * int(done) // total for full, _, done, _ in bars)
    assert all(len(full + empty) == WIDTH for full, empty, *_ in bars)
    assert said.endswith("\r\x1b[K"), "the line is free again"

    before = time.monotonic()
    replica = served.status()["replica"]
    assert 0 <= replica["lag_seconds"] <= time.monotonic() - before
    assert replica["epoch"] == replica["server_epoch"] > 0
    [line] = [line for line in served.run("status").stdout.splitlines() if line.startswith("replica ")]
    assert re.fullmatch(rf"replica  of epoch {replica['epoch']}, as of \d+\.\d s ago", line), line

    def known() -> dict[str, Any]:
        return dict(json.loads((served.mountpoint / ".kgfs/status.json").read_text())["replica"])

    until(lambda: known()["lag_seconds"] is not None)  # once it has looked at the server for the first time
    assert 0 <= known()["lag_seconds"] < 60, "of a mount, which follows on"
    served.umount()
    assert "rows of the graph" not in on_terminal(served, "mount", served.mountpoint), "it is copied once"


@pytest.mark.mounted
@pytest.mark.slow
@pytest.mark.claim("GRAPH-6")
def test_status_tells_of_a_replica_that_is_behind_while_it_is_copied_anew(
    served: Place, neo4j_place: Server, tmp_path: Path
) -> None:
    """A large one takes minutes: by the process of a mount, say, which has the lock of the replica all that time."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    (tmp_path / "zen.md").write_text(ZEN)
    served.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    served.mount("--no-worker")
    served.umount()
    before = served.status()["replica"]
    assert before["epoch"] == before["server_epoch"] == 1 and not before["copied_anew"]
    namespace = served.environment["KGFS_GRAPH_NAMESPACE"]
    with closing(Neo4jGraph(replace(neo4j_place, namespace=namespace))) as graph:
        graph.clear()
        for number in range(3):
            publish(graph, Doc(f"{number:016x}", [Told("Zen")], deposit=number))
    copied = served.home / "replica.sqlite.new"
    with locked(served.home / "run" / "replica.lock"):
        copied.touch()
        began = time.monotonic()
        found, said = served.status()["replica"], served.run("status").stdout
        assert time.monotonic() - began < 20, "two commands, each of which waits three seconds"
    copied.unlink()
    assert (found["epoch"], found["server_epoch"], found["copied_anew"]) == (1, 3, True)
    assert "replica  of epoch 1; the server is at 3; the graph is being copied anew\n" in said
    found = served.status()["replica"]
    assert (found["epoch"], found["server_epoch"], found["copied_anew"]) == (1, 3, False), "nobody mounts it"


@pytest.mark.mounted
@pytest.mark.slow
def test_a_home_that_may_ask_any_member_of_a_cluster_asks_with_bookmarks(served: Place, tmp_path: Path) -> None:
    """A server that stands alone tells the driver that it is its own cluster."""
    from kgfs.stores.graph.neo4j.origin import Origin

    served.environment["KGFS_GRAPH_URI"] = served.environment["KGFS_GRAPH_URI"].replace("bolt:", "neo4j:")
    config = load(served.home, environ=served.environment | {"KGFS_GRAPH_TIMEOUT": "5"})
    noted = config.run / "graph.bookmarks"
    (tmp_path / "zen.md").write_text(ZEN)
    served.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    before = noted.read_text()
    served.mount()
    (served.mountpoint / "Zen" / "documents" / "more.txt").write_text(MORE)
    served.wait()
    until(lambda: any("telescope" in name for name in os.listdir(served.mountpoint / "Zen" / "concepts")))
    served.umount()
    assert noted.read_text() != before

    put_ahead(noted)
    with closing(Origin(_place(config))) as origin:
        with pytest.raises(TimedOutError):
            origin.standing()
        until(lambda: not noted.exists())
    assert read(served)["documents"] == 2


def walked(tree: Path) -> dict[str, tuple[object, ...]]:
    """Every file and link below, with all that programs see of it."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(tree.rglob("*")):
        about = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        size, mtime = (0, 0) if path.is_dir() else (about.st_size, about.st_mtime_ns)
        found[str(path.relative_to(tree))] = (about.st_mode, size, mtime, content)
    return found


def same_garage(source: Path, target: Path) -> None:
    """Have ``target`` begin with all that ``source`` did, and nothing that is derived from it."""
    target.mkdir(exist_ok=True)
    for name in ("front.sqlite", "front.sqlite-wal", "garage"):
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        elif (source / name).exists():
            shutil.copy(source / name, target / name)


def knowledge_of(place: Place) -> dict[str, Any]:
    with open_stores(load(place.home, environ=place.environment)) as stores:
        return knowledge_in(stores)


def said_on_server(place: Server, word: str) -> list[str]:
    """Every property of every node and relationship, of whatever graph, in which the word stands, in either case."""
    asked = (
        "MATCH (x) RETURN properties(x) AS told, labels(x) AS what",
        "MATCH ()-[x]->() RETURN properties(x) AS told, [type(x)] AS what",
    )
    from neo4j import GraphDatabase

    found = []
    with GraphDatabase.driver(place.address(), auth=(place.user, place.password)) as driver:
        for question in asked:
            for row in driver.execute_query(question, database_=place.database).records:
                found += [f"{row['what']}.{key}" for key, value in row["told"].items() if word in str(value).lower()]
    return found


@pytest.mark.mounted
@pytest.mark.slow
@pytest.mark.claim("GRAPH-1", "GRAPH-3")
def test_a_mounted_tree_is_that_of_an_embedded_home(served: Place, tmp_path: Path) -> None:
    """The same garage twice: once with the graph in a file, once with one that was derived on the server and copied."""
    embedded = Place(tmp_path / "embedded", tmp_path / "mnt-embedded", dict(QUICK))
    embedded.mountpoint.mkdir()
    embedded.mount()
    try:
        documents = embedded.ontology("Knowledge") / "documents"
        (documents / "zen.md").write_text(ZEN)
        (documents / "deep" / "er").mkdir(parents=True)
        (documents / "deep" / "er" / "garbage.txt").write_text(GARBAGE)
        embedded.wait()
        (documents / "zen.md").write_text(ZEN.replace("riddle", "question") * 3)
        embedded.wait()
        before = walked(embedded.mountpoint / "Knowledge")
    finally:
        embedded.close()
    assert sum(name.endswith("source.txt") for name in before) > 10
    same_garage(embedded.home, served.home)
    served.mount()
    assert walked(served.mountpoint / "Knowledge") == before
    replica = served.status()["replica"]
    assert replica["epoch"] == replica["server_epoch"] > 0
    assert replica["away_since"] is None

    concepts = served.mountpoint / "Knowledge" / "concepts"
    known = set(os.listdir(concepts))
    (served.mountpoint / "Knowledge" / "documents" / "more.txt").write_text(MORE)
    served.wait()
    until(lambda: any("telescope" in name for name in set(os.listdir(concepts)) - known))
    # What another machine forgets, without a word to this home.
    config = load(tmp_path / "elsewhere", environ=served.environment)
    with closing(open_graph(config)) as graph:
        [ontology] = [row["id"] for row in served.status()["ontologies"]]
        gone = [row.doc_id for row in graph.documents(ontology) if row.original_filename == "more.txt"]
        graph.forget("from elsewhere", gone, time.time_ns())
    until(lambda: set(os.listdir(concepts)) == known)


@pytest.mark.mounted
@pytest.mark.slow
@pytest.mark.claim("GONE-6", "GONE-9", "GRAPH-1")
def test_a_purge_leaves_what_it_leaves_in_an_embedded_home(served: Place, neo4j_place: Server, tmp_path: Path) -> None:
    """One order, carried out in two homes of one garage: the graph of one is on the server. What founded a concept that
    lives on is purged."""
    label = f"quxhall{secrets.token_hex(4)}"
    ingest(served, tmp_path, "a.md", told(label).encode())
    ingest(served, tmp_path, "kept.md", told("stays").encode())
    ingest(served, tmp_path, "zen.md", ZEN.encode())
    served.run("concept", "merge", "Notes", f"{label}-monastery", "stays-monastery", "--yes")
    served.mount()
    concepts = served.mountpoint / "Notes" / "concepts"
    assert f"{label}-monastery.concept" in os.listdir(concepts)
    served.umount()
    assert said_on_server(neo4j_place, label)
    assert (served.home / "replica.sqlite").exists()
    killed = served.run(
        "forget", "Notes/a.md", "--purge", "--yes", expect=None, env={"KGFS_FAIL_AT": "forgetting-owed"}
    )
    assert killed.returncode == -signal.SIGKILL

    embedded = Place(tmp_path / "embedded", tmp_path / "mnt-embedded", dict(QUICK))
    embedded.mountpoint.mkdir()
    same_garage(served.home, embedded.home)
    for home in (served, embedded):
        home.run("worker", "--until-idle")
        assert traces(home.home, label) == []
    assert said_on_server(neo4j_place, label) == []
    embedded.mount()
    try:
        expected = walked(embedded.mountpoint / "Notes")
    finally:
        embedded.close()
    assert any("stays-monastery" in name for name in expected)
    served.mount()
    assert walked(served.mountpoint / "Notes") == expected
    served.umount()
    assert knowledge_of(served) == knowledge_of(embedded)

    served.run("rebuild", "--yes")
    assert said_on_server(neo4j_place, label) == []
    assert traces(served.home, label) == []
    served.mount()
    assert walked(served.mountpoint / "Notes") == expected


def test_what_is_wrong_with_the_settings_is_said(served: Place, secret: Path, guest: Server) -> None:
    served.environment["KGFS_GRAPH_USER"] = guest.user
    secret.write_text("not the word")
    told = served.run("status", expect=4)
    ingest = ("ingest", Path(__file__), "--ontology", "Zen")
    refused = served.run(*ingest, expect=7)
    assert "KGFS_GRAPH_PASSWORD_FILE" in refused.stderr
    shown = served.run("config", "show")
    for said in (told, refused, shown):
        assert "not the word" not in said.stdout + said.stderr
        assert guest.password not in said.stdout + said.stderr
    secret.unlink()
    assert "password_file" in served.run(*ingest, expect=3).stderr
    assert "uri" in served.run(*ingest, expect=3, env={"KGFS_GRAPH_URI": ""}).stderr
    served.run("status", expect=4)
    assert "kgfs.graph" not in shown.stderr


@pytest.mark.mounted
@pytest.mark.slow
@pytest.mark.logs("does not let")
@pytest.mark.claim("AWAY-1", "AWAY-2", "AWAY-4", "SECRET-1")
def test_a_wrong_password_under_a_mount(served: Place, secret: Path, guest: Server, tmp_path: Path) -> None:
    # A worker that makes room for a verb while the word is wrong ends without giving back its lease, which has to run out then.
    served.environment |= {"KGFS_GRAPH_USER": guest.user, "KGFS_PIPELINE_LEASE": "60"}
    served.mount()
    documents = served.ontology("Zen") / "documents"
    concepts = documents.parent / "concepts"
    (documents / "zen.md").write_text(ZEN)
    (documents / "more.md").write_text(MORE)
    served.wait()
    before, right = walked(concepts), secret.read_text()

    secret.write_text("not the word")
    (documents / "garbage.txt").write_text(GARBAGE)
    errors = served.mountpoint / ".kgfs/errors.ndjson"
    until(lambda: f"does not let '{guest.user}' in" in errors.read_text())
    assert walked(concepts) == before
    assert (documents / "garbage.txt").read_text() == GARBAGE
    refused = f"does not let '{guest.user}' in"
    said = served.run("forget", "Zen/more.md", "--yes", expect=7).stderr
    assert refused in said and "is noted all the same" in said
    said = served.run("wait", "--timeout", "3", expect=None).stderr  # the worker may be starting anew just then
    assert "1 document, 0 unsettled paths, 1 forgetting" in said and refused in said
    assert served.status()["documents"].get("failed", 0) == 0
    assert refused in served.status()["replica"]["away_reason"]
    assert refused in served.run("status").stdout

    secret.write_text(right)
    served.wait()
    until(lambda: any("garbage" in name for name in os.listdir(concepts)))
    assert not any("telescope" in name for name in os.listdir(concepts))
    assert served.status()["documents"] == {"done": 2, "trashed": 1}
    served.umount()
    assert "0 findings" in served.run("check", "--deep").stderr
    for path in served.home.rglob("*"):
        told = path.read_bytes() if path.is_file() else b""
        assert b"not the word" not in told and right.encode() not in told

    undisturbed = Place(tmp_path / "undisturbed", tmp_path / "none", dict(QUICK))
    for name, content in (("zen.md", ZEN), ("more.md", MORE), ("garbage.txt", GARBAGE)):
        (tmp_path / name).write_text(content)
        undisturbed.run("ingest", tmp_path / name, "--ontology", "Zen")
    undisturbed.run("forget", "Zen/more.md", "--yes")
    assert knowledge_of(served) == knowledge_of(undisturbed)


def test_a_server_that_is_away_is_named_within_the_time(served: Place) -> None:
    before = time.monotonic()
    away = {"KGFS_GRAPH_URI": "bolt://127.0.0.1:1", "KGFS_GRAPH_TIMEOUT": "1"}
    told = served.run("ingest", Path(__file__), "--ontology", "Zen", expect=7, env=away)
    assert "127.0.0.1:1" in told.stderr
    assert time.monotonic() - before < 60
