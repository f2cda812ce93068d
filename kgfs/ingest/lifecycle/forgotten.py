"""Report the outcome of an order to forget: which documents were forgotten, and what stayed.

Anything that was deposited, named or written before the order was carried out stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.domain.documents import Document, Name
from kgfs.ingest.lifecycle.forget import Order
from kgfs.ingest.lifecycle.forget_plan import Plan
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ForgettingDone
from kgfs.stores.ship import entries
from kgfs.stores.stores import Stores


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
