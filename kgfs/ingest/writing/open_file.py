"""One open file of documents/: the operations of the tree's file handles."""

from __future__ import annotations

from kgfs.ingest.storing.keep import keep, keep_nowait
from kgfs.ingest.storing.spool import NOTHING, WorkingCopies, WorkingCopy
from kgfs.stores.blocking import WouldBlock, blocks, is_inline
from kgfs.stores.catalog.pending import Pending


class OpenFile:
    """An open file. Several threads may call in turn. All open files of one name share its working copy."""

    def __init__(
        self, copies: WorkingCopies, copy: WorkingCopy, session: str, *, writing: bool, append: bool, keep_cache: bool
    ) -> None:
        self.keep_cache = keep_cache
        """Whether the kernel's cached pages of the file are still what a read would return."""
        self._copies = copies
        self._copy = copy
        self._session = session
        self._writing = writing
        self._append = append
        self._released = False

    def read(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset`` on. Raise CorruptError where the kept bytes are damaged.

        Bytes in memory that no writer can change are returned at any time, also while other threads read. *Blocks*
        otherwise.
        """
        found = self._copy.cached(offset, length)
        if found is None:
            blocks()
            found = self._copy.read(offset, length)
        return found

    def write(self, offset: int, data: bytes) -> int:
        """Write ``data`` at ``offset``, or at the end if the file was opened to append; return the number of bytes.

        *Blocks*, unless the write touches memory only and no lock must be waited for.
        """
        at = None if self._append else offset
        written = self._copy.write_nowait(at, data)
        if written is None:
            blocks()
            written = self._copy.write(at, data)
        return written

    def truncate(self, size: int) -> None:
        """Set the length to ``size`` bytes."""
        self._copy.truncate(size)

    def flush(self) -> Pending:
        """Make everything durable that was written since the last flush, through any open file of the name.

        It is durable when this returns, or, where the event loop calls, when the returned Pending is, for which the
        event loop waits. Raise NoSpaceError or StoreError if it cannot be made durable; then the name has the bytes of
        its last flush once the last writer is released. *Blocks*, where more than the Pending is to be waited for.
        """
        if not self._writing:
            return NOTHING
        if not is_inline():
            self._keep()
            return NOTHING
        pending = keep_nowait(self._copies, self._copy, self._session)
        if pending is None:
            raise WouldBlock
        return pending

    def sync(self) -> None:
        """Flush, and make name and attributes durable, too."""
        if not self._keep():
            self._copies.stores.catalog.sync()

    def _keep(self) -> bool:
        return self._writing and keep(self._copies, self._copy, self._session)

    def release(self) -> None:
        """Release the handle. Flush first, since writes through a memory map come after the last close(). Idempotent.

        *Blocks*, where a lock or a flush must be waited for.
        """
        if self._released:
            return
        self._released = self._copies.release_nowait(self._copy, writing=self._writing)
        if self._released:
            return
        blocks()
        self._released = True
        try:
            self._keep()
        finally:
            self._copies.release(self._copy, writing=self._writing)
