"""Ship: facts go from the journal, where they became durable, to the ledger's segments in the garage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

from kgfs.errors import OlderCopyError, StoreError
from kgfs.failpoints import border
from kgfs.stores.garage.contract import Ledger
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.encoding import decode, decode_if
from kgfs.stores.journal.facts import DocumentRead, Fact
from kgfs.stores.readings import load_reading, reading_key
from kgfs.stores.stores import Stores

Entries = Iterator[tuple[int, bytes]]
AT_ONCE = 1000


def ship_once(journal: Journal, ledger: Ledger) -> int:
    """Send what was recorded before this was called and the ledger does not have yet; how many facts. Of what is recorded
    meanwhile perhaps some: beside writers it would never end. Several processes may call: the ledger admits one writer
    at a time and skips what it has, and a crash in between sends the same facts again. OlderCopyError where the journal is
    an older copy than the ledger: what it sent under numbers that are taken would be skipped."""
    due, sent, upto = journal.seq(), 0, 0
    while not sent or upto < due:
        first, entries = journal.unshipped()
        if not entries:
            return sent
        upto = first + len(entries) - 1
        kept = ledger.append(first, entries)
        if kept < upto:
            raise StoreError(f"The ledger took facts up to {kept} only, {upto} were sent.")
        refuse_older(journal, kept)
        border("shipped")
        journal.shipped(upto)
        sent += len(entries)
    return sent


def restore_journal(journal: Journal, ledger: Ledger, seeing: Callable[[Entries], Entries] = iter) -> int:
    """Fill an empty journal from a ledger that has facts; how many. Does nothing where there is nothing to restore. ``seeing``
    passes all of them on, and what it does behind the last is done before the journal has any.
    OlderCopyError where the journal is an older one than the ledger: it would give numbers a second time. Where homes share
    the ledger that is nothing unusual, and its exchange brings what is missing."""
    last = ledger.last_seq()
    here = journal.seq()
    if here == 0 and last:
        return journal.replay(seeing(ledger.replay()))
    if not journal.sharing:
        refuse_older(journal, last)
    return 0


def refuse_older(journal: Journal, last: int) -> None:
    """OlderCopyError where the journal does not go up to the ledger's ``last`` fact."""
    here = journal.seq()
    if here < last:
        raise OlderCopyError(
            f"The names database ends at fact {here}, the ledger at {last}: it is an older copy. "
            "Run kgfs check --repair: it is quarantined and made anew from the ledger. Where other homes use this place in the"
            " bucket, set garage.shared instead."
        )


def entries(journal: Journal, ledger: Ledger, after: int = 0) -> Iterator[bytes]:
    """All facts in order, encoded: from the ledger, behind its fact ``after``, and those it does not have yet from its front."""
    # Asked first: what is shipped while the ledger is read could be missed by both otherwise.
    first, waiting = journal.unshipped(limit=1 << 62)
    for seq, entry in ledger.replay(after):
        if seq >= first:  # the same as what waits, or what other homes did that this one does not know yet
            break
        yield entry
    yield from waiting


def facts_since(journal: Journal, ledger: Ledger, after: int) -> Iterator[tuple[int, Fact]]:
    """``Journal.facts`` above ``after``, which the ledger had when the caller learnt of it, to the end: what the journal does not
    keep any more, also because this takes long, is read from the ledger. Ends early where it has nothing of that."""
    while True:
        page = journal.facts(after, AT_ONCE, confirmed=True)
        before = after
        for seq, fact in _known_in(ledger, after, journal.confirmed()) if page is None else page:
            yield seq, fact
            after = seq
        if after == before:
            return


def _known_in(ledger: Ledger, after: int, upto: int) -> Iterator[tuple[int, Fact]]:
    for seq, entry in takewhile(lambda told: told[0] <= upto, ledger.replay(after)):
        yield seq, decode(entry)


def ever_published(journal: Journal, ledger: Ledger) -> bool:
    """Whether the graph ever showed a document. Reads the ledger up to the first publication."""
    return any(decode_if(entry, DocumentRead) for entry in entries(journal, ledger))


def is_graph_lost(stores: Stores) -> bool:
    """Whether the graph is empty, though a document was shown in it. Not where a worker is just publishing the first document: its
    epoch moves before the publication is noted, so that is asked last."""
    if stores.graph.epoch():
        return False
    return ever_published(stores.journal, stores.garage.ledger) and stores.graph.epoch() == 0


def embedding_model_of(stores: Stores) -> str:
    """The embedding model of the document that was read last; '' where none was, or without one."""
    told = (decode_if(entry, DocumentRead) for entry in entries(stores.journal, stores.garage.ledger))
    published = [found for found in told if found is not None]
    for fact in reversed(published):
        if stores.garage.objects.exists(reading_key(fact.doc_id, fact.reading)):  # of a purged document it is not
            return load_reading(stores.garage.objects, fact.doc_id, fact.reading).embedding_model
    return ""
