"""What forgetting costs beside what it undoes: 100 of 1,000 documents, straight through the graph contract.

    python -m bench.forgetting [--documents 1000] [--forgotten 100]

Documents are of realistic size (ten Sources, thirty concepts drawn as labels are in a library: few very common, many
rare; two quotes each, ten relationships). Prints the seconds that the metadata of the documents took to publish, those
of forgetting them in one commit, and the ratio, which is to be at most 1/5. No model is asked by either.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import time
from pathlib import Path

from kgfs.domain import Mention, concept_id_of, relationship_id_of
from kgfs.stores.graph.contract import (
    Batch,
    ConceptRow,
    DocumentRow,
    Graph,
    InstanceRow,
    Publication,
    RelationshipRow,
    SourceRow,
)
from kgfs.stores.graph.sqlite import SqliteGraph

ONTOLOGY = "0123456789ab"
CONCEPTS, QUOTES, RELATIONSHIPS, SOURCES, SOURCE_CHARACTERS = 30, 2, 10, 10, 1600
VOCABULARY = 8000
BUDGET = 0.2


def doc_id_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:16]


def publish(graph: Graph, number: int, chance: random.Random) -> None:
    doc_id, commit_id = doc_id_of(number), f"commit-{number}"
    texts = [_text(chance) for _ in range(SOURCES)]
    drawn = {int(VOCABULARY * chance.random() ** 3) for _ in range(CONCEPTS * 2)}
    labels = [f"concept {value}" for value in sorted(drawn)][:CONCEPTS]
    ids = [concept_id_of(ONTOLOGY, label) for label in labels]
    sources = [_source(doc_id, index, text) for index, text in enumerate(texts)]
    text = texts[0]
    instances = []
    for at, owner in enumerate(ids):
        first = graph.next_n(owner)
        instances += [_instance(doc_id, owner, "concept", first + q, at * 40 + q, text) for q in range(QUOTES)]
    pairs = {tuple(sorted(chance.sample(ids, 2))) for _ in range(RELATIONSHIPS)}
    relationships = [
        RelationshipRow(relationship_id_of(one, "USES", other), ONTOLOGY, one, "USES", other) for one, other in pairs
    ]
    for at, row in enumerate(relationships):
        n = graph.next_n(row.relationship_id)
        instances.append(_instance(doc_id, row.relationship_id, "relationship", n, 5000 + at, text))
    graph.stage(commit_id, doc_id, Batch(sources=sources))
    graph.stage(commit_id, doc_id, Batch(instances=instances))
    concepts = [
        ConceptRow(
            id_, ONTOLOGY, label, label.replace(" ", "-"),
            Mention(doc_id, number, label, (label, label.title()), "term", 0.5, f"{label} is a thing"),
        )
        for id_, label in zip(ids, labels, strict=True)
    ]  # fmt: skip
    graph.publish(Publication(commit_id, _document(doc_id, number), concepts, relationships, (), number + 1))


def _text(chance: random.Random) -> str:
    """Words as often as Zipf's law has them: the n-th of 50,000 with a likelihood of about 1/n."""
    return " ".join(f"word{int(50_000 ** chance.random())}" for _ in range(SOURCE_CHARACTERS // 8))


def _document(doc_id: str, number: int) -> DocumentRow:
    return DocumentRow(
        doc_id=doc_id,
        ontology=ONTOLOGY,
        source_id=f"{ONTOLOGY}/{number}.txt",
        content_hash=doc_id * 4,
        garage_key=f"sources/bench/{doc_id}.txt",
        original_filename=f"{number}.txt",
        size_bytes=SOURCES * SOURCE_CHARACTERS,
        chunk_count=SOURCES,
        ingested_at=number,
        deposit=number,
        source_title=f"Document {number}",
        source_uri=f"documents/{number}.txt",
        document_type="text/plain",
        text_sha256="f" * 64,
        content_length=SOURCES * SOURCE_CHARACTERS,
        reading="r" * 16,
        ingest_version=1,
    )


def _source(doc_id: str, index: int, text: str) -> SourceRow:
    start = index * len(text)
    end = start + len(text)
    chunk_id = hashlib.sha256(f"{doc_id}{index}".encode()).hexdigest()[:12]
    lines = (index + 1, index + 1)
    return SourceRow(doc_id, index, chunk_id, text, start, end, *lines, start, end, ("Top",), "structure/1", 0, 400)


def _instance(doc_id: str, owner: str, kind: str, n: int, start: int, text: str) -> InstanceRow:
    quote = text[start % 800 : start % 800 + 90]
    return InstanceRow(
        instance_id=hashlib.sha256(f"{owner}{doc_id}{start}".encode()).hexdigest()[:16],
        owner=owner,
        owner_kind=kind,
        n=n,
        doc_id=doc_id,
        chunk_index=start % SOURCES,
        chunk_id="c" * 12,
        quote=quote,
        char_start=start,
        char_end=start + len(quote),
        byte_start=start,
        byte_end=start + len(quote),
        line_start=1,
        line_end=1,
        section_path=(),
        page=None,
        defines=False,
        confidence=0.5,
        source_size=2000,
        citation_size=0,
        mtime=1,
    )


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
