"""The jobs that a worker has claimed: which is finished next, and whether there is room for another.

Beside its jobs the worker keeps the index of words up to the graph, in a thread, and records the parts of a document
that was read: each becomes a Document, whose reading is enqueued.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.domain.parts import Part
from kgfs.errors import KgfsError
from kgfs.failpoints import border
from kgfs.ingest import timing
from kgfs.ingest.storing.content import conclude_parts
from kgfs.stores.catalog.facts import PartsFound
from kgfs.stores.catalog.rows import Job
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.locks import settle_lock
from kgfs.stores.readings import Reading
from kgfs.stores.stores import Stores

FAR_AHEAD = 16
"""Limit of claimed documents, including those that are read already."""
LARGE = 1 << 18
"""Bytes of a document from which on documents that were claimed after it are published before it, if they are read first."""
HUGE = 2**63 - 1
TEXTS = 2
"""Number of documents whose texts are worked on at the same time."""


@dataclass(slots=True)
class Claim:
    job: Job
    document: Document
    renewed: float
    """When this worker last renewed the lease of the job (monotonic seconds)."""
    turn: int = 0
    """The number of the claim: claims are published in this order."""
    text: bool = False
    """Whether only the document's text is to be published."""
    reading: Future[Reading] | None = None
    """The reading; None for a ``forget`` job, and before the reading begins."""
    asked: Future[None] | None = None
    """The asking of a language model before that; None where none is asked."""
    failures: int = 0
    resting_until: float = 0.0
    """When to retry after a failure (monotonic seconds). The claim keeps its place: later documents are published
    after it."""

    @property
    def is_rested(self) -> bool:
        return time.monotonic() >= self.resting_until

    @property
    def is_ready(self) -> bool:
        """Return whether the claim can be finished now."""
        return self.is_rested and (self.job.kind == "forget" or (self.reading is not None and self.reading.done()))

    @property
    def is_in_work(self) -> bool:
        return not self.text and (self.reading is not None or self.job.kind == "forget")

    @property
    def order(self) -> tuple[bool, bool, int]:
        """Return the place among claims: forgetting first, what is read again on request last."""
        return self.job.kind != "forget", self.job.run != "", self.turn


class Claims(list[Claim]):
    """The claims of a worker, in the order in which they are published."""

    @property
    def texts(self) -> int:
        """Return the number of texts that are to be shown now."""
        return sum(claim.text and claim.is_rested for claim in self)

    @property
    def has_room_for_text(self) -> bool:
        return self.texts < TEXTS and sum(claim.text for claim in self) < FAR_AHEAD

    @property
    def in_work(self) -> int:
        """Return the number of documents that are being read or forgotten."""
        return sum(claim.is_in_work for claim in self)

    def room(self, held: int, *, has_express: bool) -> int:
        """Return the size up to which another document may be claimed to be read; 0 for none.

        ``held`` documents may be worked on. With ``has_express`` there is always room for small ones.
        """
        if len(self) >= max(held, FAR_AHEAD):
            return 0
        if self.in_work < held:
            return HUGE
        return LARGE - 1 if has_express else 0

    def next_ready(self) -> Claim | None:
        """Return the claim to be finished now: a text that is ready, else the first that is ready and waits for no other."""
        for claim in self:
            if claim.text and claim.is_ready:
                return claim
        for claim in self:
            if claim.text:
                continue
            if claim.is_ready:
                return claim
            if claim.document.size < LARGE:
                return None
        return None


@contextmanager
def indexing_words(graph: Graph, errors: ErrorLog) -> Iterator[None]:
    """Index what is published while the context is open, and the last of it when it ends.

    An error (a full disk) is logged once, and the work is tried again later: searches use the graph's own full text
    meanwhile. A first index of a large home is made in batches; the end of the context waits for one of them at most.
    """
    stopped = threading.Event()
    trouble = Trouble(errors, "words")

    def index() -> float:
        try:
            if not graph.words_indexed():
                graph.index_words(lambda: not stopped.is_set())
            trouble.over()
        except KgfsError as error:
            trouble.met(error)
            return timing.WORDS_RETRY
        return timing.WORDS_POLL

    def work() -> None:
        while not stopped.wait(index()):
            pass

    thread = threading.Thread(target=work, name="index-words", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        index()


def found_parts(config: Config, stores: Stores, document: Document, reading: Reading) -> None:
    """Make the parts that a Reading names those of its document. Does nothing where they are. Durable on return.

    The bytes of each part stay under the key of the Document that it is: no process gives up originals meanwhile.
    MissingError if the garage has the bytes of a part no more: nothing promised them while the document was read. Reading
    it again puts them again."""
    known = stores.catalog.names.parts(document.doc_id)
    if not known and not reading.parts:
        return
    present = [(row.name, row.given, row.kind, row.size, _sha256(stores, row.child)) for row in known]
    wanted = [(part.name, part.given, part.kind, part.size, part.sha256) for part in reading.parts]
    with settle_lock(config.run):
        keys = _bring(stores, document, reading.parts)
        if present != wanted:
            stores.catalog.record(
                PartsFound(
                    doc_id=document.doc_id,
                    at=time.time_ns(),
                    names=tuple(part.name for part in reading.parts),
                    given=tuple(part.given for part in reading.parts),
                    kinds=tuple(str(part.kind) for part in reading.parts),
                    media_types=tuple(part.media_type for part in reading.parts),
                    sha256s=tuple(part.sha256 for part in reading.parts),
                    sizes=tuple(part.size for part in reading.parts),
                    keys=tuple(keys[part.sha256] if part.key else "" for part in reading.parts),
                )
            )
            border("parts-found")
        conclude_parts(stores, config.spool, document.doc_id)


def _bring(stores: Stores, document: Document, parts: Iterable[Part]) -> dict[str, str]:
    """Return, by SHA-256, the keys of the Documents that these parts are, under which the garage has their bytes."""
    objects, names = stores.garage.objects, stores.catalog.names
    put: dict[str, str] = {}
    keys: dict[str, str] = {}  # two parts of one mail may be the same content under two names
    for part in parts:
        if part.key and part.sha256 not in keys:
            known = names.document_with(document.ontology, part.sha256)
            keys[part.sha256], put[part.sha256] = known.key if known is not None else part.key, part.key
    for sha256, key in keys.items():
        if not objects.exists(key):
            objects.put(key, objects.get(put[sha256]))
    return keys


def _sha256(stores: Stores, doc_id: str) -> str:
    found = stores.catalog.names.document(doc_id) if doc_id else None
    return found.sha256 if found else ""
