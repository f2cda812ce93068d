"""Rebuild graph and vectors from the ledger and the Readings, without asking a model.

The facts that changed them are replayed in the order of the ledger, with their decisions, times and commit ids. So
the result equals the state that was built step by step. To make a new kind of fact part of this, register its replay
with :func:`replay_in_graph` and, where the fact changes vectors, with :func:`replay_in_vectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import singledispatch

from kgfs.domain.documents import Document
from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.failpoints import border
from kgfs.ingest.lifecycle import survivors
from kgfs.ingest.lifecycle.purge import decode_redaction
from kgfs.ingest.matching.claim_marks import say_of_claim
from kgfs.ingest.matching.concepts import Word, founded_rows, say_in_graph
from kgfs.ingest.matching.publication import carry_out, show_text
from kgfs.ingest.reading import embeddings
from kgfs.stores.batched import batched
from kgfs.stores.catalog.encoding import decode, decode_if
from kgfs.stores.catalog.facts import (
    ClaimMarked,
    ConceptsMerged,
    ConceptSplit,
    DocumentForgotten,
    DocumentRead,
    DocumentText,
    Fact,
    ForgettingDone,
    PlacesAdded,
)
from kgfs.stores.catalog.purges import purges_among, without_purged
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.readings import (
    Decisions,
    Reading,
    key_of_decisions,
    load_decisions,
    load_reading,
    reading_key,
    text_of,
)
from kgfs.stores.ship import entries
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Row, Vectors, unindex_dead

Progress = Callable[[int, int], None]
"""Called with (publications carried out, publications in all)."""

ROWS_BATCH = 1000
WEIGHT_BATCH = 4_000_000
"""Characters in the texts of waiting rows from which on the rows are written, even if fewer than ROWS_BATCH wait.

