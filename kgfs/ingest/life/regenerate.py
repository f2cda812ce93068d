"""Reading again: a new keeper for an ontology (``kgfs regenerate``), or a document by other means.

What is asked for at once is one run: a ReadingOwed for each document, all recorded together, in their order of deposit.
From then on it is in the journal, so a kill loses nothing of it. The graph serves readers what it showed until each
document's new Reading is published. Numbers of evidence and names of concepts that were given stay given: a span that is
evidence for the same concept again keeps its number, a concept that is found again its directory.

Of a whole ontology each document is matched with what the run has published before it, not with the graph as it stands
at its start: that is full of the mentions which the former keeper made of the same documents, and they would decide
everything again as it was decided. The result is the graph that a fresh ingest in that order would give, whatever stood
there before. A document that is read again alone is matched with all the others, without its own former mentions.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kgfs.domain.documents import INGEST_VERSION, INGEST_VERSIONS, Document, Ontology, State
from kgfs.errors import BadInputError, MissingError
from kgfs.failpoints import border
from kgfs.models.extractor import table as extractors
from kgfs.settings import STRATEGIES
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.contract_names import Names
from kgfs.stores.journal.facts import ReadingOwed

PAGE = 1000
ATTEMPTS = 5
"""How often documents that lost their last path while they were being owed are met by looking again."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a run is asked to do."""

    reason: str
    """For people: it stands in the ledger."""
    strategy: str = ""
    """Empty: the configured one."""
    extractor: str = ""
    anew: bool = False
    """The whole ontology is read as if for the first time."""

    def __post_init__(self) -> None:
        if self.strategy and self.strategy not in STRATEGIES:
            raise BadInputError(f"Unknown strategy '{self.strategy}'; known are {', '.join(STRATEGIES)}.")
        if self.extractor:
            extractors.check(self.extractor, "the extractor")


def owe(journal: Journal, choose: Callable[[], Iterable[Document]], order: Order) -> list[Document]:
    """Owe a reading of each document that ``choose`` gives, in one run, durably and all or none; which ones. ``choose``
    is asked again when one of them lost its last path meanwhile."""
    for attempt in range(ATTEMPTS):
        documents = sorted(choose(), key=lambda document: document.deposit)
        run, now = secrets.token_hex(8), time.time_ns()
        facts = [
            ReadingOwed(document.doc_id, order.reason, now, order.strategy, order.extractor, run, order.anew)
            for document in documents
        ]
        try:
            if facts:
                journal.record(*facts)
        except MissingError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        border("owed")
        return documents
    raise AssertionError("unreachable")


# ------------------------------------------------------------------------------------- which documents


def all_of(names: Names, ontology: Ontology) -> list[Document]:
    """What ``regenerate`` reads again: every document that a path has, but for formats that kgfs does not read."""
    return [document for document in living(names, ontology) if document.state is not State.UNSUPPORTED]


def outdated(names: Names, ontologies: Sequence[Ontology], version: int = INGEST_VERSION) -> list[Document]:
    """What ``reprocess`` reads again: what was read by an ingest version before ``version``. Formats that an older kgfs
    did not read are among them: this one may. BadInputError for a version that there is not."""
    if version not in INGEST_VERSIONS:
        raise BadInputError(f"There is no ingest version {version}; the newest is {INGEST_VERSION}.")
    return [
        document
        for ontology in ontologies
        for document in living(names, ontology)
        if document.ingest_version < version and document.state not in (State.QUEUED, State.WORKING)
    ]


def failed(names: Names, ontologies: Sequence[Ontology]) -> list[Document]:
    """Documents whose last reading failed."""
    return [d for ontology in ontologies for d in living(names, ontology) if d.state is State.FAILED]


def living(names: Names, ontology: Ontology) -> Iterator[Document]:
    """The documents that a path has."""
    after = ""
    while page := names.documents(ontology.id, after, PAGE):
        yield from (document for document in page if names.names_of(document.doc_id))
        after = page[-1].doc_id
