"""Estimate the work and cost of reading an ontology again, without doing it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kgfs.compute.contract import Compute
from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.errors import MissingError
from kgfs.ingest import timing
from kgfs.stores.catalog.facts import DocumentRead
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading, load_reading
from kgfs.stores.stores import Stores

BYTES_PER_TOKEN = 4.0
"""Estimate for a document that was never read; English prose in cl100k."""
ANSWER_SHARE = 0.25
"""Estimated output tokens of an extractor per input token."""
FACTS = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """An estimate of reading documents again."""

    ontology: str
    strategy: str
    extractor: str
    """Name and version of the extractor that would read."""
    documents: int
    unread: int
    """Documents among these that were never read. Their chunks and tokens are estimated from their size."""
    chunks: int
    tokens: int
    reusable_chunks: int
    """Chunks that stored Records answer: the extractor is not asked about them."""
    reusable_tokens: int
    seconds: float | None
    """Estimated seconds to read what the extractor is asked about, at the rate of this home's last publications.

    None where nothing was measured. The time for chunks that Records answer is a part of that rate and is not known.
    """
    cost: float
    """Cost at the configured prices per million tokens; 0 for an extractor that is not billed."""

    def plain(self) -> dict[str, Any]:
        """Return the estimate as plain data, seconds rounded to tenths."""
        return asdict(self) | {"seconds": None if self.seconds is None else round(self.seconds, 1)}


def plan(
    config: Config, stores: Stores, compute: Compute, ontology: str, documents: Sequence[Document], strategy: str
) -> Plan:
    """Return the estimate for reading these documents.

    Read one Reading and the head of one pack of Records per document. Ask no model.
    """
    chunks = tokens = reusable_chunks = reusable_tokens = unread = asked_bytes = 0
    for document in documents:
        reading = _last(stores.garage.objects, document)
        if reading is None:
            unread += 1
            asked_bytes += document.size
            guess = max(1, round(document.size / BYTES_PER_TOKEN))
            tokens += guess
            chunks += max(1, round(guess / config.pipeline.chunk_tokens))
            continue
        passed = [chunk for chunk, verdict in zip(reading.chunks, reading.verdicts, strict=True) if verdict.passed]
        chunks += len(passed)
        tokens += sum(chunk.tokens for chunk in passed)
        if _reusable(stores.garage.objects, document.doc_id, reading, compute):
            reusable_chunks += len(passed)
            reusable_tokens += sum(chunk.tokens for chunk in passed)
        elif passed:
            asked_bytes += document.size
    asked = tokens - reusable_tokens + (chunks - reusable_chunks) * config.pipeline.overlap_tokens
    price = config.models.price_in + ANSWER_SHARE * config.models.price_out
    rate = _bytes_a_second(stores.catalog)
    return Plan(
        ontology=ontology,
        strategy=strategy,
        extractor=compute.extractor,
        documents=len(documents),
        unread=unread,
        chunks=chunks,
        tokens=tokens,
        reusable_chunks=reusable_chunks,
        reusable_tokens=reusable_tokens,
        seconds=asked_bytes / rate if rate else None,
        cost=round(asked * price / 1e6, 4) if compute.billed else 0.0,
    )


def _last(objects: Objects, document: Document) -> Reading | None:
    if not document.reading:
        return None
    try:
        return load_reading(objects, document.doc_id, document.reading)
    except MissingError:  # kgfs check reports it; the estimate treats the document as never read
        return None


def _reusable(objects: Objects, doc_id: str, reading: Reading, compute: Compute) -> bool:
    """Return whether this extractor would use the document's Records: same extractor, model and prompt.

    All Records of one Reading were made alike, so the first one decides. When another document was purged, the
    Records of its packs that still answer were copied to this document's own packs.
    """
    if (reading.extractor, reading.extractor_model) != (compute.extractor, compute.extractor_model):
        return False
    packs = itertools.chain(reading.records, (key for key, _ in objects.keys(f"records/{doc_id}/")))
    pack = next((pack for pack in packs if objects.exists(pack)), None)
    if pack is None:
        return False
    first = objects.get(pack).partition(b"\n")[0]
    return bool(json.loads(first)["prompt_hash"] == compute.prompt_hash)


def _bytes_a_second(catalog: Catalog) -> float:
    """Return the bytes of documents published per second of work, over the newest facts; 0 if unknown."""
    facts = catalog.facts(max(0, catalog.seq() - FACTS), FACTS) or []
    read = [fact for _, fact in facts if isinstance(fact, DocumentRead)]
    size, spent = 0, 0
    for before, fact in itertools.pairwise(read):
        document = catalog.names.document(fact.doc_id)
        if document is not None and 0 < fact.at - before.at < timing.IDLE_GAP_NS:
            size += document.size
            spent += fact.at - before.at
    return size / (spent / 1e9) if spent else 0.0
