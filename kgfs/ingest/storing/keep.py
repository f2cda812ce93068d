"""Keep: a flush after writes makes bytes and fact durable, or raises, before ``close()`` returns."""

from __future__ import annotations

import time
from dataclasses import replace

from kgfs.domain.documents import Name, StorageTier
from kgfs.errors import KgfsError, MissingError
from kgfs.failpoints import border
from kgfs.ingest.storing.spool import NOTHING, WorkingCopies, WorkingCopy
from kgfs.stores.catalog.facts import ContentKept
from kgfs.stores.catalog.pending import Pending
from kgfs.stores.garage.contract import Sums
from kgfs.stores.spool_file import SpoolFile


def keep(copies: WorkingCopies, copy: WorkingCopy, session: str) -> bool:
    """Make the bytes written to a working copy durable, and record a fact of them. Return whether there was anything
    to keep.

    False means that everything was durable already, or that the name is gone; then nothing is recorded. Where the
    last fact was recorded by :func:`keep_nowait` and is not durable yet, this waits for it and returns True. When it
    returns, bytes and fact are durable on this machine.

    Raises NoSpaceError, StoreError or DuplicateError. Then the name has the bytes of its last successful flush, and the working copy still has the new ones, so a later flush can succeed. A small
    content costs one sync, a larger one an fsync of the spool file before it. Any thread may call.
    """
    catalog = copies.stores.catalog
    with copy.lock:
        if not copy.dirty:
            if copy.pending_fact.durable:
                return False
            catalog.sync()
            return True
        before = catalog.names.name(copy.name_id)
        if before is None:
            return False
        kept = copy.settle_down()
        sums = copy.sums()
        if copies.admit is not None:
            copies.admit(before, sums.sha256 if sums.size else "", sums.size)
        if isinstance(kept, SpoolFile):
            copies.remember(sums)
        after, inbox = _row_with(before, copy, kept, sums)
        fixed = kept.hold() if isinstance(kept, SpoolFile) else 0
        try:
            catalog.record(_fact(after), inbox=inbox, session=session)
        except KgfsError as error:
            now = catalog.names.name(copy.name_id)
            # After a failed sync the fact may be recorded all the same. Then the spool file belongs to the name.
            if isinstance(kept, SpoolFile) and (now is None or now.key != after.key):
                kept.fixed = fixed
            if isinstance(error, MissingError) and now is None:
                return False
            raise
        copy.kept(after)
    border("kept")
    copies.leave(before, after)
    return True


def keep_nowait(copies: WorkingCopies, copy: WorkingCopy, session: str) -> Pending | None:
    """Record the written bytes as :func:`keep` does, without waiting for the disk: the caller waits for the returned
    Pending.

    Return None, with nothing done, where more than the disk must be waited for: a larger content, a held lock, or
    a check of each flush (``copies.admit``). Quick, so that an event loop may call it.
    """
    if copies.admit is not None or not copy.lock.acquire_nowait():
        return None
    try:
        if not copy.dirty:
            return copy.pending_fact
        catalog = copies.stores.catalog
        before = catalog.names.name(copy.name_id)
        if before is None:
            return NOTHING
        small = copy.small()
        # The former spool file must not be deleted before the fact that replaces it is durable.
        if small is None or before.place is StorageTier.SPOOL:
            return None
        after, inbox = _row_with(before, copy, small, copy.sums())
        pending = catalog.record_nowait(_fact(after), inbox=inbox, session=session)
        if pending is None:
            return None
        copy.kept(after, pending)
    finally:
        copy.lock.release()
    border("kept")
    copies.leave(before, after)
    return pending


def _row_with(before: Name, copy: WorkingCopy, kept: SpoolFile | bytes, sums: Sums) -> tuple[Name, dict[str, bytes]]:
    """Return the name's row with the kept bytes, and what of the bytes becomes an inbox row (by SHA-256)."""
    place, key, inbox = StorageTier.NONE, "", {}
    if isinstance(kept, SpoolFile):
        place, key = StorageTier.SPOOL, kept.path.name
    elif kept:
        place, inbox = StorageTier.INBOX, {sums.sha256: kept}
    sha256 = sums.sha256 if sums.size else ""
    content = replace(before, sha256=sha256, size=sums.size, place=place, key=key, settled=False)
    return replace(content, mtime=copy.mtime, ctime=time.time_ns()), inbox


def _fact(after: Name) -> ContentKept:
    """Return the fact that ``after`` has its bytes."""
    return ContentKept(after.id, after.sha256, after.size, after.place, after.key, after.mtime, after.ctime)
