"""How long a search takes in a generated home: ``python -m bench.searching HOME --eval DIR [--sources 100000] [--mount MOUNTPOINT]``.

HOME is made if it is not there: documents of 20 Sources of 120 words each, drawn from the words of ``DIR/cranfield`` with their
frequencies; ten concepts a document with three quotes each; vectors are real ones of the abstracts with noise. Deposit,
matching, publication and both indexes are the product's own. Then 500 different questions of 2 to 10 words, none asked before,
are asked by the product's functions with the model beside, in one process. Prints p50, p95 and p99 in milliseconds, and
what the time goes into. With ``--mount`` the same is done through a mount of HOME, whose worker must run: from opendir of
``search/<words>`` to the last byte of ``results.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.vectors import cranfield
from kgfs.app.home import open_deposits, open_stores
from kgfs.compute.answering import answering
from kgfs.compute.deadline import Deadline
from kgfs.compute.engine import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.config import Config, load
from kgfs.domain.documents import Document
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, Quote
from kgfs.domain.text import Chunk, Verdict
from kgfs.ingest.reading import embeddings
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.knowledge.by_document import documents
from kgfs.knowledge.search import search
from kgfs.render.results import results_json
from kgfs.render.source import Marks
from kgfs.settings import Models
from kgfs.stores.readings import Reading
from kgfs.stores.stores import Stores

SOURCES, WORDS, CONCEPTS, QUOTES = 20, 120, 10, 3
"""Of a document, of a Source, of a document, of a concept."""
NOISE = 0.05
"""Standard deviation of the noise in each of a vector's dimensions."""
QUESTIONS = 500
FEW = 50
"""Questions asked before, which are not counted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--sources", type=int, default=100_000)
    parser.add_argument("--mount", type=Path)
    asked = parser.parse_args()
    config = load(asked.home)
    abstracts = cranfield(asked.eval / "cranfield/cran.all.1400")
    compute = LocalCompute(Models(embedder="minilm-int8"))
    done = asked.home / "bench.done"
    if not done.exists():
        with open_stores(config, vectors_of=compute.embedding_model) as stores:
            make(config, stores, compute, abstracts, asked.sources)
        done.touch()
    questions = drawn(abstracts, QUESTIONS + FEW)
    if asked.mount:
        through_mount(asked.mount, questions)
        return
    with open_stores(config, vectors_of=compute.embedding_model) as stores:
        began = time.perf_counter()
        stores.graph.index_words()
        print(f"index of words: {time.perf_counter() - began:.1f} s, {size(config)} MiB")
        counts = stores.graph.counts()
        print(f"{counts['sources']:,} Sources of {counts['documents']:,} documents, {counts['concepts']:,} concepts")
        with QuestionServer(config.run, answering(Materials(compute.embed, stores.vectors))):
            parts: Counter[str] = Counter()

            def ask(words: str) -> None:
                at = [time.perf_counter()]
                found = search(stores, config.run, words, "", Deadline(60.0))
                at.append(time.perf_counter())
                page, _ = documents(stores, found)
                at.append(time.perf_counter())
                results_json(page, Marks())
                at.append(time.perf_counter())
                assert not found.only_text, found.only_text
                for name, seconds in zip(("search", "documents", "results.json"), np.diff(at), strict=True):
                    parts[name] += float(seconds)

            tell("by the api", ask, questions)
            print({name: f"{1000 * seconds / len(questions):.1f} ms" for name, seconds in parts.items()})


def tell(name: str, ask: Callable[[str], None], questions: Sequence[str]) -> None:
    took = []
    for number, words in enumerate(questions):
        began = time.perf_counter()
        ask(words)
        if number >= FEW:
            took.append(1000 * (time.perf_counter() - began))
    shares = " ".join(f"p{share} {np.percentile(took, share):.1f}" for share in (50, 95, 99))
    print(f"{name}: {shares} ms, {len(took)} questions", flush=True)


def through_mount(mount: Path, questions: Sequence[str]) -> None:
    def ask(words: str) -> None:
        folder = mount / "search" / words
        list(folder.iterdir())
        (folder / "results.json").read_bytes()

    tell("through the mount", ask, questions)


def drawn(abstracts: Sequence[str], count: int) -> list[str]:
    """Return different questions of 2 to 10 words, drawn from sentences of the abstracts and of all words."""
    chance = random.Random(time.time_ns())  # so that none was asked before
    found: dict[str, None] = {}
    while len(found) < count:
        words = re.findall(r"[a-z]+", chance.choice(abstracts).lower())
        if len(words) > 20:
            found[" ".join(chance.sample(words, chance.randint(2, 10)))] = None
    return list(found)


def size(config: Config) -> int:
    folder = config.graph_db.with_name("words")
    return sum(path.stat().st_size for path in folder.iterdir()) >> 20


# ------------------------------------------------------------------------------------------------------------- making


def make(config: Config, stores: Stores, compute: LocalCompute, abstracts: Sequence[str], sources: int) -> None:
    chance = np.random.default_rng(7)
    counts = Counter(word for text in abstracts for word in re.findall(r"[A-Za-z]+", text))
    words = np.array([*counts])
    shares = np.array([*counts.values()], float)
    shares /= shares.sum()
    some = [rows[0] for rows in compute.embed(list(abstracts[:300]))]
    pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects))
    began = time.perf_counter()
    for first in range(0, sources // SOURCES, 500):
        texts = {}
        with tempfile.TemporaryDirectory() as scratch, open_deposits(config, stores) as (deposits, _):
            for number in range(first, min(first + 500, sources // SOURCES)):
                chosen = chance.choice(words, (SOURCES, WORDS), p=shares)
                texts[f"{number:06}.txt"] = [" ".join(row) + ".\n" for row in chosen.tolist()]
                path = Path(scratch) / f"{number:06}.txt"
                path.write_text("".join(texts[path.name]))
                deposits.ingest_file(path, "Bench", None, lambda size: None)
            deposits.settler.settle_now()
        while job := stores.catalog.jobs.claim("bench", 3600.0):
            document = stores.catalog.names.document(job.doc_id)
            assert document is not None
            pieces = texts[document.source_id.rpartition("/")[2]]
            rows = np.stack([some[int(at)] for at in chance.integers(0, len(some), SOURCES)])
            rows = rows + chance.normal(0, NOISE, rows.shape).astype(np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            reading = reading_of(document, pieces, rows, compute, stores)
            stores.garage.objects.put(reading.key, reading.encode())
            pipeline.publish(document, reading, lambda: None, job)
        print(f"{(first + 500) * SOURCES:,} Sources, {time.perf_counter() - began:.0f} s", flush=True)


def reading_of(
    document: Document,
    pieces: Sequence[str],
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    compute: LocalCompute,
    stores: Stores,
) -> Reading:
    chunks, at = [], 0
    for index, piece in enumerate(pieces):
        chunks.append(Chunk(index, at, at + len(piece), index + 1, index + 1, at, at + len(piece), ("Text",), 150, at))
        at += len(piece)
    concepts = []
    for n in range(CONCEPTS):
        label = f"concept {document.doc_id[:6]} {n}"
        quotes = tuple(Quote(chunk.start, chunk.start + 40, chunk.index) for chunk in chunks[n : n + QUOTES])
        concepts.append(FoundConcept(label, normalise_label(label), (label,), "term", 0.5, "", quotes))
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
    return Reading(
        doc_id=document.doc_id,
        content_hash=document.sha256,
        ingest_version=document.ingest_version,
        parser="plain/1",
        media_type="text/plain",
        encoding="utf-8",
        text_key="",
        text_sha256=hashlib.sha256(text.encode()).hexdigest(),
        text_length=len(text),
        title=f"Text {document.doc_id[:6]}",
        chunk_method="bench/1",
        chunks=tuple(chunks),
        verdicts=(Verdict(passed=True),) * len(pieces),
        extractor="bench/1",
        extractor_model="",
        strategy="hybrid",
        known=(),
        records=(),
        concepts=tuple(concepts),
        relationships=(),
        dropped={},
        embedding_model=compute.embedding_model,
        vectors_key=key,
    )


if __name__ == "__main__":
    main()
