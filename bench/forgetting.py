"""What forgetting costs beside what it undoes: 100 of 1,000 documents, from their Readings to the graph and out again.

    python -m bench.forgetting [--documents 1000] [--forgotten 100]

Documents are of realistic size (ten Sources, thirty concepts drawn as labels are in a library: few very common, many
rare; two quotes each, ten relationships). Prints the seconds that matching and publishing their metadata took, those
of forgetting them in one commit, their rows removed, and the ratio, which is to be at most 1/5. Neither asks a model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from kgfs.domain.documents import Document, State
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk, Verdict
from kgfs.ingest.matching.match import match
from kgfs.ingest.matching.publication import carry_out
from kgfs.settings import Pipeline
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.sqlite import SqliteGraph
from kgfs.stores.readings import Reading

ONTOLOGY = "0123456789ab"
CONCEPTS, QUOTES, RELATIONSHIPS, SOURCES, SOURCE_CHARACTERS = 30, 2, 10, 10, 1600
QUOTE = 90
"""Characters."""
VOCABULARY = 8000
BUDGET = 0.2


def doc_id_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:16]


def publish(graph: Graph, number: int, chance: random.Random) -> None:
    """From a Reading to the graph, as the pipeline does: match, stage, publish."""
    source_id = f"{ONTOLOGY}/{number}.txt"
    doc_id = doc_id_of(number)
    text = "".join(_text(chance) for _ in range(SOURCES))
    ends = [len(text) * (index + 1) // SOURCES for index in range(SOURCES)]
    chunks = tuple(
        Chunk(index, start, end, index + 1, index + 1, start, end, ("Top",), 400, start)
        for index, (start, end) in enumerate(pairwise([0, *ends]))
    )
    labels = sorted({f"Concept {int(VOCABULARY * chance.random() ** 3)}" for _ in range(CONCEPTS * 2)})[:CONCEPTS]
    found = tuple(
        FoundConcept(
            label, normalise_label(label), (label,), "term", 0.5, "",
            tuple(_quote(chance, chunks) for _ in range(QUOTES)),
        )
        for label in labels
    )  # fmt: skip
    pairs = sorted({tuple(sorted(chance.sample([c.norm for c in found], 2))) for _ in range(RELATIONSHIPS)})
    relationships = tuple(FoundRelationship(one, "USES", other, _quote(chance, chunks), 0.5) for one, other in pairs)
    reading = Reading(
        doc_id=doc_id,
        content_hash=doc_id * 4,
        ingest_version=1,
        parser="plain/1",
        media_type="text/plain",
        encoding="utf-8",
        text_key="",
        text_sha256="f" * 64,
        text_length=len(text),
        title=f"Document {number}",
        chunk_method="structure/1",
        chunks=chunks,
        verdicts=(Verdict(passed=True),) * SOURCES,
        extractor="bench",
        extractor_model="",
        strategy="hybrid",
        known=(),
        records=(),
        concepts=found,
        relationships=relationships,
        dropped={},
        embedding_model="",
        vectors_key="",
    )
    key = f"sources/bench/{doc_id}.txt"
    document = Document(doc_id, ONTOLOGY, doc_id * 4, source_id, key, len(text), State.QUEUED, deposit=number + 1)
    decisions = match(graph, None, ONTOLOGY, reading, None, Pipeline())
    carry_out(graph, document, reading, decisions, text=text, content_version=1, supersedes=(), at=number + 1)


def _text(chance: random.Random) -> str:
    """Words as often as Zipf's law has them: the n-th of 50,000 with a likelihood of about 1/n."""
    return " ".join(f"word{int(50_000 ** chance.random())}" for _ in range(SOURCE_CHARACTERS // 8)) + "\n"


def _quote(chance: random.Random, chunks: Sequence[Chunk]) -> Quote:
    chunk = chance.choice(chunks)
    start = chance.randrange(chunk.start, chunk.end - QUOTE)
    return Quote(start, start + QUOTE, chunk.index)


def measure(documents: int, forgotten: int) -> dict[str, float]:
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        graph = SqliteGraph(Path(folder) / "graph.sqlite")
        started, busy = time.perf_counter(), time.process_time()
        for number in range(documents):
            publish(graph, number, chance)
        published, busy_publishing = time.perf_counter() - started, time.process_time() - busy
        leaving = [doc_id_of(number) for number in chance.sample(range(documents), forgotten)]
        started, busy = time.perf_counter(), time.process_time()
        graph.forget("forgetting", leaving, documents + 1)
        forgetting, busy_forgetting = time.perf_counter() - started, time.process_time() - busy
        assert graph.counts()["documents"] == documents - forgotten
        graph.close()
    share = published * forgotten / documents
    return {
        "published": published,
        "theirs": share,
        "forgetting": forgetting,
        "ratio": forgetting / share,
        "ratio_computing": busy_forgetting / (busy_publishing * forgotten / documents),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--forgotten", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = measure(options.documents, options.forgotten)
    if options.json:
        print(json.dumps(found))
        return
    print(f"publishing {options.documents} documents      {found['published']:8.2f} s")
    print(f"  of which {options.forgotten} documents take {found['theirs']:8.2f} s")
    print(f"forgetting {options.forgotten} of them        {found['forgetting']:8.2f} s")
    verdict = "within" if found["ratio"] <= BUDGET else "OVER"
    print(f"ratio                        {found['ratio']:8.3f} ({verdict} the budget of {BUDGET})")
    print(f"ratio of computing time      {found['ratio_computing']:8.3f}")


if __name__ == "__main__":
    main()
