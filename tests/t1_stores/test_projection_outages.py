"""The projection while its server or its process is killed, and what it takes of memory."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.errors import AWAY
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.projection.endpoint import Endpoint
from scripts.servers import neo4j, process
from tests.support.generated_graph import generate
from tests.support.peers.knowledge_server import place_of
from tests.support.running import until

FOLLOW = """
import sys
from pathlib import Path
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.projection import writing
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.projection import Projection

def peak():  # of this process alone, in MiB; getrusage has that of the one that started it, too
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024

writing.ROWS = int(sys.argv[5])
endpoint = Endpoint(sys.argv[1], password=Path(sys.argv[2]).read_text().strip(), namespace=sys.argv[3], timeout=60.0)
projection = Projection(endpoint, Graph(Path(sys.argv[4])), "killed")
before = peak()
projection.follow()
print(before, peak(), len(list(projection.differences())))
"""


def words_of(place: Endpoint, folder: Path, graph: Path, rows: int) -> list[str | Path]:
    """What runs :data:`FOLLOW` in a process of its own."""
    (folder / "password").write_text(place.password)
    return [sys.executable, "-c", FOLLOW, place.uri, folder / "password", place.namespace, graph, str(rows)]


def own(place: Endpoint) -> Endpoint:
    return replace(place, namespace=f"test-{secrets.token_hex(6)}")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "graph.sqlite"
    generate(path, 3, quotes=400, sources=10)
    return path


@pytest.mark.long
@pytest.mark.slow
def test_a_server_that_is_killed_gets_the_rest_when_it_is_back(
    mortal: Path, generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgfs.stores.projection import writing
    from kgfs.stores.projection.projection import Projection

    monkeypatch.setattr(writing, "ROWS", 100)
    place = own(place_of(mortal))
    with closing(Graph(generated)) as graph, closing(Projection(place, graph, "one")) as one:
        met: list[BaseException] = []

        def follow() -> None:
            try:
                one.follow()
            except AWAY as error:
                met.append(error)

        following = threading.Thread(target=follow)
        following.start()
        until(lambda: _instances(place) > 200)
        running = process.running(mortal)
        assert running is not None
        os.kill(running.pid, signal.SIGKILL)
        following.join(60)
        assert len(met) == 1 and not following.is_alive()
        until(lambda: process.running(mortal) is None)
        neo4j.start(mortal, process.ports_before(mortal))
        one.follow()
        assert list(one.differences()) == []
        assert _instances(place) == graph.counts()["instances"]


def _instances(place: Endpoint) -> int:
    from kgfs.stores.projection.connection import Connection

    with closing(Connection(place)) as connection:
        question = "MATCH (i:Instance) WHERE i.edition STARTS WITH $graph RETURN count(i) AS n"
        return int(connection.read(question, graph=f"{place.namespace}/")[0]["n"])


@pytest.mark.slow
def test_a_process_that_is_killed_anywhere_is_gone_on_from(
    neo4j_place: Endpoint, generated: Path, tmp_path: Path
) -> None:
    """Killed again and again, each time a little later, until nothing is left to do."""
    from kgfs.stores.projection.projection import Projection

    place = own(neo4j_place)
    words = words_of(place, tmp_path, generated, 100)
    kills = 0
    for passed in (1, 3, 2, 5, 1, 4, 8):
        done = subprocess.run(words, env={**os.environ, "KGFS_FAIL_AT": f"projected:{passed}"}, check=False)
        assert done.returncode in (0, -signal.SIGKILL)
        kills += done.returncode != 0
    assert kills >= 5
    with closing(Graph(generated)) as graph, closing(Projection(place, graph, "killed")) as one:
        one.follow()
        assert list(one.differences()) == []
        assert _instances(place) == graph.counts()["instances"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_graph(neo4j_place: Endpoint, tmp_path: Path) -> None:
    peaks = []
    for documents in (2, 20):
        path = tmp_path / f"{documents}.sqlite"
        generate(path, documents, quotes=800, sources=20)
        words = words_of(own(neo4j_place), tmp_path, path, 1000)
        reported = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        before, after, differences = map(int, reported.split())
        assert differences == 0
        peaks.append(after - before)
    small, large = peaks
    assert large - small < 15, "MiB, for ten times the rows"
