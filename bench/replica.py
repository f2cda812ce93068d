"""Replicas of a graph on a Neo4j server, measured: ``python -m bench.replica --server FOLDER fill --concepts 100000`` and
``… latency``. FOLDER is that of a server started by ``scripts.servers`` (``.servers/neo4j``).

``fill`` makes a graph of so many concepts in a namespace of its own (kept under that name, so that it is made once), each
with three quotes and half a relationship, a thousand to a document; then copies it in a process of its own and prints
seconds, CPU seconds, rows and the highest memory of that process. ``latency`` publishes small documents in one process and
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
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.replica_generated import Generated
from kgfs.domain import RELATIONSHIP_TYPES, chunk_id_of, concept_id_of, instance_id_of, relationship_id_of
from kgfs.stores.database import Database
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.contract import DocumentRow, InstanceRow, SourceRow
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.origin import Origin
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.neo4j.rows import digest, folded
from kgfs.stores.graph.replica.feeder import fed
from kgfs.stores.graph.replica.opening import make_replica, open_replica
from kgfs.stores.graph.replica.outage import Outage
from scripts.servers import process
from tests.t1_stores.graph_building import Doc, Told, publish

ONTOLOGY = "0123456789ab"
TO_A_DOCUMENT = 1000
TO_A_SOURCE = 10
QUOTES = 3
PUBLISHED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--server", type=Path)
    parser.add_argument("what", choices=("fill", "latency"))
    parser.add_argument("--concepts", type=int, default=100_000)
    options = parser.parse_args()
    if options.server is None:
        measure_fill(Generated(options.concepts), options.concepts)
        return
    found = process.running(options.server)
    assert found is not None, f"no server runs in {options.server}"
    password = (options.server / "password").read_text().strip()
    place = Place(f"bolt://{process.HOST}:{found.ports[0]}", password=password, timeout=60.0)
    spawned = multiprocessing.get_context("spawn")
    if options.what == "fill":
        place = replace(place, namespace=f"bench-{options.concepts}")
        make_graph(place, options.concepts)
        copying = spawned.Process(target=measure_fill, args=(place, options.concepts))
        copying.start()
        copying.join()
    else:
        measure_latency(replace(place, namespace=f"bench-latency-{os.getpid()}"), spawned)


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


def _no_graph() -> Neo4jGraph:
    raise SystemExit("There is no graph to copy.")


def counted(path: Path) -> dict[str, int]:
    from kgfs.stores.graph.reading import GraphReads
    from kgfs.stores.graph.replica.file import open_file

    with closing(open_file(path)) as database:
        assert isinstance(database, Database)
        return dict(GraphReads(database).counts())


def make_graph(place: Place, concepts: int) -> None:
    """As publications would leave it, written straight into the server, since a publication of each would take hours."""
    with closing(Neo4jGraph(place)) as graph:
        if graph.counts()["concepts"] == concepts:
            return
        graph.clear()
        speaking = graph._speaking
        space = speaking.read(lambda tx: speaking.root(tx, place.namespace))["space"]
        for first in range(0, concepts, TO_A_DOCUMENT):
            for rows in document(space, first, min(TO_A_DOCUMENT, concepts - first)):
                statement, words = rows
                speaking.write(lambda tx, s=statement, w=words: tx.run(s, **w).consume())  # type: ignore[misc]
            print(f"\r{first + TO_A_DOCUMENT} concepts made", end="", flush=True)
        print()
        counts = {
            "documents": -(-concepts // TO_A_DOCUMENT),
            "sources": -(-concepts // TO_A_SOURCE),
            "concepts": concepts,
            "relationships": concepts // 2,
            "instances": concepts * QUOTES,
        }
        speaking.write(
            lambda tx: tx.run(
                "MATCH (g:Graph {name: $graph}) SET g.epoch = 1, g.changes_above = 1 WITH g"
                " CREATE (o:Ontology {space: g.space, ontology: $ontology, changed_at: 1}) SET o += $counts",
                graph=place.namespace,
                ontology=ONTOLOGY,
                counts=counts,
            ).consume()
        )


def document(space: str, first: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    doc_id, key = f"{first:016x}", f"{space}-{first:012x}"
    labels = [f"concept number {first + n}" for n in range(count)]
    ids = [concept_id_of(ONTOLOGY, label) for label in labels]
    sources, instances = [], []
    for at in range(0, count, TO_A_SOURCE):
        text = " ".join(labels[at : at + TO_A_SOURCE])
        index = at // TO_A_SOURCE
        row = SourceRow(doc_id, index, chunk_id_of(doc_id, at, at + 9), text, at, at + 9, 1, 1, at, at + 9, (), "bench", 0, 9)  # fmt: skip
        sources.append({**asdict(row), "section_path": [], "edition": key, "words": folded(text)})
    for n, id_ in enumerate(ids):
        for quote in range(QUOTES):
            start = n * 100 + quote
            row_ = InstanceRow(
                instance_id_of(id_, doc_id, start, start + 4), id_, "concept", quote + 1, doc_id, n // TO_A_SOURCE,
                "c", labels[n], start, start + 4, start, start + 4, 1, 1, (), None, False, 0.5, 100, 0, 1,
            )  # fmt: skip
            instances.append({**asdict(row_), "section_path": [], "edition": key, "digest": digest(row_)})
    shown = DocumentRow(
        doc_id, ONTOLOGY, doc_id, doc_id * 4, doc_id, doc_id, 1, len(sources), 1, first + 1, doc_id, doc_id, "text/plain",
        "f" * 64, 1, "r", 1,
    )  # fmt: skip
    concepts = [
        {
            "id": id_, "space": space, "ontology": ONTOLOGY, "name": label.replace(" ", "-"), "norm": label, "label": label,
            "aliases": [], "description": "", "kind": "term", "founded": first + 1, "evidence": QUOTES, "related": 1,
            "weight": QUOTES + 1, "size": 500, "mtime": 1, "page_hash": "00", "last_n": QUOTES,
        }
        for id_, label in zip(ids, labels, strict=True)
    ]  # fmt: skip
    pairs = [(ids[n], ids[n + 1]) for n in range(0, count - 1, 2)]
    relationships = [
        {
            "id": relationship_id_of(one, "USES", other), "space": space, "ontology": ONTOLOGY, "subject": one,
            "type": "USES", "inverse": RELATIONSHIP_TYPES["USES"], "object": other, "evidence": 1, "confidence": 0.5,
            "mtime": 1, "last_n": 1,
        }
        for one, other in pairs
    ]  # fmt: skip
    yield (
        "CREATE (d:Edition:Document) SET d = $document WITH d UNWIND $sources AS row CREATE (s:Source) SET s = row"
        " CREATE (d)-[:HAS_CHUNK {index: row.chunk_index}]->(s)",
        {
            "document": {**asdict(shown), "space": space, "key": key, "commit_id": doc_id, "sources": len(sources), "instances": len(instances)},
            "sources": sources,
        },
    )  # fmt: skip
    yield (
        "MATCH (d:Edition {key: $key}) UNWIND $rows AS row CREATE (o:Owner:Concept) SET o = row"
        " CREATE (o)-[:MENTIONED_IN {deposit: $deposit, label: row.label, forms: [row.label], kind: 'term', score: 0.5,"
        " definition: '', ordinal: 0}]->(d)"
        " CREATE (f:Form {space: $space, ontology: row.ontology, form: row.norm}) CREATE (o)-[:CALLED {rank: 0}]->(f)",
        {"key": key, "rows": concepts, "deposit": first + 1, "space": space},
    )
    for at in range(0, len(instances), 1000):
        yield "UNWIND $rows AS row CREATE (i:Instance) SET i = row", {"rows": instances[at : at + 1000]}
    yield "UNWIND $rows AS row CREATE (r:Owner:Relationship) SET r = row", {"rows": relationships}


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
