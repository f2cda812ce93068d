"""What the projection of a generated graph to Neo4j costs: ``python -m bench.projection [--documents N] [--kill]``.

Starts a Neo4j of its own. Prints the time, this process's memory before and at its peak, and the server's. With ``--kill`` the server
is killed and started again meanwhile, and the projecting process is killed once, too; what is there in the end is compared.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from bench.generated import document_row, instance_row, source_row
from kgfs.domain.identity import relationship_id_of
from kgfs.domain.knowledge import Mention
from kgfs.stores.graph.sqlite import SqliteGraph
from kgfs.stores.graph.vocabulary import (
    Batch,
    ConceptRow,
    InstanceRow,
    Publication,
    RelationshipRow,
    SourceRow,
)

ONTOLOGY = "0123456789ab"
SOURCES, QUOTES, CONCEPTS = 100, 3000, 40
"""Of each document."""
NAMED = 2000
"""Concepts there are in all, at most."""
TEXT = "Meditation is a practice in which a person trains attention and awareness. " * 10


def generate(path: Path, documents: int, quotes: int = QUOTES, sources: int = SOURCES) -> None:
    """Write a graph of so many documents to a file."""
    with closing(SqliteGraph(path)) as graph:
        for number in range(documents):
            publish(graph, number, sources, quotes)


def publish(graph: SqliteGraph, number: int, sources: int, quotes: int) -> None:
    doc_id, commit_id = f"{number:016x}", f"publish-{number:016x}"
    owners = [f"{(number * 7 + step) % NAMED:024x}" for step in range(CONCEPTS)]
    texts = [source_row(doc_id, index, TEXT, index * len(TEXT), index + 1) for index in range(sources)]
    given = dict.fromkeys(owners, 0) | {owner: n - 1 for owner, n in graph.next_numbers(owners).items()}
    rows: list[InstanceRow] = []
    for at in range(quotes):
        owner = owners[at % CONCEPTS]
        given[owner] += 1
        rows.append(_instance(texts, owner, "concept", given[owner], at))
    pairs = [(a, b) for a, b in pairwise(owners) if a != b]
    relationships = [RelationshipRow(relationship_id_of(a, "USES", b), ONTOLOGY, a, "USES", b) for a, b in pairs]
    numbers = graph.next_numbers([row.relationship_id for row in relationships])
    rows += [
        _instance(texts, row.relationship_id, "relationship", numbers[row.relationship_id], at)
        for at, row in enumerate(relationships)
    ]
    graph.stage(commit_id, doc_id, Batch(texts, {"instance": rows}))
    concepts = [
        ConceptRow(owner, ONTOLOGY, f"concept {owner}", f"concept-{owner}", _mention(doc_id, number, owner))
        for owner in owners
    ]
    file, sha256 = f"{doc_id}.txt", doc_id * 4
    document = document_row(doc_id, ONTOLOGY, file, texts, sha256, f"sources/x/{file}", number + 1)
    graph.publish(Publication(commit_id, document, concepts, relationships, (), number + 1))


def _instance(sources: list[SourceRow], owner: str, kind: str, n: int, at: int) -> InstanceRow:
    source = sources[at % len(sources)]
    start = source.char_start + at // len(sources) * 13 % 550
    return instance_row(source, owner, kind, n, start, start + 200, source.line_start)


def _mention(doc_id: str, number: int, owner: str) -> Mention:
    label = f"Concept {owner}"
    return Mention(doc_id, number + 1, label, (label,), "term", 0.5, "")


PROJECTING = """
import sys, time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from kgfs.errors import AWAY
from kgfs.stores.graph.sqlite import SqliteGraph
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.projection import Projection

uri, password, namespace, path = sys.argv[1], Path(sys.argv[2]).read_text().strip(), sys.argv[3], Path(sys.argv[4])
graph = SqliteGraph(path)
endpoint = Endpoint(uri, password=password, namespace=namespace, timeout=60.0)
projection = Projection(endpoint, graph, "bench")
def peak():  # of this process alone; getrusage has that of the one that started it, too
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
before = peak()
while True:
    try:
        projection.follow()
        break
    except AWAY as error:
        print(f"away: {error}", file=sys.stderr)
        time.sleep(1)
after = peak()
print(before // 1024, after // 1024, len(list(projection.differences())), flush=True)
"""


def project(uri: str, password: Path, namespace: str, path: Path) -> subprocess.Popen[str]:
    """Start a process that projects a graph, and prints its peak of memory before and after (MiB), and the differences left."""
    words = [sys.executable, "-c", PROJECTING, uri, str(password), namespace, str(path)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def peak_of(started: subprocess.Popen[str]) -> tuple[int, int, int]:
    """Wait for one that :func:`project` started; what it prints."""
    reported, _ = started.communicate()
    before, after, differences = map(int, reported.split())
    return before, after, differences


def main() -> None:
    from scripts.servers import neo4j, process

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=70)
    parser.add_argument("--kill", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgfs-bench-") as scratch:
        folder, path = Path(scratch) / "neo4j", Path(scratch) / "graph.sqlite"
        folder.mkdir()
        began = time.monotonic()
        generate(path, arguments.documents)
        with closing(SqliteGraph(path)) as graph:
            counts = dict(graph.counts())
        print(f"generated in {time.monotonic() - began:.0f} s: {counts}, {sum(counts.values())} rows", flush=True)
        running = neo4j.start(folder, ())
        try:
            uri, password = f"bolt://{process.HOST}:{running.ports[0]}", folder / "password"
            namespace, began = f"bench-{secrets.token_hex(4)}", time.monotonic()
            one = project(uri, password, namespace, path)
            if arguments.kill:
                time.sleep(20)
                os.kill(running.pid, signal.SIGKILL)
                process._wait_for(running.pid)
                running = neo4j.start(folder, running.ports)
                time.sleep(20)
                one.kill()
                one.wait()
                one = project(uri, password, namespace, path)
            before, after, differences = peak_of(one)
            print(
                f"projected in {time.monotonic() - began:.0f} s, {after} MiB at most ({before} before), {differences} differences"
            )
            with open(f"/proc/{running.pid}/status") as status:
                print("server: " + next(line for line in status if line.startswith("VmHWM")).strip())
        finally:
            process.end(folder, 0)


if __name__ == "__main__":
    main()
