"""One open file of documents/: what the tree's handles do."""

from __future__ import annotations

from kgfs.ingest.keeping.keep import keep, keep_at_once
from kgfs.ingest.keeping.spool import NOTHING, WorkingCopies, WorkingCopy
from kgfs.stores.blocking import WouldBlock, blocks, is_inline
from kgfs.stores.journal.contract import Pending
from kgfs.stores.journal.pending import Awaited


class OpenFile:
    """Calls may come from several threads in turn; several open files of one name share its working copy."""

    def __init__(
        self, copies: WorkingCopies, copy: WorkingCopy, session: str, *, writing: bool, append: bool, keep_cache: bool
    ) -> None:
        self.keep_cache = keep_cache
        """Whether what was read of this file before is what would be read now."""
        self._copies = copies
        self._copy = copy
        self._session = session
        self._writing = writing
        self._append = append
        self._released = False

    def read(self, offset: int, length: int) -> bytes:
        """What is in memory, and nobody can change, at any time, also while others read; else *blocks*. RotError where the kept
        bytes are damaged."""
        found = self._copy.at_hand(offset, length)
        if found is None:
            blocks()
            found = self._copy.read(offset, length)
        return found

    def write(self, offset: int, data: bytes) -> int:
        """How many bytes were written, at the end of the file if it was opened to append. *Blocks*, unless it touches memory only
        and nobody must be waited for."""
        at = None if self._append else offset
        written = self._copy.write_at_once(at, data)
        if written is None:
            blocks()
            written = self._copy.write(at, data)
        return written

    def truncate(self, size: int) -> None:
        self._copy.truncate(size)

    def flush(self) -> Pending:
        """What was written since the last flush, through whichever open file of the name, is durable, or is when what is
        returned is, for which the event loop waits. FullError or StoreError if it is not; then the name has the bytes of its
        last flush once the last writer is released. *Blocks*, where more is to be waited for."""
        if not self._writing:
            return NOTHING
        if not is_inline():
            self._keep()
            return NOTHING
        if self._copies.elsewhere is not None:
            return Awaited(self._keep)
        pending = keep_at_once(self._copies, self._copy, self._session)
        if pending is None:
            raise WouldBlock
        return pending

    def sync(self) -> None:
        """As ``flush``; name and attributes are durable, too."""
        if not self._keep():
            self._copies.stores.journal.sync()

    def _keep(self) -> bool:
        return self._writing and keep(self._copies, self._copy, self._session)

    def release(self) -> None:
        """Flushes again, since writes through a memory map come after the last close(). What a server refused, or was not
        there to take, is not offered again: whoever closed was told. Idempotent. *Blocks*, where somebody must be waited for."""
        if self._released:
            return
        self._released = self._copies.release_at_once(self._copy, writing=self._writing)
        if self._released:
            return
        blocks()
        self._released = True
        try:
            if not self._copy.refused:
                self._keep()
        finally:
            self._copies.release(self._copy, writing=self._writing)
