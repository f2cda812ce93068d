"""Bring vectors up to the graph of a home that shares its ledger."""

from __future__ import annotations

from itertools import islice, takewhile

from kgfs.config import Config
from kgfs.errors import CorruptError, KgfsError, LostLeaseError, MissingError
from kgfs.sharing.replay import Replay
from kgfs.sharing.vector_positions import Position
from kgfs.stores.catalog.facts import ConceptsMerged, DocumentForgotten, DocumentRead, Fact, ForgettingDone
from kgfs.stores.ship import facts_since
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Vectors
from kgfs.stores.vectors.unindexing import unindex

BATCH = 1000


def has_own_vectors(config: Config, stores: Stores) -> bool:
    """Return whether this home keeps vectors in a file that has to follow a shared ledger.

    Vectors on a server are written by the home that has the publishing turn.
    """
    return stores.catalog.sharing and stores.vectors is not None and config.vectors.store == "sqlite"


def are_behind(stores: Stores, position: Position) -> bool:
    """Return whether the graph has followed further than the vectors."""
    upto = position.read()
    return upto is None or upto < (stores.graph.followed() or 0)


def follow_vectors(stores: Stores, replay: Replay, position: Position) -> None:
    """Bring the vectors up to the fact that the graph has followed.

    Rebuild them, without asking a model, where their position is not known or a server has lost them. Each fact may
    be carried out twice. Raise MissingError or CorruptError, once, where objects of a document are lost, after everything
    else is done: the document gets its rows when it is read again, and until then ``kgfs check`` reports them. Raise
    LostLeaseError where another home has changed over to another model meanwhile: this one has to follow it.
    """
    assert stores.vectors is not None
    bound, upto = stores.graph.followed() or 0, position.read()
    lost: KgfsError | None = None
    if upto is not None and stores.vectors.complete():
        facts = takewhile(lambda fact: fact[0] <= bound, facts_since(stores.catalog, stores.garage.ledger, upto))
        while page := list(islice(facts, BATCH)):
            lost = _follow(stores, replay, stores.vectors, [fact for _, fact in page]) or lost
            upto = page[-1][0]
            position.write(upto)
    else:
        if upto is not None and stores.vectors.superseded():
            raise LostLeaseError("Another home has changed over to another embedding model.")
        try:
            replay.vectors_anew(stores)
        except (MissingError, CorruptError) as error:
            lost = error
        stores.vectors.erase([], [])  # leave no trace of what other homes purged
        position.write(bound)
    if lost is not None:
        raise lost


def _follow(stores: Stores, replay: Replay, vectors: Vectors, facts: list[Fact]) -> MissingError | CorruptError | None:
    """Carry out the facts; return the last error about an object that one of them needs and that is lost, else None."""
    replayed = replay.in_vectors(stores, vectors)
    perhaps_gone: set[str] = set()
    for fact in facts:
        replayed.replay(fact)
        for doc_id in _left(fact):
            try:
                perhaps_gone |= replay.concepts_decided(stores, doc_id)
            except (MissingError, CorruptError) as error:
                replayed.lost = error
        if isinstance(fact, ConceptsMerged):
            perhaps_gone |= set(fact.others)
        elif isinstance(fact, ForgettingDone):
            perhaps_gone |= set(fact.concepts)
            if fact.purge:  # nothing says any more which concepts the purged documents had
                perhaps_gone |= {row.item for row in vectors.fetch(Filter(kind="concept"))}
    replayed.carry_out()
    for model in sorted(replayed.other_models):
        replay.lacking(model)
    perhaps_gone |= replayed.founded
    gone = unindex(stores, (), perhaps_gone)
    for fact in facts:
        if isinstance(fact, ForgettingDone) and fact.purge:
            vectors.erase(fact.doc_ids, sorted(gone | set(fact.concepts)))
    return replayed.lost


def _left(fact: Fact) -> tuple[str, ...]:
    """Return the documents whose concepts may have left the graph with them."""
    match fact:
        case DocumentRead():
            return (*fact.superseded, fact.doc_id) if fact.superseded else ()
        case DocumentForgotten():
            return (fact.doc_id,)
        case ForgettingDone():
            return fact.doc_ids if fact.cascade != "none" else ()
        case _:
            return ()
