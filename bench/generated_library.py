"""A library of any size in a bucket, as a worker would have left it, without extracting anything: texts are made up together with
what a reader finds in them; everything behind the Reading (deposit, matching, publication, ledger) is the product's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.generated import reading
from kgfs.app.home import open_deposits, open_stores
from kgfs.app.shipping import meeting
from kgfs.app.turns import only_changer
from kgfs.compute.engine import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.settings import Models
from kgfs.sharing.exchange import Exchange
from kgfs.stores.readings import Reading
from kgfs.stores.worker_lock import WorkerLock

ONTOLOGY = "Library"
SOURCES, CONCEPTS, QUOTES = 100, 10, 3
"""Of a document, founded in a Source, of a concept."""
MATERIALS = ("amber", "basalt", "cobalt", "garnet", "indigo", "jasper", "marble", "ochre", "quartz", "sienna")
THINGS = ("anchor", "bellows", "compass", "furnace", "harness", "kiln", "lantern", "pulley", "ratchet", "spindle")
SENTENCES = (
    "A {one} is kept beside the {other} while the harbour sleeps. ",
    "The {one} was repaired twice before the winter of that year. ",
    "Nobody who has seen the {one} forgets how it was made. ",
)


def label(number: int) -> str:
    return f"{MATERIALS[number % 10]} {THINGS[number // 10 % 10]} {number // 100:x}"


def text_of(number: int) -> tuple[str, list[Chunk], list[tuple[str, list[Quote]]]]:
    """The text of a document, its Sources, and each concept with its quotes."""
    text, chunks, found = "", [], []
    for source in range(SOURCES):
        start, line = len(text), 1 + source
        first = (number * SOURCES + source) * CONCEPTS
        for n in range(CONCEPTS):
            one, quotes = label(first + n), []
            for sentence in SENTENCES[:QUOTES]:
                words = sentence.format(one=one, other=label(first + (n + 1) % CONCEPTS))
                quotes.append(Quote(len(text), len(text) + len(words) - 1, source))
                text += words
            found.append((one, quotes))
        text = text[:-1] + "\n"
        chunks.append(Chunk(source, start, len(text), line, line, start, len(text), ("Stores",), 400, start))
    return text, chunks, found


def reading_of(document: Document, number: int) -> Reading:
    text, chunks, found = text_of(number)
    concepts = [
        FoundConcept(one, normalise_label(one), (one,), "term", 0.5, "", tuple(quotes)) for one, quotes in found
    ]
    pairs = zip(concepts[::2], concepts[1::2], strict=True)
    used = [FoundRelationship(one.norm, "USES", other.norm, one.quotes[0], 0.5) for one, other in pairs]
    return reading(document, text, chunks, concepts, used, title=f"Inventory {number}")


def make(config: Config, scratch: Path, documents: int) -> Iterator[int]:
    """Deposit so many documents and publish what is in them; yield how many are published, now and then. Goes on after a kill."""
    compute = LocalCompute(Models(embedder="none", extractor="statistics"))
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _), WorkerLock(config.run):
        exchange = Exchange(config, stores)
        for number in range(documents):
            path = scratch / f"{number:05}.txt"
            if not path.exists():
                path.write_text(text_of(number)[0])
                deposits.ingest_file(path, ONTOLOGY)
        deposits.settler.settle_now()
        exchange()
        done = 0
        with only_changer(config, stores, meeting(config)) as alone:
            pipeline = Pipeline(config, alone, compute, StageClock(), LocalEngine(compute, alone.garage.objects))
            alone.catalog.jobs.free()  # by one that was killed
            while job := alone.catalog.jobs.claim("bench", 3600.0):
                document = alone.catalog.names.document(job.doc_id)
                assert document is not None
                made = reading_of(document, int(Path(document.source_id).stem))
                alone.garage.objects.put(made.key, made.encode())
                pipeline.publish(document, made, lambda: None, job)
                done += 1
                if done % 10 == 0:
                    exchange()
                    yield done
        exchange()
        yield done
