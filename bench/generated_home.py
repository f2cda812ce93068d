"""Make a home of any size for searching: one document as the product publishes it, and copies of its rows with other texts.

A document has 20 Sources of 120 words, drawn one by one from all words of Cranfield's abstracts with their frequencies; ten
concepts, drawn from a pool so that some are in every tenth document and most in few; three quotes for each; ten terms of two
words. Vectors are those of abstracts with noise. The rows go into the tables of names, graph and vectors directly, and the
indexes are made from them by the product. Such a home is good for searching and reading only: its garage has the first
document alone. What was made is kept, and a larger number of Sources goes on from there, also after a kill.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import generated
from kgfs.app.home import open_deposits, open_home
from kgfs.compute.contract import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.domain.forms import form_key
from kgfs.domain.identity import norm_hash
from kgfs.domain.knowledge import Quote
from kgfs.ingest.reading import embeddings
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.stores.readings import Reading
from kgfs.stores.stores import Stores

SOURCES, WORDS, CONCEPTS, QUOTES, TERMS = 20, 120, 10, 3, 10
"""Of a document, of a Source, of a document, of a concept, of a document."""
POOL = 4
"""Concepts of the home for each of its documents."""
NOISE = 0.05
"""Standard deviation of the noise in each of a vector's dimensions."""
BATCH = 250
"""Documents of one transaction."""
DAY = 86400 * 10**9
Row = dict[str, Any]


