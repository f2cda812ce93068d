"""A bad wire between hosts and their servers: what is cut off says nothing, so nobody learns of it but by waiting."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_stores
from kgfs.config import load
from kgfs.stores.catalog.sqlite import Catalog
from scripts.servers import process
from tests.support.knowledge_of import knowledge_in
from tests.support.logs import AWAY
from tests.support.machines import TIMEOUT, Machines
from tests.support.mounting import catalog_of
from tests.support.running import ROOT, Place, until
from tests.support.sharing import SEEN, corpus, show_the_same, versions_of
from tests.support.texts import GARBAGE, ZEN

COUNT = 3
LEASE = "9"
ASKED = 2.0
"""Seconds in which a mount certainly asks the bucket what others did."""
PLAIN = "encrypted"
PATIENT = {"KGFS_GRAPH_TIMEOUT": "60"}
"""For what is asked before wires are bad and after: a server that has just started plans each kind of question slowly."""
pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.logs(PLAIN, AWAY, "exchange")]


def tree(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


@pytest.mark.claim("MACH-5", "SHARE-3")
@pytest.mark.logs("sharing")
@pytest.mark.mounted
def test_a_host_that_is_cut_off_goes_on_and_makes_up(machines: Machines, homes: list[Place]) -> None:
    """What it was asking then nobody answers, or breaks off: the bucket's server, which had heard it, ends behind the cut, and
    another has its place. Meanwhile the other host writes and renames, by a wire that delays and loses."""
    (place, other), (wire, bad) = homes, (host.wire for host in machines.hosts)
    place.mount(env={"KGFS_PIPELINE_LEASE": LEASE})
    other.mount("--no-worker")
    documents, theirs = place.ontology("Zen") / "documents", other.mountpoint / "Zen/documents"
    (documents / "zen.md").write_text(ZEN)
    (documents / "name.txt").write_text("A name.\n")
    place.wait()
    until(lambda: theirs.is_dir() and show_the_same(documents, theirs), SEEN)
    before = tree(documents.parent)
    server = process.running(machines.folder / "seaweedfs")
    assert server
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(ASKED)
    wire("cut")
    process.end(machines.folder / "seaweedfs", 0)
    machines.start("seaweedfs")
    bad("delay", 0.05)
    bad("loss", 0.05)
    started = time.monotonic()
    assert tree(documents.parent) == before
    (documents / "garbage.txt").write_text(GARBAGE)
    assert (documents / "garbage.txt").read_text() == GARBAGE
    for top, content in ((documents, "here"), (theirs, "there")):
        (top / "both.txt").write_text(content)
    (theirs / "name.txt").rename(theirs / "renamed.txt")
    assert time.monotonic() - started < 3 * TIMEOUT, "no request waits for a server, of which there are many"
    started = time.monotonic()
    place.run("search", "koan")
    assert time.monotonic() - started < 10 * TIMEOUT, "a verb asks both servers, each for so long, and goes on without"
    with catalog_of(other) as catalog:
        until(lambda: catalog.unshipped(1)[1] == [], SEEN)
    bad("delay", 0)
    bad("loss", 0)
    wire("join")
    place.wait()
    until(lambda: show_the_same(documents, theirs), SEEN)
    assert sorted(os.listdir(documents)) == ["both.txt", "garbage.txt", "renamed.txt", "zen.md"]
    assert (documents / "both.txt").read_text() == "there", "delivered first"
    until(lambda: versions_of(documents, "both.txt") == versions_of(theirs, "both.txt") == [b"here", b"there"], SEEN)
    concepts = {str(path.relative_to(documents.parent)) for path in (documents.parent / "concepts").rglob("*")}
    assert {name for name in before if name.startswith("concepts/")} <= concepts
    assert any("garbage" in name for name in concepts)


def known(place: Place) -> Any:
    """As :func:`tests.support.sharing.known`, asked on its host."""
    words = [*place.before, sys.executable, "-m", "tests.support.sharing", str(place.home)]
    environment = {**os.environ, **place.environment, **PATIENT}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def undisturbed(folder: Path) -> Any:
    alone = Place(
        folder / "alone", folder / "none", {"KGFS_MODELS_EMBEDDER": "none", "KGFS_MODELS_EXTRACTOR": "statistics"}
    )
    alone.run("ingest", *corpus(folder, COUNT), "--ontology", "Memory")
    with open_stores(load(alone.home)) as stores:
        return json.loads(json.dumps(knowledge_in(stores)))


@pytest.mark.long
@pytest.mark.claim("MACH-1", "MACH-3")
def test_two_hosts_work_over_wires_that_delay_and_lose_and_are_cut(
    machines: Machines, homes: list[Place], tmp_path: Path
) -> None:
    """100 ms there and back, 5 % of all frames lost; one is cut off for longer than its leases last."""
    wanted = undisturbed(tmp_path)
    here, there = homes
    here.run("ingest", *corpus(tmp_path, COUNT), "--ontology", "Memory", "--no-wait", env=PATIENT)
    for host in machines.hosts:
        host.wire("delay", 0.05)
        host.wire("loss", 0.05)
    workers = [place.start("worker", env={"KGFS_PIPELINE_LEASE": LEASE}) for place in (there, here)]
    until(lambda: owed(there))
    time.sleep(5)
    machines.hosts[1].wire("cut")
    time.sleep(1.5 * float(LEASE))
    machines.hosts[1].wire("join")
    until(lambda: owed(here) < COUNT, 200)
    # The others by good wires: a publication takes some forty requests, each a tenth of a second.
    for host in machines.hosts:
        host.wire("delay", 0)
        host.wire("loss", 0)
    until(lambda: not owed(here) and not owed(there), 200)
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
        _, reported = worker.communicate(timeout=240)
        assert worker.returncode == 0, reported
    for place in homes:
        found, epochs, readings = known(place)
        assert found == wanted
        assert epochs == list(range(epochs[0], epochs[0] + COUNT)), "without a gap, in order of deposit"
        assert COUNT <= readings <= 2 * COUNT, "what was being read when its reader was cut off is read again"


def owed(place: Place) -> int:
    """Asked of its own file: no server is needed for that."""
    with closing(Catalog(place.home / "front.sqlite")) as catalog:
        return catalog.jobs.owed()
