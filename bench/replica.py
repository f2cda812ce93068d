"""Replicas of a graph on a Neo4j server, measured: ``python -m bench.replica --server FOLDER fill --concepts 100000`` and
``… latency``. FOLDER is that of a server started by ``scripts.servers`` (``.servers/neo4j``).

``fill`` puts a graph of so many concepts on the server, in place of all that is there (and finds it there the next time), each
with three quotes and half a relationship, a thousand to a document; then copies it in a process of its own and prints
seconds, CPU seconds of that process and of the server, rows and the highest memory of that process. ``latency`` publishes small documents in one process and
prints after how many milliseconds another one's replica showed each, counted from when ``publish`` returned.
Without ``--server`` ``fill`` measures what this machine does with rows that are made up: see ``replica_generated``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import replica_imported
from bench.replica_generated import Generated
from kgfs.stores.database import Database
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.origin import Origin
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.replica.feeder import fed
from kgfs.stores.graph.replica.opening import make_replica, open_replica
from kgfs.stores.graph.replica.outage import Outage
from scripts.servers import process
from tests.support.graph_building import Doc, Told, publish

PUBLISHED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--server", type=lambda given: Path(given).resolve())
    parser.add_argument("what", choices=("fill", "latency"))
    parser.add_argument("--concepts", type=int, default=100_000)
    options = parser.parse_args()
    if options.server is None:
        measure_fill(Generated(options.concepts), options.concepts)
        return
    spawned = multiprocessing.get_context("spawn")
    if options.what == "fill":
        place = have_graph(options.server, options.concepts)
        before = cpu_of(options.server)
        copying = spawned.Process(target=measure_fill, args=(place, options.concepts))
        copying.start()
        copying.join()
        print(json.dumps({"cpu_seconds of the server": round(cpu_of(options.server) - before, 1)}))
    else:
        measure_latency(replace(place_in(options.server), namespace=f"bench-latency-{os.getpid()}"), spawned)


# ------------------------------------------------------------------------------------------------- fill


def measure_fill(place: Place | Generated, concepts: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kgfs-bench-replica-") as folder:
        path = Path(folder) / "replica.sqlite"
        at_start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tenth: list[int] = []

        def progress(done: int, total: int) -> None:
            if not tenth and done > total // 10:
                tenth.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

        started = time.perf_counter()
        with closing(place if isinstance(place, Generated) else Origin(place)) as origin:
            make_replica(origin, path, Path(folder) / "lock", _no_graph, progress)
        used = resource.getrusage(resource.RUSAGE_SELF)
        rows = sum(counted(path).values())
        print(
            json.dumps(
                {
                    "concepts": concepts,
                    "rows": rows,
                    "seconds": round(time.perf_counter() - started, 1),
                    "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
                    "memory_mb": {
                        "before": at_start // 1024,
                        "after a tenth": tenth[0] // 1024 if tenth else None,
                        "highest": used.ru_maxrss // 1024,
                    },
                    "file_mb": path.stat().st_size >> 20,
                }
            )
        )


def cpu_of(folder: Path) -> float:
    """Seconds that the server has used so far."""
    found = process.running(folder)
    assert found is not None
    words = Path(f"/proc/{found.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _no_graph() -> Neo4jGraph:
    raise SystemExit("There is no graph to copy.")


def counted(path: Path) -> dict[str, int]:
    from kgfs.stores.graph.reading import GraphReads
    from kgfs.stores.graph.replica.file import open_file

    with closing(open_file(path)) as database:
        assert isinstance(database, Database)
        return dict(GraphReads(database).counts())


def have_graph(folder: Path, concepts: int) -> Place:
    """Where a graph of so many concepts is; it is imported where it is not there yet."""
    place = replace(place_in(folder), namespace=f"bench-{concepts}")
    with closing(Neo4jGraph(place)) as graph:
        if graph.counts()["concepts"] == concepts:
            return place
    replica_imported.make(folder, place.namespace, concepts)
    place = replace(place_in(folder), namespace=place.namespace)
    Neo4jGraph(place).close()  # which makes the indexes
    return place


def place_in(folder: Path) -> Place:
    found = process.running(folder)
    assert found is not None, f"no server runs in {folder}"
    password = (folder / "password").read_text().strip()
    return Place(f"bolt://{process.HOST}:{found.ports[0]}", password=password, timeout=60.0)


# ---------------------------------------------------------------------------------------------- latency


def measure_latency(place: Place, spawned: Any) -> None:
    heard: Any = spawned.Queue()
    with closing(Neo4jGraph(place)) as graph:
        publish(graph, Doc("f" * 16, [Told("warm"), Told("up")], [("warm", "USES", "up", 0.5)]))
        mount = spawned.Process(target=follow_to_the_end, args=(place, graph.epoch(), heard))
        mount.start()
        heard.get()
        shown: dict[int, float] = {}
        done: dict[int, float] = {}
        for number in range(PUBLISHED):
            doc = Doc(f"{number:016x}", [Told(f"concept {number} {n}") for n in range(10)], texts=[f"text {number}"])
            epoch = publish(graph, doc)
            done[epoch] = time.time()
            time.sleep(0.05 * (number % 7))
        while len(shown) < PUBLISHED:
            first, last, at = heard.get(timeout=60)
            shown |= {epoch: at for epoch in range(first, last + 1) if epoch in done}
        mount.join()
        graph.clear()
    late = sorted(max(0.0, shown[epoch] - done[epoch]) * 1000 for epoch in done)
    cuts = statistics.quantiles(late, n=100)
    print(
        json.dumps(
            {"published": len(late), "p50_ms": round(cuts[49]), "p99_ms": round(cuts[98]), "max_ms": round(late[-1])}
        )
    )


def follow_to_the_end(place: Place, epoch: int, heard: Any) -> None:
    """What a mount does, and word of each epoch that its readers see."""
    with tempfile.TemporaryDirectory(prefix="kgfs-bench-replica-") as folder:
        path, lock, origin = Path(folder) / "replica.sqlite", Path(folder) / "lock", Origin(place)
        outage = Outage(Path(folder) / "away", ErrorLog(Path(folder) / "errors.ndjson"))
        make_replica(origin, path, lock, lambda: Neo4jGraph(place))
        replica = open_replica(origin, path, lock, lambda: Neo4jGraph(place), outage, refill=True)
        assert replica is not None
        with closing(replica), fed(replica):
            heard.put(None)
            last = epoch + PUBLISHED
            while epoch < last:
                if (now := replica.epoch()) != epoch:
                    heard.put((epoch + 1, now, time.time()))
                    epoch = now
                time.sleep(0.002)


if __name__ == "__main__":
    main()
