"""Bring the index of ``chunk_id``s up to the ledger."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.errors import MissingError
from kgfs.stores.chunk_index import ChunkIndex, ChunkRef
from kgfs.stores.ship import facts_since
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # an index that is up to the ledger needs none of them
    from kgfs.domain.text import Chunk
    from kgfs.stores.catalog.facts import Fact

FACTS_BATCH = 200
"""Facts per transaction. A process that was killed resumes after the last complete transaction."""


def issued(stores: Stores, path: Path, chunk_id: str, check: Callable[[], None] = lambda: None) -> list[ChunkRef]:
    """Return the Sources for which a ``chunk_id`` was issued, from the index at ``path`` brought up to the ledger.

    Raise what :func:`follow_chunks` raises. Blocks.
    """
    with closing(ChunkIndex(path)) as index:
        follow_chunks(stores, index, check)
        return index.find(chunk_id)


def follow_chunks(stores: Stores, index: ChunkIndex, check: Callable[[], None] = lambda: None) -> None:
    """Apply every publication and every purge of the ledger to the index.

    Load each Reading that the index does not know yet, once. A Reading that the garage has lost is skipped. Call
    ``check`` after each transaction, and raise what it raises. Raise UnavailableError or TimedOutError where the bucket
    does not answer; facts that were applied before stay applied.
    """
    upto = stores.catalog.confirmed()
    if index.followed() > upto:  # the home was restored to an earlier state
        index.clear()
    batch: list[tuple[int, Fact]] = []
    for seq, fact in facts_since(stores.catalog, stores.garage.ledger, index.followed()):
        batch.append((seq, fact))
        if len(batch) == FACTS_BATCH:
            _follow(stores, index, batch)
            batch = []
            check()
    if batch:
        _follow(stores, index, batch)


def _follow(stores: Stores, index: ChunkIndex, facts: list[tuple[int, Fact]]) -> None:
    from kgfs.stores.catalog.facts import DocumentRead, DocumentText, ForgettingDone
    from kgfs.stores.readings import load_reading

    published: list[tuple[str, str, int, tuple[Chunk, ...]]] = []
    purged: list[str] = []
    for seq, fact in facts:
        if isinstance(fact, (DocumentRead, DocumentText)):
            try:
                chunks = load_reading(stores.garage.objects, fact.doc_id, fact.reading).chunks
            except MissingError:  # purged since, or lost, which ``kgfs check`` reports
                continue
            published.append((fact.doc_id, fact.reading, seq, chunks))
        elif isinstance(fact, ForgettingDone) and fact.purge:
            purged += fact.doc_ids
            published = [row for row in published if row[0] not in fact.doc_ids]
    index.follow(facts[-1][0], published, purged)
