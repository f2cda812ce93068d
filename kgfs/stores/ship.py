"""Ship facts from the catalog, where they became durable, to the ledger's segments in the garage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.errors import OlderCopyError, StoreError
from kgfs.failpoints import border
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.garage.contract import Ledger
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # opening a home whose names are known needs no class of fact
    from kgfs.stores.catalog.facts import DocumentRead, Fact

BATCH = 1000
"""Facts that are read from the catalog in one batch."""


def ship_once(catalog: Catalog, ledger: Ledger) -> int:
    """Send the facts to the ledger that were recorded before this call and that the ledger does not have yet; return
    how many were sent.

    Of the facts that are recorded meanwhile some may be sent; not all, since beside busy writers the call would never
    end. Several processes may call at the same time: the ledger admits one writer at a time, and skips the facts that
    it has. After a crash in between the same facts are sent again. Raise OlderCopyError where the catalog is an older
    copy than the ledger: the ledger would skip facts whose numbers are taken. Raise StoreError where the ledger does
    not take all facts.
    """
    due, sent, upto = catalog.seq(), 0, 0
    while not sent or upto < due:
        first, entries = catalog.unshipped()
        if not entries:
            return sent
        upto = first + len(entries) - 1
        kept = ledger.append(first, entries)
        if kept < upto:
            raise StoreError(f"The ledger took facts up to {kept} only, {upto} were sent.")
        refuse_older(catalog, kept)
        border("shipped")
        catalog.shipped(upto)
        sent += len(entries)
    return sent


def ship_from_reserve(home: Path, stores: Stores) -> int:
    """Ship facts as :func:`ship_once` does, if need be from the disk reserve of this home: removals must reach the
    ledger too, and a fact's parts are no larger than a name."""
    return DiskReserve(home).run(lambda: ship_once(stores.catalog, stores.garage.ledger))


def restore_catalog(catalog: Catalog, ledger: Ledger) -> int:
    """Fill an empty catalog from a ledger that has facts; return how many were applied, 0 where there is nothing to
    restore.

    Raise OlderCopyError where the catalog is an older copy than the ledger, since it would assign numbers a second time.
    """
    last = ledger.last_seq()
    here = catalog.seq()
    if here == 0 and last:
        return catalog.replay(ledger.replay())
    refuse_older(catalog, last)
    return 0


def refuse_older(catalog: Catalog, last: int) -> None:
    """Raise OlderCopyError where the catalog does not reach the ledger's fact ``last``."""
    here = catalog.seq()
    if here < last:
        raise OlderCopyError(
            f"The names database ends at fact {here}, the ledger at {last}: it is an older copy. "
            "Run kgfs check --repair: it is quarantined and made anew from the ledger."
        )


def entries(catalog: Catalog, ledger: Ledger, after: int = 0) -> Iterator[bytes]:
    """Yield all facts in order, encoded: those of the ledger after its fact ``after``, then the catalog's that the
    ledger lacks."""
    # The catalog is asked first: a fact that is shipped while the ledger is read could be missed in both otherwise.
    first, waiting = catalog.unshipped(limit=1 << 62)
    for seq, entry in ledger.replay(after):
        if seq >= first:  # one of ``waiting``
            break
        yield entry
    yield from waiting


def facts_since(catalog: Catalog, ledger: Ledger, after: int) -> Iterator[tuple[int, Fact]]:
    """Yield (number, fact) of every fact above ``after``, to the end. The ledger had ``after`` when the caller learnt
    of it.

    Facts that the catalog does not keep any more, also because the caller takes long, are read from the ledger. Ends
    early where the ledger does not have them.
    """
    while True:
        page = catalog.facts(after, BATCH)
        before = after
        for seq, fact in _known_in(ledger, after, catalog.confirmed()) if page is None else page:
            yield seq, fact
            after = seq
        if after == before:
            return


def _known_in(ledger: Ledger, after: int, upto: int) -> Iterator[tuple[int, Fact]]:
    from kgfs.stores.catalog.encoding import decode

    for seq, entry in takewhile(lambda entry: entry[0] <= upto, ledger.replay(after)):
        yield seq, decode(entry)


def ever_published(catalog: Catalog, ledger: Ledger) -> bool:
    """Return whether a document was ever shown in the graph. Reads the ledger up to the first publication."""
    return any(_reads(catalog, ledger))


def _reads(catalog: Catalog, ledger: Ledger) -> Iterator[DocumentRead]:
    from kgfs.stores.catalog.encoding import decode_if
    from kgfs.stores.catalog.facts import DocumentRead

    facts = (decode_if(entry, DocumentRead) for entry in entries(catalog, ledger))
    return (fact for fact in facts if fact is not None)


def is_graph_lost(stores: Stores) -> bool:
    """Return whether the graph is empty although a document was shown in it.

    False while a worker is publishing the first document: the graph's epoch goes up before the publication is
    recorded, so the epoch is read once more at the end.
    """
    if stores.graph.epoch():
        return False
    return ever_published(stores.catalog, stores.garage.ledger) and stores.graph.epoch() == 0


def embedding_model_of(stores: Stores) -> str:
    """Return the embedding model of the document that was read last; '' if there is no such document or it has no
    model. Reads the ledger."""
    from kgfs.stores.readings import load_reading, reading_key

    for fact in reversed([*_reads(stores.catalog, stores.garage.ledger)]):
        if stores.garage.objects.exists(reading_key(fact.doc_id, fact.reading)):  # not if it was purged
            return load_reading(stores.garage.objects, fact.doc_id, fact.reading).embedding_model
    return ""
