"""A graph's server that is away under a mount, and one put back to yesterday: what is shown, who says so, and how today comes back."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kgfs.app.working import DERIVED_ANEW
from scripts.servers import process
from tests.support.knowledge_of import knowledge_of
from tests.support.logs import AWAY
from tests.support.outages import TIMEOUT, Peer, minted, wait, within
from tests.support.peers.losing import Losing
from tests.support.running import CONSTANTS, LET_GO_SOON, QUICK, Place, until
from tests.support.stopping import stopped as standing_still
from tests.support.texts import GARBAGE, ZEN
from tests.t6_whole.test_graph_on_server import walked

pytestmark = [pytest.mark.mounted, pytest.mark.slow]
EARLIER = "was put back to an earlier day"
LOST = "has not the graph that it had"


@pytest.fixture
def server(mortal: Path) -> Peer:
    return Peer("neo4j", mortal)


@pytest.mark.claim("AWAY-9")
@pytest.mark.logs(AWAY, "Neo4j")
def test_how_things_stand_is_told_while_the_graph_is_silent(place: Place, server: Peer, tmp_path: Path) -> None:
    """By what a mount has left of the graph."""
    place.environment |= QUICK
    (place.home / "config.toml").write_text(server.settings())
    (tmp_path / "zen.md").write_text(ZEN)
    place.run("ingest", tmp_path / "zen.md", "--ontology", "Notes")
    place.mount("--no-worker")
    place.umount()
    longer = "kgfs.stores.graph.neo4j.speaking.GLANCE=600"  # than a command of a test may take
    hasty = {CONSTANTS: f"kgfs.app.home.HASTE=0.5 {longer}", "KGFS_GRAPH_TIMEOUT": "600"}
    with stopped(server):
        found = json.loads(place.run("status", "--json", env=hasty).stdout)
        assert found["documents"] == {"done": 1} and found["replica"]["away_since"] is not None
        told = json.loads(place.run("status", "--json", "Notes/zen.md", env=hasty).stdout)
        assert (told["state"], told["reading"]["shown"]) == ("done", True)
    until(lambda: place.status()["replica"]["away_since"] is None)  # one that went on just now may be slow to answer


@pytest.mark.claim("AWAY-6", "GRAPH-2")
@pytest.mark.logs(AWAY, "Neo4j", EARLIER)
def test_a_graph_that_is_away_and_one_of_yesterday(place: Place, server: Peer, tmp_path: Path) -> None:
    place.environment |= QUICK
    (place.home / "config.toml").write_text(server.settings())
    place.mount()
    notes = place.ontology("Notes")
    (notes / "documents/zen.md").write_text(ZEN)
    wait(place)
    until(lambda: os.listdir(notes / "concepts"), 60)
    yesterday = sorted(os.listdir(notes / "concepts"))
    with stopped(server):
        # For the first time, so not from the kernel's memory; who asked the server would wait for its time-out.
        before = walked(notes)
    assert sum(name.endswith("source.txt") for name in before) > 3
    until(lambda: away_since(place) is None)
    noted = replica_errors(place)

    server.kill()
    shutil.copytree(server.folder / "data", tmp_path / "yesterday")
    until(lambda: away_since(place) is not None)
    assert walked(notes) == before
    assert "away since" in place.run("status").stdout
    (notes / "documents/garbage.txt").write_text(GARBAGE)
    assert (notes / "documents/garbage.txt").read_text() == GARBAGE
    assert noted < replica_errors(place) <= noted + 2
    server.start()
    until(lambda: away_since(place) is None)
    wait(place)
    until(lambda: "reference-counting.concept" in os.listdir(notes / "concepts"), 60)
    known, today = knowledge_of(place.home), sorted(os.listdir(notes / "concepts"))

    server.end()
    shutil.rmtree(server.folder / "data")
    shutil.copytree(tmp_path / "yesterday", server.folder / "data")
    server.start()
    until(lambda: sorted(os.listdir(notes / "concepts")) == yesterday, 90)
    until(lambda: said(place, EARLIER) == 1)
    assert (notes / "documents/garbage.txt").read_text() == GARBAGE, "what is kept does not depend on the graph"
    found = json.loads(place.run("check", "--json", expect=1).stdout)
    assert found, "check tells what the graph lacks"
    place.run("rebuild", "--yes")
    until(lambda: sorted(os.listdir(notes / "concepts")) == today, 60)
    place.umount()
    assert knowledge_of(place.home) == known
    assert len(minted(place.home)) == 2
    assert "0 findings" in place.run("check", "--deep").stderr


@pytest.mark.claim("AWAY-6", "GRAPH-2", "GRAPH-6")
@pytest.mark.logs(AWAY, "Neo4j", LOST, DERIVED_ANEW)
@pytest.mark.parametrize("emptied", [False, True])
def test_a_graph_that_its_server_has_lost_is_derived_anew(place: Place, server: Peer, emptied: bool) -> None:
    """By the mount's worker, which has nothing else to do; ``emptied``: somebody made an empty one meanwhile, and there is something
    to publish in it. All that was shown is shown all the time."""
    place.environment |= QUICK
    (place.home / "config.toml").write_text(server.settings())
    place.mount()
    notes = place.ontology("Notes")
    (notes / "documents/zen.md").write_text(ZEN)
    wait(place)
    until(lambda: os.listdir(notes / "concepts"), 60)
    known, before, noted = knowledge_of(place.home), set(os.listdir(notes / "concepts")), replica_errors(place)

    lose(server)
    if emptied:
        place.run("doctor", expect=None)
        (notes / "documents/garbage.txt").write_text(GARBAGE)

    def is_derived() -> bool:
        assert before <= set(os.listdir(notes / "concepts"))
        return said(place, DERIVED_ANEW) > 0 and away_since(place) is None

    until(is_derived)
    wait(place)
    if emptied:
        until(lambda: "reference-counting.concept" in os.listdir(notes / "concepts"), 60)
    assert before <= set(os.listdir(notes / "concepts"))
    assert said(place, DERIVED_ANEW) == 1 and replica_errors(place) <= noted + 2, "one line an outage, of either kind"
    place.umount()
    assert "0 findings" in place.run("check", "--deep").stderr
    if not emptied:
        assert knowledge_of(place.home) == known


@pytest.mark.claim("AWAY-6", "GRAPH-2", "GRAPH-6")
@pytest.mark.logs(AWAY, "Neo4j", LOST)
def test_a_graph_that_its_server_has_lost_is_shown_until_somebody_derives_it(
    place: Place, server: Peer, tmp_path: Path
) -> None:
    """A mount without a worker: it says so, and so does who is asked. Who only asks makes no graph."""
    place.environment |= QUICK
    (place.home / "config.toml").write_text(server.settings())
    (tmp_path / "zen.md").write_text(ZEN)
    place.run("ingest", tmp_path / "zen.md", "--ontology", "Notes")
    place.mount("--no-worker")
    notes = place.mountpoint / "Notes"
    known, before, noted = knowledge_of(place.home), sorted(os.listdir(notes / "concepts")), replica_errors(place)

    def stays_lost() -> bool:
        page = json.loads((place.mountpoint / ".kgfs/status.json").read_text())["replica"]
        assert sorted(os.listdir(notes / "concepts")) == before
        return bool(page["lost"]) and LOST in page["away_reason"]

    lose(server)
    until(stays_lost)
    said_here = place.run("status").stdout
    assert "the graph's server cannot be followed since" in said_here and "kgfs rebuild" in said_here
    assert place.run("search", "koan").returncode == 0
    place.run("doctor", expect=None)  # makes an empty one
    time.sleep(3)  # while the mount looks at it
    assert stays_lost() and place.status()["replica"]["lost"]
    assert replica_errors(place) <= noted + 2
    place.run("wait", "--timeout", "60")
    until(lambda: away_since(place) is None)
    assert sorted(os.listdir(notes / "concepts")) == before
    place.umount()
    assert knowledge_of(place.home) == known
    assert "0 findings" in place.run("check", "--deep").stderr


@pytest.mark.claim("AWAY-1", "AWAY-2", "AWAY-4", "GRAPH-2", "MACH-5")
@pytest.mark.logs(AWAY)
def test_a_server_that_ends_behind_connections_that_look_open(place: Place, server: Peer, tmp_path: Path) -> None:
    """Neither the mount nor its worker hears that it ended, nor that another has its place: their connections say nothing more."""
    place.environment |= QUICK | LET_GO_SOON
    port = process.ports_before(server.folder)[0]
    settings = server.settings().replace("timeout = 20", f"timeout = {TIMEOUT}")
    with closing(Losing(port)) as wire:
        (place.home / "config.toml").write_text(settings.replace(f":{port}", f":{wire.port}"))
        place.mount()
        notes = place.ontology("Notes")
        (notes / "documents/zen.md").write_text(ZEN)
        wait(place)
        until(lambda: os.listdir(notes / "concepts"), 60)
        assert wire.forget() > 1, "the mount's and the worker's"
        server.kill()
        server.start()

        with within(2):  # for the first time, so not from the kernel's memory; who asks a server waits for longer
            meanwhile = walked(notes)
            (notes / "documents/garbage.txt").write_text(GARBAGE)
            assert (notes / "documents/garbage.txt").read_text() == GARBAGE
        assert sum(name.endswith("source.txt") for name in meanwhile) > 3
        wait(place)
        until(lambda: "reference-counting.concept" in os.listdir(notes / "concepts"), 60)
        until(lambda: away_since(place) is None)
        assert wire.swallowed, "they were asked on"
        meanwhile.pop("about.md")
        assert meanwhile.items() <= walked(notes).items()
        place.umount()
        assert "0 findings" in place.run("check", "--deep").stderr
        known = knowledge_of(place.home)
    undisturbed = Place(tmp_path / "undisturbed", tmp_path / "none", dict(QUICK))
    for name, content in (("zen.md", ZEN), ("garbage.txt", GARBAGE)):
        (tmp_path / name).write_text(content)
        undisturbed.run("ingest", tmp_path / name, "--ontology", "Notes")
    assert known == knowledge_of(undisturbed.home)


def away_since(place: Place) -> object:
    """What the mount says."""
    return json.loads((place.mountpoint / ".kgfs/status.json").read_text())["replica"]["away_since"]


def replica_errors(place: Place) -> int:
    log = place.home / "log" / "errors.ndjson"
    return log.read_text().count('"where": "replica"') if log.exists() else 0


def said(place: Place, words: str) -> int:
    """In how many lines of the home's log."""
    return (place.home / "log" / "errors.ndjson").read_text().count(words)


def lose(server: Peer) -> None:
    """It comes back with nothing in it."""
    server.end()
    shutil.rmtree(server.folder / "data")
    server.start()


@contextmanager
def stopped(server: Peer) -> Iterator[None]:
    """It takes connections, and answers nothing."""
    found = process.running(server.folder)
    assert found
    with standing_still(found.pid):
        yield