The rows that one call of ``put`` adds are never divided.
"""


class NeverDepositedError(StoreError):
    """Raised when the ledger publishes a document that the catalog does not know.

    The cause is damage, or a purge since the facts were read.
    """


def rebuild(stores: Stores, progress: Progress = lambda done, total: None, ontology: str = "") -> int:
    """Rebuild graph and vectors, of everything or of one ontology, and return how many publications were carried out.

    Blocks for long. Nothing else may publish meanwhile: the caller holds the worker lock, or the home is not in use.
    Readers see the former graph until the new one is complete, so a kill in the middle leaves the former graph. The
    vectors are complete only when this returns.
    """
    done = rebuild_graph(stores, progress, ontology)
    rebuild_vectors(stores, ontology)
    return done


def rebuild_graph(stores: Stores, progress: Progress = lambda done, total: None, ontology: str = "") -> int:
    """Rebuild the graph as :func:`rebuild` does, without the vectors."""
    facts = _without_replaced_texts(list(_facts(stores, ontology)))
    total = sum(isinstance(fact, DocumentRead) for fact in facts)
    done = 0
    with closing(stores.graph.aside()) as built:
        aside = replace(stores, graph=built)
        for fact in facts:
            replay_in_graph(fact, aside)
            if isinstance(fact, DocumentRead):
                done += 1
                progress(done, total)
        border("built-aside")
        stores.graph.adopt(built, ontology)
    return done


def rebuild_vectors(stores: Stores, ontology: str = "") -> None:
    """Rebuild the vectors as :func:`rebuild` does, from a graph that is complete.

    Do nothing without a vector store. Raise MissingError or CorruptError where objects of a document are lost, after all
    other documents have their rows and the vectors are in use.
    """
    if stores.vectors is None:
        return
    if ontology:
        stores.vectors.delete(Filter(ontology=ontology))
    else:
        stores.vectors.clear()
    replayed = ReplayedVectors(stores, stores.vectors)
    replayed.replay_all(_facts(stores, ontology))
    border("vectors-derived")
    if not ontology:
        stores.vectors.conclude()
    if replayed.lost is not None:
        raise replayed.lost


def replay_rest(stores: Stores, after: int) -> None:
    """Carry out in the graph, which shows the facts up to number ``after``, those that followed. Repeatable after a
    kill."""
    for fact in _facts_after(stores, after):
        if not is_carried_out(stores.graph, fact):
            replay_in_graph(fact, stores)
        if isinstance(fact, ForgettingDone) and fact.purge:
            stores.graph.redact([], [], fact.doc_ids)


def is_carried_out(graph: Graph, fact: Fact) -> bool:
    """Return whether the graph has the fact already. Always False for a forgetting, which may have been carried out in
    part and is idempotent."""
    commit_id = getattr(fact, "commit_id", "")
    return bool(commit_id) and not isinstance(fact, ForgettingDone) and graph.published(commit_id) is not None


def _facts_after(stores: Stores, after: int) -> Iterator[Fact]:
    """Yield the facts after number ``after`` that changed graph or vectors, without publications of documents that are
    purged later."""
    found = enumerate(map(decode, entries(stores.catalog, stores.garage.ledger, after)), after + 1)
    numbered = [(number, fact) for number, fact in found if _replayed(fact)]
    return (fact for _, fact in without_purged(iter(numbered), purges_among(numbered)))


# ------------------------------------------------------------------------------------------------ graph


def _without_replaced_texts(facts: list[Fact]) -> list[Fact]:
    """Return the facts without publications of texts that later ones replace whole."""
    kept: list[Fact] = []
    read: set[str] = set()
    for fact in reversed(facts):
        if isinstance(fact, DocumentText):
            if fact.doc_id in read:
                continue
        elif isinstance(fact, DocumentRead):
            read.add(fact.doc_id)
        elif isinstance(fact, DocumentForgotten):
            read.discard(fact.doc_id)
        elif isinstance(fact, ForgettingDone):
            read.difference_update(fact.doc_ids)
        kept.append(fact)
    return kept[::-1]


@singledispatch
def replay_in_graph(fact: Fact, stores: Stores) -> None:
    """Replay the effect of this fact on the graph, with its commit id. Most facts have no effect on the graph."""


@replay_in_graph.register
def _(fact: DocumentRead, stores: Stores) -> None:
    try:
        document, reading, decisions = _kept(stores, fact)
    except MissingError:
        if not _made_up_for(stores, fact):
            raise
        stores.graph.forget(fact.commit_id, [fact.doc_id, *fact.superseded], fact.at)
        return
    carry_out(
        stores.graph,
        replace(document, deposit=fact.deposit),
        reading,
        decisions,
        text=_text(stores, document, reading, document.commit_id == decisions.commit_id),
        content_version=fact.content_version,
        supersedes=fact.superseded,
        at=fact.at,
        claim_vectors=embeddings.claim_vectors(stores.garage.objects, reading),
    )


@replay_in_graph.register
def _(fact: DocumentText, stores: Stores) -> None:
    objects, document = stores.garage.objects, stores.catalog.names.document(fact.doc_id)
    if document is None:
        raise NeverDepositedError(f"The ledger publishes the text of document {fact.doc_id} that it never deposited.")
    if not objects.exists(reading_key(fact.doc_id, fact.reading)):
        return  # the document is shown once it is read
    reading = load_reading(objects, fact.doc_id, fact.reading)
    show_text(
        stores.graph,
        replace(document, deposit=fact.deposit),
        reading,
        commit_id=fact.commit_id,
        text=_text(stores, document, reading, fact.commit_id in (document.text, document.commit_id)),
        content_version=fact.content_version,
        hides=fact.hides,
        at=fact.at,
    )


@replay_in_graph.register
def _(fact: DocumentForgotten, stores: Stores) -> None:
    stores.graph.forget(fact.commit_id, [fact.doc_id], fact.at)


@replay_in_graph.register
def _(fact: ForgettingDone, stores: Stores) -> None:
    if fact.cascade != "none":
        stores.graph.forget(fact.commit_id, fact.doc_ids, fact.at, fact.concepts)
    if fact.redaction:
        survivors.say_in_graph(stores, fact.commit_id, survivors.load_renaming(stores, fact.order), fact.at)
        stores.graph.impose(decode_redaction(stores.garage.objects.get(fact.redaction), fact.redaction))


@replay_in_graph.register(ConceptsMerged)
@replay_in_graph.register(ConceptSplit)
@replay_in_graph.register(PlacesAdded)
def _(fact: Word, stores: Stores) -> None:
    say_in_graph(stores, fact)


@replay_in_graph.register
def _(fact: ClaimMarked, stores: Stores) -> None:
    say_of_claim(stores, fact)


# ---------------------------------------------------------------------------------------------- vectors


def replay_vectors(stores: Stores, after: int) -> None:
    """Carry out in the vectors, which show the facts up to number ``after``, those that followed. The graph is complete."""
    assert stores.vectors is not None
    replayed = ReplayedVectors(stores, stores.vectors)
    replayed.replay_all(_facts_after(stores, after))
    if replayed.lost is not None:
        raise replayed.lost


@dataclass(slots=True)
class ReplayedVectors:
    """Collects the effects of facts on the vectors and writes them in batches."""

    stores: Stores
    """Stores whose graph is complete: it shows the state after the last fact."""
    vectors: Vectors
    founded: set[str] = field(default_factory=set)
    """Concepts that have got a row so far. Rows of concepts that the graph does not have any more are removed at the
    end."""
    documents: set[str] = field(default_factory=set)
    """``doc_id`` of the documents whose Sources have got a row."""
    lost: MissingError | CorruptError | None = None
    """The last error for a fact whose objects are lost; the document of that fact has no rows."""
    _leaving: set[str] = field(default_factory=set)
    _waiting: dict[tuple[str, str, int], Row] = field(default_factory=dict)
    _heavy: int = 0

    def replay_all(self, facts: Iterable[Fact]) -> None:
        """Replay these facts, write what waits, and remove the rows of what the graph does not have any more."""
        for fact in facts:
            self.replay(fact)
        self.carry_out()
        unindex_dead(self.stores, sorted(self.documents), self.founded)

    def replay(self, fact: Fact) -> None:
        """Replay the fact with :func:`replay_in_vectors`, or keep the error in ``lost``.

        So later facts are replayed in any case.
        """
        try:
            replay_in_vectors(fact, self)
        except (MissingError, CorruptError) as error:
            self.lost = error

    def leave(self, *doc_ids: str) -> None:
        """Remove the rows of Sources and claims of these documents, also rows that wait to be written."""
        those = frozenset(doc_ids)
        self._leaving |= those
        gone = {key for key, row in self._waiting.items() if row.doc_id in those}
        for key in gone:
            del self._waiting[key]

    def put(self, rows: Sequence[Row]) -> None:
        """Put rows in place of those with the same keys.

        The rows reach the store with :meth:`carry_out`, which this calls itself when many rows wait.
        """
        self._waiting |= {(row.kind, row.item, row.window): row for row in rows}
        self.founded |= {row.item for row in rows if row.kind == "concept"}
        self.documents |= {row.doc_id for row in rows if row.doc_id}
        self._heavy += sum(len(row.content) for row in rows)
        if len(self._waiting) >= ROWS_BATCH or self._heavy >= WEIGHT_BATCH:
            self.carry_out()

    def carry_out(self) -> None:
        """Write the removals and the rows since the last call to the store."""
        for some in batched(sorted(self._leaving), ROWS_BATCH):
            self.vectors.delete(Filter(doc_ids=frozenset(some)))
        self.vectors.upsert([*self._waiting.values()])
        self._leaving, self._waiting, self._heavy = set(), {}, 0


@singledispatch
def replay_in_vectors(fact: Fact, replayed: ReplayedVectors) -> None:
    """Replay the effect of this fact on the vectors. Most facts have no effect on them."""


@replay_in_vectors.register
def _(fact: DocumentRead, replayed: ReplayedVectors) -> None:
    stores, vectors = replayed.stores, replayed.vectors
    replayed.leave(*fact.superseded, fact.doc_id)
    if stores.catalog.names.document(fact.doc_id) is None:  # purged since the facts were read
        return
    try:
        document, reading, decisions = _kept(stores, fact)
        found = embeddings.load(stores.garage.objects, reading, vectors.model)
    except MissingError:
        if not (_made_up_for(stores, fact) or _has_left(stores, fact.doc_id)):
            raise
        return
    if found is None:
        return
    concepts = embeddings.concept_rows(document.ontology, reading, decisions, found)
    payloads = embeddings.payloads(stores.graph, vectors, document.doc_id)
    claims = embeddings.claim_rows(document.ontology, reading, found)
    replayed.put(embeddings.source_rows(found, document.ontology, document.doc_id, payloads) + claims + concepts)


@replay_in_vectors.register
def _(fact: DocumentForgotten, replayed: ReplayedVectors) -> None:
    replayed.leave(fact.doc_id)


@replay_in_vectors.register
def _(fact: ForgettingDone, replayed: ReplayedVectors) -> None:
    if fact.cascade != "none":
        replayed.leave(*fact.doc_ids)
    if fact.decisions:
        renaming = survivors.load_renaming(replayed.stores, fact.order)
        replayed.put(survivors.founded_rows(replayed.stores, renaming, replayed.vectors.model))


@replay_in_vectors.register
def _(fact: ConceptSplit, replayed: ReplayedVectors) -> None:
    replayed.put(founded_rows(replayed.stores, fact, replayed.vectors.model))


# ------------------------------------------------------------------------------------------------------


def _facts(stores: Stores, ontology: str) -> Iterator[Fact]:
    """Yield the facts that changed graph or vectors, in order.

    With ``ontology``, yield only those that concern it. A fact that concerns several ontologies is yielded whole.
    Replay has no effect for documents that are unknown there.
    """
    for _, fact in numbered_facts(stores):
        if _replayed(fact) and (not ontology or ontology in _concerned(fact, stores)):
            yield fact


def numbered_facts(stores: Stores) -> Iterator[tuple[int, Fact]]:
    """Yield all facts in order, each with its number, filtered as :func:`without_purged` does."""
    numbered = enumerate(map(decode, entries(stores.catalog, stores.garage.ledger)), 1)
    return without_purged(numbered, purged(stores))


def purged(stores: Stores) -> dict[str, int]:
    """Return ``doc_id`` → the number of the last fact that purged it.

    Nothing that was read of the document before that fact is left.
    """
    numbered = enumerate(entries(stores.catalog, stores.garage.ledger), 1)
    found = ((number, decode_if(entry, ForgettingDone)) for number, entry in numbered)
    return purges_among((number, fact) for number, fact in found if fact is not None)


def _made_up_for(stores: Stores, fact: DocumentRead) -> bool:
    """Return whether a Reading that the garage has lost can be skipped.

    It can where a later publication replaced it, or a job to read the document is enqueued. Names and numbers of what
    is gone, which this Reading alone had used, are lost with it.
    """
    document = stores.catalog.names.document(fact.doc_id)
    followed = document is not None and document.commit_id != fact.commit_id
    return followed or any(job.kind == "read" for job in stores.catalog.jobs.of(fact.doc_id))


def _has_left(stores: Stores, doc_id: str) -> bool:
    """Return whether the document has left the graph.

    Another machine may have removed it, for example for a purge that this home does not know yet.
    """
    return stores.graph.document(doc_id) is None


def _text(stores: Stores, document: Document, reading: Reading, is_shown: bool) -> str:
    """Return the Text, or as many spaces where the original is gone for good.

    Spaces are returned only for a publication that is not the one shown in the end; what is published with them
    leaves the graph again. Raise MissingError where this publication is the one shown.
    """
    try:
        return text_of(stores.garage.objects, document, reading)
    except MissingError as error:
        if is_shown:
            raise MissingError(
                f"{document.key} is lost, and the graph cannot be derived without it. Deposit the same file again, or"
                " take it from a backup."
            ) from error
        return " " * reading.text_length


def _replayed(fact: Fact) -> bool:
    plain = (replay_in_graph.dispatch(object), replay_in_vectors.dispatch(object))
    return (replay_in_graph.dispatch(type(fact)), replay_in_vectors.dispatch(type(fact))) != plain


def _concerned(fact: Fact, stores: Stores) -> set[str]:
    """Return the ids of the ontologies that the fact names, or of those whose documents it names."""
    if own := getattr(fact, "ontology", ""):
        return {own}
    if isinstance(fact, ForgettingDone) and fact.redaction:
        redaction = decode_redaction(stores.garage.objects.get(fact.redaction), fact.redaction)
        return {ontology for ontology, _ in redaction.changed_at}
    doc_ids = getattr(fact, "doc_ids", None) or (getattr(fact, "doc_id", ""),)
    documents = (stores.catalog.names.document(doc_id) for doc_id in doc_ids)
    return {document.ontology for document in documents if document is not None}


def _kept(stores: Stores, fact: DocumentRead) -> tuple[Document, Reading, Decisions]:
    document, objects = stores.catalog.names.document(fact.doc_id), stores.garage.objects
    if document is None:
        raise NeverDepositedError(f"The ledger publishes document {fact.doc_id} that it never deposited.")
    reading = reading_key(fact.doc_id, fact.reading)
    decisions = key_of_decisions(objects, fact.decisions)
    if decisions is None or not objects.exists(reading):
        lost = reading if decisions else fact.decisions
        raise MissingError(f"The garage has lost {lost}. Run kgfs check --repair, which has it read again.")
    return (
        document,
        load_reading(objects, fact.doc_id, fact.reading),
        load_decisions(objects, fact.decisions),
    )
