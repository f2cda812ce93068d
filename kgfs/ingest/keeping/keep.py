"""Keep: a flush after writes makes bytes and fact durable, or raises, before ``close()`` returns."""

from __future__ import annotations

import time
from dataclasses import replace

from kgfs.domain.documents import Name, Place
from kgfs.errors import KgfsError, MissingError
from kgfs.failpoints import border
from kgfs.ingest.keeping.content import SpoolFile
from kgfs.ingest.keeping.spool import NOTHING, WorkingCopies, WorkingCopy
from kgfs.stores.garage.contract import Sums
from kgfs.stores.journal.contract import Pending
from kgfs.stores.journal.facts import ContentKept


def keep(copies: WorkingCopies, copy: WorkingCopy, session: str) -> bool:
    """Whether there was anything to keep: nothing was written since the last flush, or the name is gone, and nothing
    is recorded. FullError, StoreError or DuplicateError leave the name with the bytes of its last successful flush; the working copy
    still has the new ones, so a later flush can succeed. Small contents cost one sync, larger ones an
    fsync of the spool file before it."""
    journal = copies.stores.journal
    with copy.lock:
        if not copy.dirty:
            if copy.pending_fact.durable:
                return False
            journal.sync()
            return True
        before = journal.names.name(copy.name_id)
        if before is None:
            return False
        kept = copy.settle_down()
        sums = copy.sums()
        if copies.admit is not None:
            copies.admit(before, sums.sha256 if sums.size else "", sums.size)
        if isinstance(kept, SpoolFile):
            copies.remember(sums)
        after, inbox = _told(before, copy, kept, sums)
        fact = _fact(after, before, copy.sha256)
        elsewhere = copies.elsewhere
        fixed = kept.hold() if isinstance(kept, SpoolFile) else 0
        try:
            if elsewhere is not None:
                elsewhere.bring(fact)
            journal.record(fact, inbox=inbox, session=session)
            if elsewhere is not None:
                elsewhere.accept(fact)
        except KgfsError as error:
            now = journal.names.name(copy.name_id)
            # Where a sync failed the fact may be true all the same, and the spool file is the name's.
            if isinstance(kept, SpoolFile) and (now is None or now.key != after.key):
                kept.fixed = fixed
            if isinstance(error, MissingError):
                if now is None:
                    return False
                raise
            copy.refused = elsewhere is not None
            raise
        copy.kept(after)
    border("kept")
    copies.leave(before, after)
    return True


def keep_at_once(copies: WorkingCopies, copy: WorkingCopy, session: str) -> Pending | None:
    """As ``keep``, but that it is the caller who waits until what is recorded is durable. None, and nothing was done,
    where more is to be waited for, as with larger contents. Quick."""
    if copies.admit is not None or copies.elsewhere is not None or not copy.lock.at_once():
        return None
    try:
        if not copy.dirty:
            return copy.pending_fact
        journal = copies.stores.journal
        before = journal.names.name(copy.name_id)
        if before is None:
            return NOTHING
        small = copy.small()
        # A spool file that is given up must not go before the fact is durable that says so.
        if small is None or before.place is Place.SPOOL:
            return None
        after, inbox = _told(before, copy, small, copy.sums())
        pending = journal.record_at_once(_fact(after, before, copy.sha256), inbox=inbox, session=session)
        if pending is None:
            return None
        copy.kept(after, pending)
    finally:
        copy.lock.release()
    border("kept")
    copies.leave(before, after)
    return pending


def _told(before: Name, copy: WorkingCopy, kept: SpoolFile | bytes, sums: Sums) -> tuple[Name, dict[str, bytes]]:
    """The name with the bytes that are kept, and what of them goes to the inbox."""
    place, key, inbox = Place.NONE, "", {}
    if isinstance(kept, SpoolFile):
        place, key = Place.SPOOL, kept.path.name
    elif kept:
        place, inbox = Place.INBOX, {sums.sha256: kept}
    sha256 = sums.sha256 if sums.size else ""
    content = replace(before, sha256=sha256, size=sums.size, place=place, key=key, settled=False)
    return replace(content, mtime=copy.mtime, ctime=time.time_ns()), inbox


def _fact(after: Name, before: Name, known: str) -> ContentKept:
    """``known`` is the content that was written on."""
    base = known if known != before.sha256 else None
    return ContentKept(after.id, after.sha256, after.size, after.place, after.key, after.mtime, after.ctime, base)
