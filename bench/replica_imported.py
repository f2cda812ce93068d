"""A large graph on a Neo4j server, as publications would leave it: written as CSV and imported while the server is down,
since a publication of each document would take hours. What was in that server is gone."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TextIO

from bench.replica_generated import ONTOLOGY, QUOTES, TO_A_DOCUMENT, TO_A_SOURCE
from kgfs.domain.identity import concept_id_of, relationship_id_of
from kgfs.domain.knowledge import RELATIONSHIP_TYPES
from kgfs.stores.graph.vocabulary import DocumentRow, InstanceRow, SourceRow
from scripts.servers import neo4j, process

SPACE = "bench/imported"
NUMBERS = {
    "chunk_index": "long", "chunk_count": "long", "char_start": "long", "char_end": "long", "line_start": "long",
    "line_end": "long", "byte_start": "long", "byte_end": "long", "overlap_chars": "long", "tokens": "long",
    "page_number": "long", "paragraph": "long", "page": "long", "n": "long", "defines": "boolean",
    "confidence": "double", "source_size": "long", "citation_size": "long", "mtime": "long", "size_bytes": "long",
    "ingested_at": "long", "deposit": "long", "content_length": "long", "ingest_version": "long", "content_version": "long",
    "text_md_size": "long", "section_path": "string[]", "sources": "long", "instances": "long", "aliases": "string[]",
    "evidence": "long", "related": "long", "weight": "long", "founded": "long", "size": "long", "last_n": "long",
    "forms": "string[]", "score": "double", "ordinal": "long", "index": "long", "rank": "long", "epoch": "long", "clears": "long",
    "changes_above": "long", "told": "long", "documents": "long", "concepts": "long", "relationships": "long", "changed_at": "long",
}  # fmt: skip
"""Properties that are no strings, by the importer's names of types."""


@dataclass(frozen=True)
class File:
    """One CSV: nodes of some labels, or relationships of a type."""

    name: str
    labels: str
    columns: tuple[str, ...]

    @property
    def header(self) -> str:
        return ",".join(
            column if ":" in column else f"{column}:{NUMBERS[column]}" if column in NUMBERS else column
            for column in self.columns
        )

    @property
    def option(self) -> str:
        return "--relationships" if ":START_ID" in self.header else "--nodes"


