"""Forget on purpose (GONE-3 to GONE-7 of docs/semantics.md): plan, record the order, carry the order out.

The order is recorded first. One fact removes the names, sets tombstones and suppressions, and enqueues the remaining
work. Then the process that holds the worker lock carries the order out, in one commit to the graph, whatever the
number of documents. If a process is killed between these steps, the next holder of the worker lock continues. Each
step is idempotent.

The outcome of an order says which documents were forgotten, and what stayed. Anything that was deposited, named or
written before the order was carried out stays.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from kgfs.config import Config
from kgfs.domain.documents import Document, Name
from kgfs.domain.identity import concept_id_of, normalise_label
from kgfs.errors import BusyError, CorruptError, KgfsError, MissingError
from kgfs.failpoints import border
from kgfs.ingest.lifecycle.forget_plan import Plan
from kgfs.ingest.lifecycle.purge import decided_about, purge
from kgfs.ingest.lifecycle.survivors import commit_of
from kgfs.ingest.matching.joinings import part_before
from kgfs.ingest.storing.settle import Settler
from kgfs.ingest.writing.deposit import Deposits
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import (
    DocumentForgotten,
    Fact,
    ForgettingDone,
    ForgettingOwed,
    OntologyRemoved,
    QuestionRemoved,
    SearchRemoved,
)
from kgfs.stores.catalog.rows import Forgetting
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.readings import keep_text, load_reading
from kgfs.stores.ship import entries, ship_from_reserve
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import unindex


@dataclass(frozen=True, slots=True)
class Order:
    """A recorded order to forget."""

    id: str
    after: int
    """The number of the last fact before the order."""


def order(deposits: Deposits, stores: Stores, planned: Plan) -> Order:
    """Record the plan: names leave at once, and the rest is enqueued as an order.

    The order is durable when this returns. Raise BusyError where a document of the plan got another name, or a name
    of the plan was written, since the plan was made. Anything that is deposited, named or written before the order is
    carried out stays (:func:`~.forgotten.outcome`).
    """
    at, after = time.time_ns(), stores.catalog.seq()
    suppressed = {
        concept_id_of(concept.ontology, normalise_label(form))
        for concept in planned.gone
        for form in (concept.norm, concept.label, *concept.aliases)
    } | {concept.concept_id for concept in planned.gone}
    every = planned.cascade == "all"
    made = secrets.token_hex(8)
    facts: list[Fact] = [
        ForgettingOwed(
            order=made,
            names=tuple(name.id for name in planned.names),
            doc_ids=tuple(leaving.document.doc_id for leaving in planned.documents),
            cascade=planned.cascade,
            purge=planned.purge,
            concepts=tuple(concept.concept_id for concept in planned.gone) if every else (),
            suppressed=tuple(sorted(suppressed)) if every else (),
            at=at,
        )
    ]
    for ontology in planned.ontologies:
        saved = stores.catalog.names.saved_searches(ontology.id)
        facts += [SearchRemoved(ontology.id, search.words, at) for search in saved]
        questions = stores.catalog.names.saved_questions(ontology.id)
        facts += [QuestionRemoved(ontology.id, saved.question, at) for saved in questions]
        facts.append(OntologyRemoved(ontology.id, at))
    with deposits.settler.alone():
        before = [stores.catalog.names.name(name.id) for name in planned.names]
        for seen, now in zip(planned.names, before, strict=True):
            if now is not None and now.sha256 != seen.sha256:
                raise BusyError(f"'{seen.name}' was written since this was planned. Look, and try again.")
        deposits.record(*facts)
    border("forgetting-owed")
    for name in before:
        if name is not None:
            deposits.copies.leave(name)
    deposits.copies.drop_left()
    return Order(made, after)


def carry_out(config: Config, stores: Stores, asked: str = "") -> int:
    """Carry out all orders that are due, and return how many there were. The caller holds the worker lock.

    An order that fails stays due. Where something that an order needs is lost, the other orders are carried out
    first, and then one error (MissingError or CorruptError) reports all failed orders. ``asked`` is the id of the one
    order that the caller needs; if it is not among the failed ones, the error is only logged.
    """
    owed = stores.catalog.names.forgettings()
    if any(one.purge for one in owed):
        ship_from_reserve(config.home, stores)  # a home that takes over goes on with the order
        Settler(config, stores).sweep()
    reserve = DiskReserve(config.home)
    failed: dict[str, KgfsError] = {}
    for one in owed:
        try:
            reserve.run(partial(_carry_out, config, stores, one))
        except (MissingError, CorruptError) as error:
            failed[one.order] = error
    if any(one.purge for one in owed):
        _read_again(stores, [doc_id for one in owed if one.purge for doc_id in one.doc_ids])
    if failed and asked and asked not in failed:
        ErrorLog(config.errors_log).add("forget", _together([*failed.values()]))
    elif failed:
        raise _together([*failed.values()])
    return len(owed)


def _together(failed: Sequence[KgfsError]) -> KgfsError:
    first = failed[0]
    if len(failed) == 1:
        return first
    joined = type(first)(" ".join(dict.fromkeys(str(error) for error in failed)))
    joined.__cause__ = first
    return joined


def _carry_out(config: Config, stores: Stores, owed: Forgetting) -> None:
    with Settler(config, stores).alone():
        # Nothing settles from here on, so no document of the order gets a new name before the order is carried out.
        current = next(known for known in stores.catalog.names.forgettings() if known.order == owed.order)
        commit_id, redaction, decisions = commit_of(current), "", tuple[str, ...]()
        if current.cascade == "none":
            _keep_texts(stores, current.doc_ids)
        else:
            if stores.graph.published(commit_id) is None:
                part_before(stores, current.doc_ids)
            _leave_graph(stores, current, commit_id)
            border("forgetting-committed")
            if current.purge:
                redaction, decisions = purge(config, stores, current)
        stores.catalog.record(
            ForgettingDone(
                order=current.order,
                doc_ids=current.doc_ids,
                cascade=current.cascade,
                purge=current.purge,
                commit_id=commit_id,
                concepts=current.concepts,
                redaction=redaction,
                at=current.at,
                decisions=decisions,
            )
        )
        border("forgetting-done")


def _read_again(stores: Stores, doc_ids: Iterable[str]) -> None:
    """Record that documents left the graph whose names came back during their purge, so that they are read again."""
    for doc_id in doc_ids:
        document = stores.catalog.names.document(doc_id)
        shown = document is None or not document.commit_id or stores.graph.document(doc_id) is not None
        if document is not None and not shown and stores.catalog.names.held(doc_id):
            commit_id = f"forget-{doc_id}-{document.deposit}"
            stores.catalog.record(DocumentForgotten(doc_id, "orphans", commit_id, time.time_ns()))


def _leave_graph(stores: Stores, owed: Forgetting, commit_id: str) -> None:
    graph = stores.graph
    if graph.published(commit_id) is None:
        touched = {concept.concept_id for doc_id in owed.doc_ids for concept in graph.concepts_of(doc_id)}
    else:  # killed after the commit: the graph does not show their concepts any more
        touched = {concept for doc_id in owed.doc_ids for concept in decided_about(stores, doc_id)[0]}
    graph.forget(commit_id, owed.doc_ids, owed.at, owed.concepts)
    unindex(stores, owed.doc_ids, touched | set(owed.concepts))


def _keep_texts(stores: Stores, doc_ids: Iterable[str]) -> None:
    """Store the Texts of these documents.

    The evidence of tombstones is shown and rebuilt from these Texts once the originals have left the trash.
    """
    objects = stores.garage.objects
    for doc_id in doc_ids:
        document, shown = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
        if document is not None and shown is not None:
            keep_text(objects, document, load_reading(objects, doc_id, shown.reading))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an order to forget did, and what stayed."""

    forgotten: tuple[str, ...]
    """``doc_id`` of the Documents that are forgotten, by this order or by another one with the same effect."""
    standing: tuple[str, ...]
    """What the plan had and what stays: paths, ontologies, and ``doc_id`` of Documents without a name."""


