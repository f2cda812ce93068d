"""Workers of two homes, as two machines have them, on one bucket: they share the work, and one that stands still or ends is made
up for."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_stores
from kgfs.config import load
from tests.support.knowledge_of import knowledge_in
from tests.support.logs import AWAY
from tests.support.running import Place, until
from tests.support.sharing import COUNT, corpus, home, known

PATIENCE = 200.0
"""Seconds for who waits behind one that stands still."""
AHEAD = """
import time
_time, _time_ns = time.time, time.time_ns
time.time, time.time_ns = lambda: _time() + 3600, lambda: _time_ns() + 3600 * 10**9
"""
pytestmark = [pytest.mark.slow, pytest.mark.logs(AWAY, "exchange", "sharing")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one worker on stores of its own knows of the same."""
    top = tmp_path_factory.mktemp("undisturbed")
    alone = home(top / "alone")
    alone.run("ingest", *corpus(top), "--ontology", "Memory")
    with open_stores(load(alone.home)) as stores:
        return knowledge_in(stores)


def work(place: Place) -> None:
    worker = place.start("worker", "--until-idle")
    _, reported = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0, reported


def deposited(homes: tuple[Place, Place], tmp_path: Path) -> None:
    homes[0].run("ingest", *corpus(tmp_path), "--ontology", "Memory", "--no-wait")


@pytest.mark.claim("MACH-1", "MACH-4", "SHARE-10")
def test_two_workers_share_the_work(homes: tuple[Place, Place], undisturbed: dict[str, Any], tmp_path: Path) -> None:
    """One of them has a clock that is an hour ahead."""
    deposited(homes, tmp_path)
    (tmp_path / "ahead").mkdir()
    (tmp_path / "ahead/sitecustomize.py").write_text(AHEAD)
    clocks = ({"PYTHONPATH": str(tmp_path / "ahead")}, {})
    workers = [one.start("worker", "--until-idle", env=clock) for one, clock in zip(homes, clocks, strict=True)]
    reported = [worker.communicate(timeout=PATIENCE) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], reported
    finished = [json.loads((one.home / "run/worker.json").read_text())["finished"] for one in homes]
    assert sum(finished) == COUNT
    for one in homes:
        found, epochs, readings = known(one.home)
        assert (found, readings) == (undisturbed, COUNT)
        assert len(set(epochs)) == COUNT, "each was published once"


@pytest.mark.long("variants")
@pytest.mark.claim("MACH-2", "MACH-3")
@pytest.mark.parametrize("border", ["recorded", "decided", "publication-recorded", "staged"])
def test_one_that_stands_still_past_its_lease_commits_nothing(
    homes: tuple[Place, Place], undisturbed: dict[str, Any], tmp_path: Path, border: str
) -> None:
    """Stopped in the middle of a document: while it is read, before and behind the record of its publication, and once the ledger has
    that."""
    here, there = homes
    deposited(homes, tmp_path)
    still = here.start("worker", "--until-idle", env={"KGFS_STOP_AT": f"{border}:3"})
    until(lambda: "T" in Path(f"/proc/{still.pid}/stat").read_text().rpartition(")")[2].split()[0], 120)
    work(there)
    os.kill(still.pid, signal.SIGCONT)
    _, reported = still.communicate(timeout=PATIENCE)
    assert still.returncode == 0, reported
    for one in homes:
        found, epochs, readings = known(one.home)
        assert found == undisturbed
        assert len(set(epochs)) == COUNT, "each was published once"
        assert readings in (COUNT, COUNT + 1)


@pytest.mark.claim("MACH-3", "SHARE-10")
def test_one_that_is_killed_is_made_up_for(
    homes: tuple[Place, Place], undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    """It had committed to the graph, and told nobody."""
    here, there = homes
    deposited(homes, tmp_path)
    here.run("worker", "--until-idle", expect=-9, env={"KGFS_FAIL_AT": "published:3"})
    work(there)
    work(here)
    for one in homes:
        found, epochs, readings = known(one.home)
        assert (found, readings) == (undisturbed, COUNT)
        assert len(set(epochs)) == COUNT, "each was published once"