def _named(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _between(start: str, end: str, *columns: str) -> tuple[str, ...]:
    return f":START_ID({start})", f":END_ID({end})", *columns


_MENTION = ("deposit", "label", "forms", "kind", "score", "definition", "ordinal")
FILES = (
    File("graph", "Graph", ("name", "space", "epoch", "clears", "changes_above", "told")),
    File("ontology", "Ontology", ("space", "ontology", "documents", "sources", "concepts", "relationships", "instances", "changed_at")),
    File("document", "Edition:Document", (":ID(document)", "space", "key", "commit_id", "sources", "instances", *_named(DocumentRow))),
    File("source", "Source", (":ID(source)", "edition", "words", *_named(SourceRow))),
    File("instance", "Instance", (":ID(instance)", "edition", "digest", *_named(InstanceRow))),
    File("concept", "Owner:Concept", (
        ":ID(owner)", "id", "space", "ontology", "name", "norm", "label", "aliases", "description", "kind", "evidence",
        "related", "weight", "founded", "size", "mtime", "page_hash", "last_n",
    )),
    File("relationship", "Owner:Relationship", (
        ":ID(owner)", "id", "space", "ontology", "subject", "type", "inverse", "object", "evidence", "confidence", "mtime", "last_n",
    )),
    File("form", "Form", (":ID(form)", "space", "ontology", "form")),
    File("has_chunk", "HAS_CHUNK", _between("document", "source", "index")),
    File("evidenced_by", "EVIDENCED_BY", _between("owner", "instance")),
    File("derived_from", "DERIVED_FROM", _between("instance", "source")),
    File("appears_in", "APPEARS_IN", _between("owner", "source")),
    File("mentioned_in", "MENTIONED_IN", _between("owner", "document", *_MENTION)),
    File("called", "CALLED", _between("owner", "form", "rank")),
    File("subject", "SUBJECT", _between("owner", "owner")),
    File("object", "OBJECT", _between("owner", "owner")),
    File("relates_to", "RELATES_TO", _between("owner", "owner", "type", "inverse", "relationship_id", "confidence", "mtime")),
)  # fmt: skip


def make(folder: Path, namespace: str, concepts: int) -> None:
    """The server of ``folder`` runs afterwards, with this graph alone; users and passwords stay."""
    process.end(folder)
    with tempfile.TemporaryDirectory(prefix="kgfs-bench-import-", dir=folder) as scratch:
        write(Path(scratch), namespace, concepts)
        load(folder, Path(scratch))
    neo4j.start(folder, process.ports_before(folder))


def load(folder: Path, scratch: Path) -> None:
    runtime, _ = neo4j.java()
    files = [f"{file.option}={file.labels}={scratch / f'{file.name}.csv'}" for file in FILES]
    subprocess.run(
        [
            runtime, "-Xmx2g", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", f"{neo4j.install()}/*", "org.neo4j.cli.AdminTool", "database", "import", "full", *files,
            "--id-type=integer", "--overwrite-destination", f"--report-file={scratch / 'report'}", "neo4j",
        ],
        check=True,
        env={"NEO4J_HOME": str(folder / "data"), "PATH": "/usr/bin:/bin"},
        cwd=scratch,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def write(folder: Path, namespace: str, concepts: int) -> None:
    with ExitStack() as open_files:
        out: dict[str, TextIO] = {}
        for file in FILES:
            out[file.name] = open_files.enter_context((folder / f"{file.name}.csv").open("w", buffering=1 << 20))
            print(file.header, file=out[file.name])
        for first in range(0, concepts, TO_A_DOCUMENT):
            for name, line in _lines(first, min(TO_A_DOCUMENT, concepts - first)):
                out[name].write(line)
        print(namespace, SPACE, 1, 0, 1, 0, sep=",", file=out["graph"])
        counts = (
            -(-concepts // TO_A_DOCUMENT),
            -(-concepts // TO_A_SOURCE),
            concepts,
            concepts // 2,
            concepts * QUOTES,
        )
        print(SPACE, ONTOLOGY, *counts, 1, sep=",", file=out["ontology"])


def _lines(first: int, count: int) -> Iterator[tuple[str, str]]:
    """(name of the file, line) of a document and all that is in it. An empty string is quoted; else there is no property."""
    document = first // TO_A_DOCUMENT
    doc_id, key = f"{document:016x}", f"{SPACE}-{document:012x}"
    chunks = -(-count // TO_A_SOURCE)
    yield "document", (
        f'{document},{SPACE},{key},{doc_id},{chunks},{count * QUOTES},{doc_id},{ONTOLOGY},{doc_id},{doc_id * 4},{doc_id},'
        f'{doc_id},1,{chunks},1,{document + 1},{doc_id},{doc_id},text/plain,{"f" * 64},1,r,1,1,done,0\n'
    )  # fmt: skip
    ids = [concept_id_of(ONTOLOGY, f"concept number {n}") for n in range(first, first + count)]
    for at in range(0, count, TO_A_SOURCE):
        text = " ".join(f"concept number {first + n}" for n in range(at, min(at + TO_A_SOURCE, count)))
        index, source = at // TO_A_SOURCE, (first + at) // TO_A_SOURCE
        chunk_id = f"{source:016x}"
        yield (
            "source",
            (
                f'{source},{key},{text},{doc_id},{index},{chunk_id},{text},{at},{at + 9},1,1,{at},{at + 9},,bench,0,9,"",,,"",""\n'
            ),
        )
        yield "has_chunk", f"{document},{source},{index}\n"
    for n, id_ in enumerate(ids):
        owner, label, index = first + n, f"concept number {first + n}", n // TO_A_SOURCE
        source = owner // TO_A_SOURCE
        yield "concept", (
            f'{owner},{id_},{SPACE},{ONTOLOGY},{label.replace(" ", "-")},{label},{label},,"",term,{QUOTES},1,{QUOTES + 1},'
            f'{document + 1},500,1,00,{QUOTES}\n'
        )  # fmt: skip
        yield "form", f"{owner},{SPACE},{ONTOLOGY},{label}\n"
        yield "called", f"{owner},{owner},0\n"
        yield "mentioned_in", f'{owner},{document},{document + 1},{label},{label},term,0.5,"",{n}\n'
        yield "appears_in", f"{owner},{source}\n"
        for quote in range(QUOTES):
            instance, start = owner * QUOTES + quote, n * 100 + quote
            end = start + 4
            yield "instance", (
                f'{instance},{key},{instance:024x},{instance:016x},{id_},concept,{quote + 1},{doc_id},{index},{source:016x},'
                f'{label},{start},{end},{start},{end},1,1,,,false,0.5,100,0,1\n'
            )  # fmt: skip
            yield "evidenced_by", f"{owner},{instance}\n"
            yield "derived_from", f"{instance},{source}\n"
    for n in range(0, count - 1, 2):
        one, other, owner = first + n, first + n + 1, (1 << 40) + first + n
        id_, inverse = relationship_id_of(ids[n], "USES", ids[n + 1]), RELATIONSHIP_TYPES["USES"]
        yield "relationship", f"{owner},{id_},{SPACE},{ONTOLOGY},{ids[n]},USES,{inverse},{ids[n + 1]},1,0.5,1,1\n"
        yield "subject", f"{owner},{one}\n"
        yield "object", f"{owner},{other}\n"
        yield "relates_to", f"{one},{other},USES,{inverse},{id_},0.5,1\n"
