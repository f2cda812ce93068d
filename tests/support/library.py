"""A home with documents that were read by hand (no models), and ways to walk the tree shown of it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from kgfs.compute.contract import Compute, LocalEngine
from kgfs.config import Config, load
from kgfs.domain.documents import Document, Ontology
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.names import encode_name
from kgfs.domain.text import Chunk, Verdict
from kgfs.errors import IsAFolderError, NotAFolderError
from kgfs.formats.table import parse
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.reading.joining import introductions
from kgfs.ingest.storing.settle import open_session
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.writing.deposit import Deposits
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.sqlite import open_graph
from kgfs.stores.readings import Reading
from kgfs.stores.stores import Stores
from kgfs.tree.node import Caller, File, Folder, Link, Node
from kgfs.tree.ontology import Root
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.views import TREE
from tests.support.claims import Told, with_claims

ME = Caller(os.getuid(), os.getgid())

Quotes = Mapping[str, Sequence[str]]
"""Label → quotes that stand in the text."""


@dataclass
class Library:
    context: TreeContext
    pipeline: Pipeline

    @property
    def root(self) -> Root:
        return Root(self.context)

    @property
    def stores(self) -> Stores:
        return self.context.stores

    # ----------------------------------------------------------------------------------------- the tree

    def node(self, path: str) -> Node:
        """As a path is walked by the kernel: by lookups alone, links followed."""
        found = self.find(path)
        assert found is not None, f"{path} does not exist"
        return found

    def find(self, path: str) -> Node | None:
        parts = [part for part in path.split("/") if part]
        trail: list[Folder] = [self.root]
        while parts:
            part = parts.pop(0)
            if part == "..":
                trail.pop()
                continue
            node = trail[-1].lookup(part)
            if isinstance(node, Link) and (parts or path.endswith("/")):
                parts = [*encode_name(node.target()).split("/"), *parts]
            elif isinstance(node, Folder):
                trail.append(node)
            elif node is None or parts:
                return None
            else:
                return node
        return trail[-1]

    def read(self, path: str) -> bytes:
        node = self.node(path)
        assert isinstance(node, File)
        return read(node)

    def names(self, path: str) -> list[str]:
        node = self.node(path)
        assert isinstance(node, Folder)
        return [name for name, _ in node.entries()]

    def walk(self, path: str = "") -> Iterator[tuple[str, Node]]:
        """Everything listed below, as ``find`` sees it."""
        folder = self.node(path)
        assert isinstance(folder, Folder)
        for name, node in folder.entries():
            below = f"{path}/{name}" if path else name
            yield below, node
            if isinstance(node, Folder):
                yield from self.walk(below)

    # -------------------------------------------------------------------------------------- documents

    def ontology(self, name: str = "Zen") -> Ontology:
        names = self.stores.catalog.names
        return names.ontology_named(name) or self.context.deposits.make_ontology(name, 0o755, ME.uid, ME.gid)

    def write(self, path: str, content: bytes) -> None:
        """``cat > path``, below the root; folders are made."""
        *folders, name = path.split("/")
        folder: Folder = self.root
        for part in folders:
            found = folder.lookup(part) or folder.make_folder(part, 0o755, ME)
            if not isinstance(found, Folder):
                raise NotAFolderError(part)
            folder = found
        node = folder.lookup(name) or folder.make_file(name, 0o644, ME)
        if not isinstance(node, File):
            raise IsAFolderError(name)
        handle = node.open(read=False, write=True, truncate=True)
        handle.write(0, content)
        handle.flush()
        handle.release()

    def settle(self) -> None:
        self.context.deposits.settler.settle_now()

    def document(self, path: str) -> Document:
        """The Document of the file ``<Ontology>/documents/<path>``."""
        name, _, below = path.partition("/documents/")
        row = self.stores.catalog.names.resolve(self.ontology(name).id, below)
        assert row is not None and row.doc_id, f"{path} has no Document"
        document = self.stores.catalog.names.document(row.doc_id)
        assert document is not None
        return document

    def publish(
        self,
        path: str,
        quotes: Quotes,
        related: Sequence[tuple[str, str, str, str]] = (),
        *,
        gated: bool = False,
        claims: Sequence[Told] = (),
        vectors: Mapping[str, Sequence[float]] | None = None,
    ) -> Document:
        """Read the document at ``<Ontology>/documents/<path>`` and make it visible. ``vectors`` are by claim."""
        document = self.document(path)
        raw = self.stores.garage.objects.get(document.key)
        reading = reading_of(document, path.rpartition("/")[2], raw, quotes, related, gated=gated)
        if claims:
            text = parse(path.rpartition("/")[2], raw).text
            reading = with_claims(self.stores.garage.objects, reading, text, claims, vectors or {})
        self.stores.garage.objects.put(reading.key, reading.encode())
        self.pipeline.publish(document, reading, lambda: None)
        return document

    def add(
        self,
        path: str,
        content: bytes,
        quotes: Quotes,
        related: Sequence[tuple[str, str, str, str]] = (),
        *,
        claims: Sequence[Told] = (),
        vectors: Mapping[str, Sequence[float]] | None = None,
    ) -> Document:
        self.write(path, content)
        self.settle()
        return self.publish(path, quotes, related, claims=claims, vectors=vectors)


def read(node: File, piece: int = 1000) -> bytes:
    handle = node.open(read=True, write=False, truncate=False)
    try:
        content = bytearray()
        while part := handle.read(len(content), piece):
            content += part
    finally:
        handle.release()
    return bytes(content)


def kind_of(node: Node) -> int:
    return stat.S_IFMT(node.attr().mode)


def reading_of(
    document: Document,
    name: str,
    raw: bytes,
    quotes: Quotes,
    related: Sequence[tuple[str, str, str, str]] = (),
    *,
    gated: bool = False,
) -> Reading:
    text = parse(name, raw)
    chunks = chunks_of(text.text)

    def quote(words: str) -> Quote:
        start = text.text.index(words)
        chunk = max(chunk.index for chunk in chunks if chunk.start <= start)
        return Quote(start, start + len(words), chunk, score=0.5)

    return Reading(
        doc_id=document.doc_id,
        content_hash=document.sha256,
        ingest_version=document.ingest_version,
        parser=text.parser,
        media_type=text.media_type,
        encoding=text.encoding,
        text_key="",
        text_sha256=text.sha256,
        text_length=len(text.text),
        title=text.title,
        chunk_method="by-hand/1",
        chunks=chunks,
        verdicts=tuple(Verdict(not gated, "by hand" if gated else "") for _ in chunks),
        extractor="by-hand/1",
        extractor_model="none",
        strategy="hybrid",
        known=(),
        records=(),
        concepts=tuple(
            FoundConcept(
                label=label,
                norm=normalise_label(label),
                forms=(label,),
                kind="term",
                score=0.5,
                definition="",
                quotes=tuple(sorted(map(quote, words), key=lambda found: found.start)),
            )
            for label, words in quotes.items()
        ),
        relationships=tuple(
            FoundRelationship(normalise_label(subject), kind, normalise_label(object_), quote(words), 0.8)
            for subject, kind, object_, words in related
        ),
        dropped={},
        embedding_model="",
        vectors_key="",
        acronyms=introductions(text.text),
    )


def chunks_of(text: str, size: int = 60) -> tuple[Chunk, ...]:
    """Of ``size`` characters each, wherever that cuts: quotes of these tests often span several."""
    chunks = []
    for index, start in enumerate(range(0, len(text), size)):
        end = min(start + size, len(text))
        line = 1 + text.count("\n", 0, start)
        chunk = Chunk(
            index,
            start,
            end,
            line,
            line + text.count("\n", start, end - 1),
            len(text[:start].encode()),
            len(text[:end].encode()),
            ("Part one",),
            10,
            max(0, start - 5),
        )
        chunks.append(chunk)
    return tuple(chunks)


@contextmanager
def library_at(home: Path, config: Config | None = None) -> Iterator[Library]:
    config = replace(config or load(home), home=home)
    for folder in (config.garage, config.spool, config.run, config.logs):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stores = Stores(open_garage(config), Catalog(config.catalog_db), open_graph(config))
    session = open_session(config.run)
    try:
        deposits = Deposits(config, stores, session.id)
        context = TreeContext(
            config, stores, deposits, session.id, ME.uid, ME.gid, time.time_ns(), TREE, lambda: "metric 1\n"
        )
        with closing(context.questions):
            yield Library(
                context,
                Pipeline(
                    config,
                    stores,
                    cast(Compute, None),
                    StageClock(),
                    LocalEngine(cast(Compute, None), stores.garage.objects),
                ),
            )
    finally:
        session.close()
        stores.close()


def fill(library: Library) -> None:
    library.add(
        "Zen/documents/zen.txt",
        ZEN.encode(),
        {
            "Zen": ["Zen is a school of Buddhism.", "A koan is a riddle\nthat Zen == teachers use."],
            "koan": ["A koan is a riddle"],
        },
        [("zen", "USES", "koan", "A koan is a riddle\nthat Zen == teachers use.")],
    )
    library.add(
        "Zen/documents/notes/koans.md", MARKDOWN.encode(), {"koan": ["A koan is a question."], "Zen": ["Zen uses it."]}
    )
    library.add(
        "Zen/documents/notes/sitting 100%25.rst",
        RST.encode(),
        {"zazen": ["Zazen is sitting"], "Zen": ["Zen asks for it."]},
    )
    library.add("Zen/documents/crlf.txt", CRLF.encode(), {"satori": ["Satori\r\nis sudden.\r\nZen"]})
    library.add("Zen/documents/wide.txt", ASTRAL.encode("utf-16"), {"étude": ["e\u0301tude 𝒳 — Zen in 𝒴\tand\f日本"]})
    library.add("Zen/documents/latin.txt", "caf\xe9 is not Zen".encode("latin-1"), {"café": ["caf\xe9 is"]})
    library.write("Zen/documents/picture.png", b"\x89PNG\r\n\x1a\n" + bytes(1000))
    library.write("Zen/documents/empty", b"")
    library.write("Zen/documents/.hidden/secret.txt", b"not a document")
    library.write(f"Zen/documents/{'n' * 255}", b"Zen has long names.")
    library.write("Zen/documents/koan", b"A file whose Text wants a name that is taken.")
    library.write("Zen/documents/koan.md/x", b"below a folder")
    library.settle()
    library.publish(f"Zen/documents/{'n' * 255}", {"Zen": ["Zen has long names."]})
    library.publish("Zen/documents/koan", {"name": ["wants a name"]})
    library.ontology("Empty")


ZEN = "Zen is a school of Buddhism.\nIt is old.\n\nA koan is a riddle\nthat Zen == teachers use.\n"


MARKDOWN = "# Koans\n\nA koan is a question. Zen uses it.\n"


RST = "Sitting\n=======\n\nZazen is sitting::\n\n    sit()\n\nZen asks for it.\n"


CRLF = "Satori\r\nis sudden.\r\nZen knows it.\r\n"


ASTRAL = "e\u0301tude 𝒳 — Zen in 𝒴\tand\f日本"
