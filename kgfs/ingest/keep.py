"""Keep: a flush after writes makes bytes and fact durable, or raises, before ``close()`` returns."""

from __future__ import annotations

import time
from dataclasses import replace

from kgfs.domain import Place
from kgfs.errors import MissingError
from kgfs.failpoints import border
from kgfs.ingest.content import SpoolFile
from kgfs.ingest.spool import WorkingCopies, WorkingCopy
from kgfs.stores.journal.facts import ContentKept


def keep(copies: WorkingCopies, copy: WorkingCopy, session: str) -> bool:
    """Whether there was anything to keep: nothing was written since the last flush, or the name is gone, and nothing
    is recorded. FullError, StoreError or DuplicateError leave the name with the bytes of its last successful flush; the working copy
    still has the new ones, so a later flush can succeed. Small contents cost one sync, larger ones an
    fsync of the spool file before it."""
    journal = copies.stores.journal
    with copy.lock:
        if not copy.dirty:
            return False
        before = journal.names.name(copy.name_id)
        if before is None:
            return False
        now = time.time_ns()
        kept = copy.settle_down()
        sums = copy.sums()
        copies.admit(before, sums.sha256 if sums.size else "", sums.size)
        inbox: dict[str, bytes] = {}
        place, key = Place.NONE, ""
        if isinstance(kept, SpoolFile):
            place, key = Place.SPOOL, kept.path.name
            copies.remember(sums)
        elif kept:
            place, inbox = Place.INBOX, {sums.sha256: kept}
        sha256 = sums.sha256 if sums.size else ""
        fact = ContentKept(copy.name_id, sha256, sums.size, place, key, copy.mtime, now)
        try:
            journal.record(fact, inbox=inbox, session=session)
        except MissingError:
            if journal.names.name(copy.name_id) is None:
                return False
            raise
        after = replace(
            before, sha256=sha256, size=sums.size, place=place, key=key, mtime=copy.mtime, ctime=now, settled=False
        )
        copy.kept(after)
    border("kept")
    copies.leave(before, after)
    return True