def outcome(stores: Stores, ordered: Order, planned: Plan) -> Outcome:
    """Return the outcome of the order ``ordered`` that was made from ``planned``.

    Call it after all due orders were carried out, by whichever process. Reads the ledger from the order on.
    """
    done = _carried_out(stores, ordered)
    forgotten: list[str] = []
    standing: dict[str, None] = {}
    for document in (leaving.document for leaving in planned.documents):
        if document.doc_id in done or _is_gone(stores, document, planned):
            forgotten.append(document.doc_id)
        else:
            named = stores.catalog.names.names_of(document.doc_id)
            standing |= dict.fromkeys([_path(stores, name) for name in named] or [document.doc_id])
    left = [stores.catalog.names.name(name.id) for name in planned.names]
    standing |= dict.fromkeys(_path(stores, name) for name in left if name is not None)
    ontologies = [stores.catalog.names.ontology(ontology.id) for ontology in planned.ontologies]
    standing |= dict.fromkeys(ontology.name for ontology in ontologies if ontology is not None)
    return Outcome(tuple(forgotten), tuple(standing))


def _carried_out(stores: Stores, ordered: Order) -> frozenset[str]:
    found = (decode(entry) for entry in _mentions(stores, ordered))
    return frozenset(
        doc_id
        for fact in found
        if isinstance(fact, ForgettingDone) and fact.order == ordered.id
        for doc_id in fact.doc_ids
    )


def _mentions(stores: Stores, ordered: Order) -> Iterator[bytes]:
    mark = ordered.id.encode()
    return (entry for entry in entries(stores.catalog, stores.garage.ledger, ordered.after) if mark in entry)


def _is_gone(stores: Stores, document: Document, planned: Plan) -> bool:
    """Return whether the document is gone, for example by an order of another process."""
    names = stores.catalog.names
    if planned.purge:
        return names.document(document.doc_id) is None
    shown = planned.cascade != "none" and stores.graph.document(document.doc_id) is not None
    return not (names.names_of(document.doc_id) or shown)


def _path(stores: Stores, name: Name) -> str:
    ontology = stores.catalog.names.ontology(name.ontology)
    assert ontology is not None, "a name stands in no ontology"
    return f"{ontology.name}/documents/{stores.catalog.names.path(name.id)}"
