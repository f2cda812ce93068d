"""Who stands still in the middle of a transaction, whose locks others wait for: they go on, and it finds that it lost its lease."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgfs.stores.graph.neo4j.still import GAP, LEAST, LOOK, Still, signed
from kgfs.stores.leases.contract import Lease, Leases
from tests.support.graph_building import publish
from tests.support.graph_stores import own
from tests.support.running import until
from tests.support.stopping import is_stopped
from tests.t1_stores.test_graph_neo4j import ZEN, B, C, opened

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

SOON = 60.0
"""Seconds; the server itself would end a transaction after ten times its time-out, which is 60."""
LASTS = 8.0
PATIENCE = 5.0

CHILD = """
import os, signal, sys, time
from contextlib import closing
from kgfs.errors import KgfsError
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.locking import lock
from kgfs.stores.graph.neo4j.origin import Origin
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.leases.holding import Holding
from tests.support.graph_building import publish
from tests.t1_stores.test_graph_neo4j import ZEN
what, uri, password, namespace, lasts = *sys.argv[1:3], open(sys.argv[3]).read(), sys.argv[4], float(sys.argv[5])
place = Place(uri, password=password, namespace=namespace, timeout=float(sys.argv[6]))
graph = Neo4jGraph(place)
leases = graph.leases(5.0)

def busy(tx):
    assert lock(tx, namespace)
    print("begun", flush=True)
    if what == "asks":
        for _ in range(20):
            time.sleep(1)
            tx.run("MATCH (g:Graph {name: $graph}) RETURN g", graph=namespace).consume()
    elif what == "long":
        most, took = 100_000, 0.0
        while took < 15:
            before = time.monotonic()
            tx.run("UNWIND range(1, $most) AS x RETURN sum(sin(x) * cos(x))", most=most).consume()
            took = time.monotonic() - before
            most = int(most * 18 / max(took, 1))
    else:
        time.sleep(24)

def stand_still(look):
    os.kill(os.getpid(), signal.SIGSTOP)
    return look.epoch_of("first")

try:
    if what == "alone":
        print("done", Origin(place).look(stand_still, alone=True))
    elif what == "stops":
        print("done", publish(graph.fenced(leases.take("publish", "child", lasts)), ZEN, "first"))
    else:
        holding = Holding(leases, lasts)
        lease = holding.take("publish") if what == "renews" else leases.take("publish", "child", lasts)
        print("done", graph.fenced(lease)._speaking.write(busy))
except KgfsError as error:
    print(type(error).__name__, error)
"""


@contextmanager
def child(place: Place, password: Path, what: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    password.write_text(place.password)
    words = [what, place.uri, str(password), place.namespace, str(LASTS), str(place.timeout)]
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, *words],
        env={**os.environ, **more},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def goes_on(process: subprocess.Popen[str]) -> str:
    os.kill(process.pid, signal.SIGCONT)
    said, _ = process.communicate(timeout=SOON)
    return said


def taken_soon(leases: Leases) -> Lease:
    before = time.monotonic()
    while time.monotonic() - before < SOON:
        if lease := leases.take("publish", "somebody", LASTS):
            return lease
        time.sleep(0.2)
    raise AssertionError(f"not to be had within {SOON:g} s")


@pytest.mark.slow
@pytest.mark.claim("MACH-2", "MACH-3")
def test_one_that_is_stopped_while_it_commits_holds_up_nobody_and_commits_nothing(
    neo4j_place: Place, tmp_path: Path
) -> None:
    place = own(neo4j_place)
    with ExitStack() as stack:
        graph = stack.enter_context(closing(opened(place)))
        leases = stack.enter_context(closing(graph.leases(PATIENCE)))
        process = stack.enter_context(child(place, tmp_path / "password", "stops", KGFS_STOP_AT="graph-committing"))
        until(lambda: is_stopped(process.pid), SOON)
        ours = graph.fenced(taken_soon(leases))
        assert publish(ours, replace(ZEN, doc_id=B), "second") == 1
        assert "LostLeaseError" in goes_on(process)
        assert (graph.epoch(), graph.published("first"), graph.document(ZEN.doc_id)) == (1, None, None)
        assert graph.faults() == []


@pytest.mark.slow
@pytest.mark.claim("MACH-3")
def test_one_that_is_stopped_with_the_lock_of_the_graph_alone_holds_up_nobody(
    neo4j_place: Place, tmp_path: Path
) -> None:
    """A mount that copies a graph which others change without a pause keeps them from it for a moment."""
    place = own(neo4j_place)
    with ExitStack() as stack:
        graph = stack.enter_context(closing(opened(place)))
        process = stack.enter_context(child(replace(place, timeout=6.0), tmp_path / "password", "alone"))
        until(lambda: is_stopped(process.pid), SOON)
        before = time.monotonic()
        assert publish(graph, replace(ZEN, doc_id=C), "second") == 1
        assert time.monotonic() - before < 45, "the server would have ended it after 60"
        assert "TimedOutError" in goes_on(process)


@pytest.mark.slow
@pytest.mark.claim("MACH-1", "MACH-3")
@pytest.mark.parametrize("what", ["asks", "long", "renews"])
def test_one_that_works_is_not_ended_however_long_it_takes(neo4j_place: Place, tmp_path: Path, what: str) -> None:
    """It asks on and on; or one thing that takes the server long; or it works something out, and renews its lease."""
    place = own(neo4j_place)
    with ExitStack() as stack:
        graph = stack.enter_context(closing(opened(place)))
        leases = stack.enter_context(closing(graph.leases(PATIENCE)))
        process = stack.enter_context(child(place, tmp_path / "password", what))
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        begun = time.monotonic()
        while leases.take("publish", "somebody", LASTS) is None:
            assert time.monotonic() - begun < 5 * SOON
        assert time.monotonic() - begun > LEAST
        assert process.communicate(timeout=SOON)[0] == "done None\n"


def test_a_renewal_that_waits_for_long_is_a_sign_however_short_the_lease() -> None:
    """It waits for what its own transaction has locked: for as long as who renews is patient, and until the server ends it."""
    now, ended = [0.0], []
    silence = signed("g", LASTS)["silence"]

    def ask(statement: str, words: dict[str, Any]) -> dict[str, Any]:
        ended.extend(words.get("ids", []))
        renewal = f"t-renewal-{now[0] // (PATIENCE + 2)}"
        row = {"process": "p", "address": "", "silence": silence, "signs": [1]}
        return {"open": [{**row, "id": "t-1", "waits": True}, {**row, "id": renewal, "waits": False}]}

    still = Still("g", lambda: now[0])
    for _ in range(240):
        still.end(ask)
        assert not ended
        now[0] += LOOK / 2


def test_nothing_is_counted_while_nobody_could_be_heard() -> None:
    """The server, or who looks, stood still for an hour."""
    now, ended = [0.0], []
    row = {"id": "t-1", "process": "p", "address": "", "silence": 3 * GAP, "signs": [1], "waits": True}

    def ask(statement: str, words: dict[str, Any]) -> dict[str, Any]:
        ended.extend(words.get("ids", []))
        return {"open": [row]}

    still = Still("g", lambda: now[0])
    for seconds in (0, GAP, 3600, GAP / 2):
        now[0] += seconds
        still.end(ask)
        assert not ended
    now[0] += GAP / 2
    still.end(ask)
    assert ended == ["t-1"]
