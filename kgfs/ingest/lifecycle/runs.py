"""Runs: readings of documents that were read before, of a whole ontology (``kgfs regenerate``), of what an older rule read
or what failed (``kgfs reprocess``), or of single files (``kgfs ingest --force``).

One request makes one run: a ReadingOwed for each document, all recorded together, in order of deposit. From then on
the run is in the catalog, so a kill loses nothing of it. The graph serves readers what it showed until each
document's new Reading is published. Numbers of evidence and directory names of concepts do not change: a span that is
again evidence for the same concept keeps its number, and a concept that is found again keeps its directory.

In a run over a whole ontology, each document is matched only with what the run has published before it. The graph as
it stands at the start holds the mentions that the former Readings made of the same documents, and these would repeat
every former decision. The result is the graph that a fresh ingest in that order would give, whatever the graph held
before. A document that is read again alone is matched with all other documents, without its own former mentions.

A plan estimates the work and cost of reading an ontology again, without doing it.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgfs.compute.contract import Compute
from kgfs.config import Config
from kgfs.domain.documents import INGEST_VERSION, INGEST_VERSIONS, ON_THE_WAY, Document, Ontology, State
from kgfs.domain.domains import SETTING, Domains, domains_of
from kgfs.errors import BadInputError, MissingError, StoreError
from kgfs.failpoints import border
from kgfs.formats import recognition
from kgfs.ingest import timing
from kgfs.ingest.reading.answers import AGAIN
from kgfs.ingest.reading.claims import TOO_SHORT
from kgfs.models.extractor import table as extractors
from kgfs.settings import STRATEGIES
from kgfs.stores.catalog.facts import DocumentRead, ReadingOwed
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.listing import key_of_file
from kgfs.stores.garage.opening import OBJECTS
from kgfs.stores.readings import Reading, load_reading
from kgfs.stores.resolve import Found, FoundKind, find_document
from kgfs.stores.stores import Stores

BYTES_PER_TOKEN = 4.0
"""Estimate for a document that was never read; English prose in cl100k."""
ANSWER_SHARE = 0.25
"""Estimated output tokens of an extractor per input token."""
FACTS = 10_000

PAGE = 1000
ATTEMPTS = 5
"""How often the documents are chosen again after one of them lost its last path while they were being enqueued."""


@dataclass(frozen=True, slots=True)
class Order:
    """Request for a run."""

    reason: str
    """Explanation for people; it is stored in the ledger."""
    strategy: str = ""
    """The strategy; empty for the configured one."""
    extractor: str = ""
    anew: bool = False
    """Whether the whole ontology is read as if for the first time."""
    ask_again: bool = False
    """Whether a language model is asked again for what it has answered already."""

    def __post_init__(self) -> None:
        if self.strategy and self.strategy not in STRATEGIES:
            raise BadInputError(f"Unknown strategy '{self.strategy}'; known are {', '.join(STRATEGIES)}.")
        if self.extractor:
            extractors.check(self.extractor, "the extractor")


def owe(catalog: Catalog, choose: Callable[[], Iterable[Document]], order: Order) -> list[Document]:
    """Enqueue a reading of each document that ``choose`` returns, in one run; return them in order of deposit.

    The run is durable, all or none, when this returns. ``choose`` is called again when one of the documents lost its
    last path meanwhile; after ATTEMPTS calls MissingError is raised.
    """
    for attempt in range(ATTEMPTS):
        documents = sorted(choose(), key=lambda document: document.deposit)
        run, now = f"{AGAIN if order.ask_again else ''}{secrets.token_hex(8)}", time.time_ns()
        facts = [
            ReadingOwed(document.doc_id, order.reason, now, order.strategy, order.extractor, run, order.anew)
            for document in documents
        ]
        try:
            if facts:
                catalog.record(*facts)
        except MissingError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        border("owed")
        return documents
    raise AssertionError("unreachable")


def owe_again(stores: Stores, doc_ids: Iterable[str], strategy: str) -> list[Document]:
    """Enqueue a reading of each of these documents that has a path, and return the documents that were enqueued.

    Documents of unsupported formats are left out. The documents of one ontology form one run. Where they are all the
    documents that the ontology has, the run reads them as ``kgfs regenerate`` does: as if for the first time. An
    empty ``strategy`` means the configured one. The jobs of one ontology are recorded all or none, and
    all jobs are durable when this returns.
    """
    names = stores.catalog.names
    wanted = set(doc_ids)
    found = [document for doc_id in wanted if (document := names.document(doc_id))]
    owed: list[Document] = []
    for ontology_id in sorted({document.ontology for document in found}):
        ontology = names.ontology(ontology_id)
        if ontology is None:
            continue

        def choose(ontology_id: str = ontology_id) -> list[Document]:
            return [d for d in found if d.ontology == ontology_id and names.held(d.doc_id) and _is_readable(d)]

        everything = {document.doc_id for document in all_of(names, ontology)}
        how = f" with {strategy}" if strategy else ""
        order = Order(f"reading again{how} was asked for", strategy, anew=everything <= wanted)
        owed += owe(stores.catalog, choose, order)
    return owed


# ------------------------------------------------------------------------------------- which documents


def all_of(names: Names, ontology: Ontology) -> list[Document]:
    """Return the documents that ``regenerate`` reads again: all that have a path and a supported format."""
    return [document for document in living(names, ontology) if _is_readable(document)]


def _is_readable(document: Document) -> bool:
    return document.state is not State.UNSUPPORTED


def outdated(names: Names, ontologies: Sequence[Ontology], version: int = INGEST_VERSION) -> list[Document]:
    """Return the documents that ``reprocess`` reads again: those that an ingest version before ``version`` read.

    Documents of formats that an older kgfs did not read are among them, since this one may read them. Documents that
    are queued or in work are not. Raise BadInputError for an ingest version that does not exist.
    """
    if version not in INGEST_VERSIONS:
        raise BadInputError(f"There is no ingest version {version}; the newest is {INGEST_VERSION}.")
    return [
        document
        for ontology in ontologies
        for document in living(names, ontology)
        if document.ingest_version < version and document.state not in ON_THE_WAY
    ]


def by_other_settings(stores: Stores, ontologies: Sequence[Ontology], min_tokens: int) -> list[Document]:
    """Return the documents whose Reading was made with other domains than their ontology has now, or whose claims another least
    length judges otherwise. Reads the Readings of each ontology that ever had domains, or has claims."""
    found: list[Document] = []
    for ontology in ontologies:
        if SETTING in ontology.settings or stores.graph.claims.has_any(ontology.id):
            wanted = domains_of(ontology.settings)
            found += [d for d in living(stores.catalog.names, ontology) if _differs(stores, d, wanted, min_tokens)]
    return found


def _differs(stores: Stores, document: Document, wanted: Domains, min_tokens: int) -> bool:
    if document.state not in (State.DONE, State.GATED):
        return False
    reading = _last(stores.garage.objects, document)
    if reading is None:
        return False
    judged = ((claim.rejected, len(claim.claim.split()) < min_tokens) for claim in reading.claims)
    return reading.domains != wanted or any(short is (said == "") for said, short in judged if said in ("", TOO_SHORT))


def failed(stores: Stores, ontologies: Sequence[Ontology]) -> list[Document]:
    """Return the documents whose last reading failed, and those that lacked a program, which may be installed now.

    Those that were read in part for want of a program are among them where it is installed now.
    """
    return [d for ontology in ontologies for d in living(stores.catalog.names, ontology) if _failed(stores, d)]


def _failed(stores: Stores, document: Document) -> bool:
    lacked = document.state is State.UNSUPPORTED and recognition.MISSING in document.reason
    return lacked or document.state is State.FAILED or _lacks_pages(stores, document)


def _lacks_pages(stores: Stores, document: Document) -> bool:
    """Return whether pages of a document that was read were not, because a program lacked that is there now."""
    if document.state not in (State.DONE, State.GATED) or not document.key.endswith(".pdf") or not document.reading:
        return False
    if not recognition.tesseract():
        return False
    try:
        reading = load_reading(stores.garage.objects, document.doc_id, document.reading)
    except (MissingError, StoreError):  # kgfs check tells of it, and of how it is read again
        return False
    return recognition.MISSING in reading.note


def living(names: Names, ontology: Ontology) -> Iterator[Document]:
    """Yield the documents that have a path."""
    after = ""
    while page := names.documents(ontology.id, after, PAGE):
        yield from (document for document in page if names.held(document.doc_id))
        after = page[-1].doc_id


def recognise(config: Config, stores: Stores, path: Path) -> Found | None:
    """Return the document that the file at ``path`` is, in the document's own ontology; None for any other file.

    The file may stand in a mount, also in a mount of the garage view, or may be an object's file in the home itself.
    Raise BadInputError where the path can mean two documents.
    """
    absolute = Path(os.path.normpath(path.absolute()))
    kept = config.garage / OBJECTS
    words = key_of_file(absolute.relative_to(kept)) if absolute.is_relative_to(kept) else os.fspath(absolute)
    try:
        found = find_document(stores, config.run, words)
    except MissingError:
        return None
    return found if found.kind is FoundKind.DOCUMENT and found.document is not None else None


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
    requests: int = 0
    """Requests to a language model; 0 for an extractor that asks none."""
    prompt_tokens: int = 0
    """Tokens of these requests, schemas and known labels included."""
    answer_tokens: int = 0
    """Estimated tokens of their answers."""

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
    price = config.llm.price_in + ANSWER_SHARE * config.llm.price_out
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
