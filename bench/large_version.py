"""What a document of 100 MB costs a Neo4j: ``python -m bench.large_version [--megabytes 100] [--limit 32m] [--concepts 40]``.

A server of its own (512 MB of heap, every transaction limited by ``db.memory.transaction.max``, so that one that wants more
fails) is given a version as the pipeline gives it: Sources of 3,000 characters, concepts with eight quotes each, by
batches, then published; another is staged and abandoned, and the first forgotten. Prints for each step the time, the
largest transaction's memory as the server tells it while it is under way (looked at twenty times a second, so at least
that), and what the server's process had at most.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from neo4j import GraphDatabase

from kgfs.domain.identity import concept_id_of, instance_id_of
from kgfs.domain.knowledge import Mention
from kgfs.ingest.matching.publication import STAGED_AT_ONCE
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.vocabulary import Batch, ConceptRow, DocumentRow, InstanceRow, Publication, SourceRow
from scripts.servers import neo4j, process

DOCUMENT, ONTOLOGY = "d" * 16, "0123456789ab"
SOURCE = 3000
"""Characters of one Source."""
QUOTES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--concepts", type=int, default=40)
    parser.add_argument("--limit", default="32m", help="db.memory.transaction.max of the server")
    parser.add_argument("--folder", type=Path, help="where the server's data go, else a temporary place")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        folder = Path(scratch)
        (folder / "data").mkdir()
        (folder / "data/neo4j.conf").write_text(f"db.memory.transaction.max={arguments.limit}\n")
        server = neo4j.start(folder, ())
        try:
            place = Place(
                f"bolt://{process.HOST}:{server.ports[0]}", password=(folder / "password").read_text(), timeout=120.0
            )
            with closing(Neo4jGraph(place)) as graph:
                measure(graph, place, server.pid, arguments.megabytes * 1_000_000 // SOURCE, arguments.concepts)
        finally:
            process.end(folder)


def measure(graph: Graph, place: Place, pid: int, sources: int, concepts: int) -> None:
    with watched(place, pid, f"stage {sources} Sources, {concepts * QUOTES} quotes"):
        stage(graph, "one", sources, concepts)
    with watched(place, pid, "publish"):
        graph.publish(publication("one", sources, concepts))
    assert graph.counts()["sources"] == sources
    stage(graph, "two", sources, concepts)
    with watched(place, pid, "abandon another"):
        graph.abandon("two")
    with watched(place, pid, "forget"):
        graph.forget("gone", [DOCUMENT], 2)
    assert (graph.staged(), graph.faults(), graph.counts()["sources"]) == ([], [], 0)


@contextmanager
def watched(place: Place, pid: int, what: str) -> Iterator[None]:
    over, largest = threading.Event(), [0]
    with GraphDatabase.driver(place.uri, auth=(place.user, place.password)) as driver:

        def look() -> None:
            question = "SHOW TRANSACTIONS YIELD estimatedUsedHeapMemory AS m RETURN max(m)"
            while not over.wait(0.05):
                largest[0] = max(largest[0], driver.execute_query(question).records[0][0] or 0)

        watching = threading.Thread(target=look)
        begun = time.monotonic()
        watching.start()
        try:
            yield
        finally:
            took = time.monotonic() - begun
            over.set()
            watching.join()
    resident = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    memory = int(resident.split()[1]) // 1024
    print(
        f"{what}: {took:.1f} s, largest transaction {largest[0] / 2**20:.1f} MiB, server at most {memory} MiB",
        flush=True,
    )


def stage(graph: Graph, commit_id: str, sources: int, concepts: int) -> None:
    for start in range(0, sources, STAGED_AT_ONCE):
        rows = [source(index) for index in range(start, min(start + STAGED_AT_ONCE, sources))]
        graph.stage(commit_id, DOCUMENT, Batch(sources=rows))
    quotes = [quote(n, i, sources) for n in range(concepts) for i in range(QUOTES)]
    for start in range(0, len(quotes), STAGED_AT_ONCE):
        graph.stage(commit_id, DOCUMENT, Batch(instances=quotes[start : start + STAGED_AT_ONCE]))


def source(index: int) -> SourceRow:
    at = index * SOURCE
    return SourceRow(
        doc_id=DOCUMENT, chunk_index=index, chunk_id=f"{index:012x}", full_text=text(index), char_start=at,
        char_end=at + SOURCE, line_start=index + 1, line_end=index + 1, byte_start=at, byte_end=at + SOURCE,
        section_path=("Top",), chunk_method="structure/1", overlap_chars=0, tokens=SOURCE // 4, gated="",
    )  # fmt: skip


def text(index: int) -> str:
    """Words of a vocabulary as a long text has one: some often, most seldom."""
    chance = random.Random(index)
    words = (f"word{int(chance.paretovariate(0.5)) % 200_000:x}" for _ in range(SOURCE // 5))
    return " ".join(words)[:SOURCE]


def concept(n: int) -> str:
    return concept_id_of(ONTOLOGY, f"concept {n}")


def quote(n: int, which: int, sources: int) -> InstanceRow:
    index = (n * QUOTES + which) * 37 % sources
    at = index * SOURCE + n % 1000
    return InstanceRow(
        instance_id=instance_id_of(concept(n), DOCUMENT, at, at + 120), owner=concept(n), owner_kind="concept",
        n=which + 1, doc_id=DOCUMENT, chunk_index=index, chunk_id=f"{index:012x}", quote=text(index)[:120],
        char_start=at, char_end=at + 120, byte_start=at, byte_end=at + 120, line_start=index + 1, line_end=index + 1,
        section_path=("Top",), page=None, defines=False, confidence=0.5, source_size=4000, citation_size=0, mtime=1,
    )  # fmt: skip


def publication(commit_id: str, sources: int, concepts: int) -> Publication:
    size = sources * SOURCE
    document = DocumentRow(
        doc_id=DOCUMENT, ontology=ONTOLOGY, source_id=f"{ONTOLOGY}/large.txt", content_hash="c" * 64,
        garage_key="sources/x/large.txt", original_filename="large.txt", size_bytes=size, chunk_count=sources,
        ingested_at=1, deposit=1, source_title="Large", source_uri="documents/large.txt", document_type="text/plain",
        text_sha256="f" * 64, content_length=size, reading="r", ingest_version=1, text_md_size=size,
    )  # fmt: skip
    rows = [
        ConceptRow(
            concept(n), ONTOLOGY, f"concept {n}", f"concept-{n}",
            Mention(DOCUMENT, 1, f"Concept {n}", (f"Concept {n}", f"concepts {n}"), "term", 0.5, "A thing that is said."),
        )
        for n in range(concepts)
    ]  # fmt: skip
    return Publication(commit_id, document, rows, [], [], 1)


if __name__ == "__main__":
    main()
