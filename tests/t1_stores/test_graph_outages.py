"""A graph's server that is killed and started again: in the middle of a publication, and under a replica."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.errors import AwayError, KgfsError, StoreError, TimedOutError
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.memory import MemoryGraph
from kgfs.stores.graph.replica.feeder import fed
from kgfs.stores.graph.replica.graph import Replica
from kgfs.stores.graph.replica.opening import make_replica, open_replica
from kgfs.stores.graph.replica.outage import Outage
from scripts.servers import neo4j as server
from scripts.servers import process
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, prepared, publish
from tests.support.graph_stores import own
from tests.support.logs import AWAY
from tests.support.peers.knowledge_server import place_of
from tests.t1_stores.test_graph_neo4j import ZEN, A, B, nodes, opened
from tests.t1_stores.test_graph_replica import WAY, connect, until


def kill(folder: Path) -> None:
    found = process.running(folder)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    while process.running(folder):
        threading.Event().wait(0.05)


@pytest.mark.slow
def test_a_server_that_is_killed_while_a_version_is_prepared_shows_none_of_it(mortal: Path) -> None:
    place = own(place_of(mortal))
    graph = opened(place)
    publish(graph, ZEN, "c0")
    hasty = opened(replace(place, timeout=6.0))  # for what is asked of a server that is gone
    before = graph.concepts(ONTOLOGY), dict(graph.counts()), graph.changes(0)
    big = Doc(B, [Told("Zen", 150), Told("Way", 150)], [("Way", "USES", "Zen", 0.4)], [f"text {n}" for n in range(300)])
    batch, publication = prepared(graph, big, "c1")
    graph.stage("c1", B, replace(batch, instances=batch.instances[:200]))
    stop = threading.Timer(0.05, kill, [mortal])
    stop.start()
    with pytest.raises(KgfsError) as told:
        while True:
            hasty.stage("c1", B, batch)
    assert place.password not in str(told.value)
    stop.join()
    with pytest.raises((StoreError, TimedOutError)):
        hasty.publish(publication)

    server.start(mortal, process.ports_before(mortal))
    assert graph.staged() == ["c1"]
    assert (graph.concepts(ONTOLOGY), dict(graph.counts()), graph.changes(0)) == before
    assert [row.doc_id for row in graph.documents(ONTOLOGY)] == [A]
    graph.stage("c1", B, batch)
    assert graph.publish(publication) == 2

    # Killed while it publishes: at whichever moment, the repetition ends in the same.
    again = replace(big, title="again")
    batch, publication = prepared(graph, again, "c2", at=5000)
    graph.stage("c2", B, batch)
    stop = threading.Timer(0.1, kill, [mortal])
    stop.start()
    try:
        hasty.publish(publication)
    except KgfsError:
        pass  # most often; but it may have been quicker
    stop.join()
    hasty.close()
    server.start(mortal, process.ports_before(mortal))
    assert graph.publish(publication) == 3 == graph.epoch()
    assert graph.publish(publication) == 3
    oracle = MemoryGraph()
    publish(oracle, ZEN, "c0")
    publish(oracle, big, "c1")
    publish(oracle, again, "c2", at=5000)
    assert graph.concepts(ONTOLOGY) == oracle.concepts(ONTOLOGY)
    assert dict(graph.counts()) == dict(oracle.counts())
    assert graph.page(cid("Zen")) == oracle.page(cid("Zen"))
    assert graph.staged() == graph.faults() == []
    graph.close()
    after = opened(place)
    assert nodes(after)["rows"] == 4 + 2 + 300 + 301
    after.close()


@pytest.mark.slow
@pytest.mark.logs(AWAY)
@pytest.mark.claim("GRAPH-2")
def test_while_the_server_is_away_reading_goes_on(mortal: Path, tmp_path: Path) -> None:
    from kgfs.stores.graph.neo4j.origin import Origin

    place = own(place_of(mortal))
    path, errors = tmp_path / "replica.sqlite", ErrorLog(tmp_path / "errors.ndjson")

    def opened() -> Replica:
        found = open_replica(
            Origin(place),
            path,
            tmp_path / "lock",
            connect(replace(place, timeout=5.0)),
            Outage(tmp_path / "away", errors),
            refill=False,
        )
        assert found is not None
        return found

    with closing(connect(place)()) as graph:
        publish(graph, ZEN)
    with closing(Origin(place)) as origin:
        make_replica(origin, path, tmp_path / "lock", connect(place))
    with closing(opened()) as replica, fed(replica):
        assert replica.lag().away_since is None
        kill(mortal)
        until(lambda: replica.lag().away_since is not None)
        time.sleep(2.5)
        [line] = errors.read().splitlines()
        assert replica.lag().away_reason == json.loads(line)["message"]
        assert json.loads(line)["where"] == "replica", "one line an outage, not one a look"
        assert replica.document(A) is not None
        assert replica.lag().seconds > 2
        with pytest.raises((AwayError, TimedOutError)):
            replica.refresh()
        with closing(opened()) as second:
            assert second.page(cid("Zen")) == replica.page(cid("Zen"))
            with pytest.raises((StoreError, TimedOutError)):
                second.published("c1")
        server.start(mortal, process.ports_before(mortal))
        with closing(connect(place)()) as graph:
            publish(graph, WAY)
        until(lambda: replica.document(B) is not None)
        until(lambda: replica.lag().away_since is None)
        oracle = MemoryGraph()
        publish(oracle, ZEN)
        publish(oracle, WAY)
        assert replica.concepts(ONTOLOGY) == oracle.concepts(ONTOLOGY)
    assert len(errors.read().splitlines()) in (1, 2), "one an outage; one that just started may be silent once more"