class Generator:
    def __init__(self, config: Config, compute: LocalCompute, abstracts: Sequence[str]) -> None:
        self._config = config
        self._compute = compute
        counts = Counter(word for text in abstracts for word in re.findall(r"[A-Za-z]+", text))
        self._words = np.array([*counts])
        shares = np.array([*counts.values()], float)
        self._shares = np.cumsum(shares / shares.sum())
        self._some = np.stack([rows[0] for rows in compute.embed(list(abstracts[:300]))])

    def make(self, sources: int, seconds: float) -> bool:
        """Bring the home to so many Sources. Return False where that takes longer than ``seconds``: call it again."""
        end = time.monotonic() + seconds
        with open_home(self._config, vectors_of=self._compute.embedding_model) as stores:
            if not stores.graph.counts()["documents"]:
                self._first(stores)
        config = self._config
        with (
            _opened(config.catalog_db) as names,
            _opened(config.graph_db) as graph,
            _opened(config.vectors_db) as vectors,
        ):
            copier = _Copier(names, graph, vectors, sources // SOURCES)
            while (done := copier.documents()) < sources // SOURCES:
                if time.monotonic() > end:
                    return False
                wanted = range(done, min(done + BATCH, sources // SOURCES))
                for number in wanted:
                    chance = np.random.default_rng((8, number))
                    copier.add(number, self.texts(number), self.vectors(chance, SOURCES))
                    for concept_id in copier.new_concepts():
                        copier.add_vector("concept", concept_id, "", -1, self.vectors(chance, 1)[0])
                copier.commit()
                print(f"{wanted.stop * SOURCES:,} Sources", flush=True)
        with open_home(self._config) as stores:
            return stores.graph.index_words(lambda: time.monotonic() < end)

    def texts(self, number: int) -> list[str]:
        """Return the Sources of a document, always the same ones for a number."""
        chance = np.random.default_rng((7, number))
        chosen = self._words[np.searchsorted(self._shares, chance.random((SOURCES, WORDS)) * self._shares[-1])]
        return [" ".join(row) + ".\n" for row in chosen.tolist()]

    def vectors(self, chance: np.random.Generator, count: int) -> npt.NDArray[np.float32]:
        """Return vectors of abstracts, with noise, of length 1."""
        rows = self._some[chance.integers(0, len(self._some), count)]
        rows = rows + NOISE * chance.standard_normal(rows.shape, np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def _first(self, stores: Stores) -> None:
        """Publish the document that the others are copies of."""
        engine = LocalEngine(self._compute, stores.garage.objects)
        pipeline = Pipeline(self._config, stores, self._compute, StageClock(), engine)
        self.publish(
            stores, pipeline, "000000.txt", self.texts(0), self.vectors(np.random.default_rng((8, 0)), SOURCES)
        )

    def publish(
        self,
        stores: Stores,
        pipeline: Pipeline,
        name: str,
        texts: Sequence[str],
        vectors: npt.NDArray[np.float32],
    ) -> str:
        """Deposit a document of these Sources, publish it as the pipeline does, and return its id."""
        doc_id = ""
        with tempfile.TemporaryDirectory() as scratch, open_deposits(self._config, stores) as (deposits, _):
            path = Path(scratch) / name
            path.write_text("".join(texts))
            deposits.ingest_file(path, "Bench", None, lambda size: None)
            deposits.settler.settle_now()
        while job := stores.catalog.jobs.claim("bench", 3600.0):
            document = stores.catalog.names.document(job.doc_id)
            assert document is not None
            reading = _reading_of(document, texts, vectors, self._compute, stores)
            stores.garage.objects.put(reading.key, reading.encode())
            pipeline.publish(document, reading, lambda: None, job)
            doc_id = document.doc_id
        return doc_id


class _Copier:
    """Copies the rows of the first document under other ids, numbers and texts."""

    def __init__(
        self, names: sqlite3.Connection, graph: sqlite3.Connection, vectors: sqlite3.Connection, documents: int
    ) -> None:
        self._names, self._graph, self._vectors = names, graph, vectors
        self._pool = documents * POOL
        self._document = _row(names, "document", "1")
        self._name = _row(names, "name", "doc_id != ''")
        self._version = _row(names, "version", "1")
        self._shown = _row(names, "shown", "1")
        self._edition = _row(graph, "document", "state = 1")
        self._source = _row(graph, "source", "1")
        self._concept = _row(graph, "concept", "live = 1")
        self._mention = _row(graph, "mention", "1")
        self._instance = _row(graph, "instance", "1")
        self._slot = _row(vectors, "row", "kind = 'source'")
        self._lots: dict[tuple[str, str], list[Row]] = {}
        for each in (names, graph, vectors):
            each.execute("BEGIN IMMEDIATE")
        first, model = SOURCES * self.documents(), self._slot["model"]
        # A kill between two commits may have left vectors whose documents are not there: they are made again.
        left = vectors.execute(
            "DELETE FROM row WHERE model = ? AND slot >= (SELECT coalesce(min(slot), 1 << 60) FROM"
            " (SELECT slot FROM row WHERE kind = 'source' AND model = ? ORDER BY slot LIMIT -1 OFFSET ?)) RETURNING slot",
            (model, model, first),
        ).fetchall()
        vectors.executemany("DELETE FROM vector WHERE model = ? AND slot = ?", [(model, slot) for (slot,) in left])
        self._next = int(vectors.execute("SELECT max(slot) + 1 FROM row").fetchone()[0])
        self._known = {item for (item,) in vectors.execute("SELECT item FROM row WHERE kind = 'concept'")}
        self._new: dict[str, None] = {}

    def documents(self) -> int:
        return int(self._graph.execute("SELECT count(*) FROM document").fetchone()[0])

    def add(self, number: int, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        doc_id = hashlib.sha256(f"document {number}".encode()).hexdigest()[:16]
        digest = hashlib.sha256(f"content {number}".encode()).hexdigest()
        file = f"{number:06}.{('txt', 'md')[number % 2]}"
        at = self._document["deposited_at"] - number % 3650 * DAY
        own = {"doc_id": doc_id, "ontology": self._document["ontology"]}
        source_id = f"{own['ontology']}/{file}"
        name_id = self._name["id"] + number
        place = {"lineage": name_id, "size": sum(map(len, texts)), "sha256": digest}
        self._put("names", "document", self._document, own | place, source_id=source_id, key=digest, deposited_at=at)
        self._put("names", "name", self._name, own | place, id=name_id, name=file, mtime=at, key=digest)
        self._put("names", "version", self._version, own | place, path=file, key=digest)
        self._put("names", "shown", self._shown, own | place)
        edition = self._edition["key"] + number
        title = " ".join(texts[0].split()[:4])
        self._put(
            "graph", "document", self._edition, own, key=edition, content_hash=digest, source_id=source_id,
            source_uri=f"documents/{file}", source_title=title, ingested_at=at, reading=digest, root_id=doc_id,
            commit_id=digest, document_type=("text/plain", "text/markdown")[number % 2], text_sha256=digest,
        )  # fmt: skip
        start = 0
        for index, text in enumerate(texts):
            key = self._source["key"] + number * SOURCES + index
            span = {
                "char_start": start,
                "char_end": start + len(text),
                "byte_start": start,
                "byte_end": start + len(text),
            }
            lines = {"line_start": index + 1, "line_end": index + 1}
            self._put(
                "graph", "source", self._source, span | lines, key=key, document=edition, chunk_index=index,
                chunk_id=hashlib.sha256(f"{doc_id}:{start}".encode()).hexdigest()[:12], full_text=text,
            )  # fmt: skip
            self._put("graph", "source_words", {}, rowid=key, full_text=text)
            start += len(text)
            self.add_vector("source", f"{doc_id}:{index}", doc_id, index, vectors[index])
        self._knowledge(number, edition, texts, own)

    def add_vector(self, kind: str, item: str, doc_id: str, index: int, vector: npt.NDArray[np.float32]) -> None:
        where = {"kind": kind, "item": item, "doc_id": doc_id, "chunk_index": index, "slot": self._next}
        self._put("vectors", "row", self._slot, where)
        model, raw = self._slot["model"], vector.astype("<f4").tobytes()
        self._put("vectors", "vector", {}, model=model, slot=self._next, vector=raw)
        self._next += 1

    def new_concepts(self) -> list[str]:
        """Return the ids of the concepts that came since the last call."""
        found = [*self._new]
        self._known |= self._new.keys()
        self._new.clear()
        return found

    def _knowledge(self, number: int, edition: int, texts: Sequence[str], own: Row) -> None:
        chance = np.random.default_rng((9, number))
        chosen = sorted({int(self._pool * chance.random() ** 3) for _ in range(CONCEPTS)})  # the first ones most
        for n, concept in enumerate(chosen):
            label = f"concept {concept:06}"
            concept_id = hashlib.sha256(label.encode()).hexdigest()[:16]
            key = 1000 + concept
            if concept_id not in self._known:
                self._new[concept_id] = None
            known = {"concept": key, "ontology": own["ontology"]}
            self._put(
                "graph", "concept", self._concept, known, key=key, concept_id=concept_id, name=label.replace(" ", "-"),
                label=label, norm=label, norm_hash=norm_hash(label),
            )  # fmt: skip
            self._put("graph", "concept_form", {}, known, form=label, rank=0, folded=form_key(label))
            self._put("graph", "mention", self._mention, concept=key, document=edition, ordinal=0, label=label)
            for quote in range(QUOTES):
                index = (2 * n + quote) % SOURCES
                self._put(
                    "graph", "instance", self._instance, owner=concept_id, n=number * QUOTES + quote + 1,
                    document=edition, chunk_index=index, quote=texts[index][:40], char_start=0, char_end=40,
                    instance_id=f"{concept_id}:{number}:{quote}",
                )  # fmt: skip
        for index in range(TERMS):
            words = [word.lower() for word in texts[index].split()[5:7]]
            term = {"folded": " ".join(words), "ontology": own["ontology"], "document": edition, "count": 2}
            self._put("graph", "term", {}, term, documents=1, headings=0, size=60)
            self._put(
                "graph", "candidate", {}, term, label=" ".join(words), heading=0, line=1, char_start=0, char_end=9
            )
            for word in words:
                self._put("graph", "term_word", {}, term, word=word)

    def _put(self, store: str, table: str, template: Row, *more: Row, **values: Any) -> None:
        row = dict(template)
        for some in (*more, values):
            row |= {name: value for name, value in some.items() if not template or name in template}
        self._lots.setdefault((store, table), []).append(row)

    def commit(self) -> None:
        stores = {"names": self._names, "graph": self._graph, "vectors": self._vectors}
        held = {
            store: {table: _columns(stores[store], table) for at, table in self._lots if at == store}
            for store in stores
        }
        for (store, table), rows in self._lots.items():
            columns = [name for name in rows[0] if name in held[store][table] or name == "rowid"]
            stores[store].executemany(
                f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                [[row[name] for name in columns] for row in rows],
            )
        self._lots.clear()
        self._vectors.execute("UPDATE model SET slots = (SELECT max(slot) + 1 FROM row)")
        self._graph.execute("UPDATE counter SET documents = (SELECT count(*) FROM document)")
        # An epoch of its own whose changes are not told: who follows looks at all documents.
        self._graph.execute("UPDATE meta SET value = value + 1 WHERE name = 'epoch'")
        self._graph.execute(
            "UPDATE meta SET value = (SELECT value FROM meta WHERE name = 'epoch') WHERE name = 'changes_above'"
        )
        for each in (self._names, self._vectors, self._graph):
            each.execute("COMMIT")
            each.execute("BEGIN IMMEDIATE")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA cache_size=-400000")
        db.create_function("norm_hash", 1, norm_hash, deterministic=True)
        db.create_function("form_key", 1, form_key, deterministic=True)
        yield db
        db.rollback()


def _row(db: sqlite3.Connection, table: str, where: str) -> Row:
    cursor = db.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY 1 LIMIT 1")
    row = cursor.fetchone()
    return dict(zip([name for name, *_ in cursor.description], row, strict=True))


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}


def _reading_of(
    document: Document,
    pieces: Sequence[str],
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    compute: LocalCompute,
    stores: Stores,
) -> Reading:
    chunks, at = [], 0
    for index, piece in enumerate(pieces):
        chunks.append(generated.chunk(index, at, at + len(piece), index + 1, "Text"))
        at += len(piece)
    concepts = []
    for n in range(CONCEPTS):
        label = f"concept {document.doc_id[:6]} {n}"
        quotes = [Quote(one.start, one.start + 40, one.index) for one in chunks[n : n + QUOTES]]
        concepts.append(generated.found_concept(label, (label,), quotes))
    found = embeddings.Embeddings(
        rows,
        np.arange(len(pieces), dtype=np.int32),
        np.zeros(len(pieces), np.int32),
        rows[:CONCEPTS],
    )
    encoded = found.encode()
    key = embeddings.key_of(document.doc_id, encoded)
    stores.garage.objects.put(key, encoded)
    text = "".join(pieces)
    title = f"Text {document.doc_id[:6]}"
    model = compute.embedding_model
    return generated.reading(document, text, chunks, concepts, title=title, embedding_model=model, vectors_key=key)
