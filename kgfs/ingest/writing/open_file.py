"""One open file of documents/: the operations of the tree's file handles.

Rows of names that were read lately are cached: a walk over files asks for each row several times within a moment.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from kgfs.domain.documents import Name
from kgfs.ingest.storing.keep import keep, keep_nowait
from kgfs.ingest.storing.spool import NOTHING, WorkingCopies, WorkingCopy
from kgfs.stores.catalog.pending import Pending
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.thread_slots import WouldBlock, blocks, is_inline

MAX_REMEMBERED = 20_000
"""Rows in the cache. When it is full all rows are dropped together."""


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


class RecentNames:
    """A cache of rows for answers that are invalidated when changes are heard of. Answers that are cached by
    ``Catalog.seq`` must be read anew.

    A commit of this process counts at once. A commit of another process counts from the next call of :meth:`heard`,
    which a process that shows names to a kernel makes ten times a second. Before the first such call nothing is
    cached. Any thread may call.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._heard: Hashable | None = None
        self._standing: Hashable = None
        self._rows: dict[int, Name] = {}

    def heard(self, position: Hashable) -> None:
        """Note that changes by other processes are known up to ``position``. Rows read before another position are
        dropped."""
        self._heard = position

    def name(self, name_id: int) -> Name | None:
        """Return the row of a living name; None if there is none. Quick."""
        # The cache is chosen before the row is read: a row from before a change must not get into the cache for the
        # time after it.
        rows = self._current()
        if rows is None:
            return self._catalog.names.name(name_id)
        row = rows.get(name_id)
        if row is None:
            row = self._catalog.names.name(name_id)
            if row is not None:
                _remember(rows, (row,))
        return row

    def children(self, parent: int, after: str, limit: int) -> list[Name]:
        """Return what ``Names.children`` returns, and cache the rows."""
        rows = self._current()
        found = self._catalog.names.children(parent, after, limit)
        if rows is not None:
            _remember(rows, found)
        return found

    def _current(self) -> dict[int, Name] | None:
        if self._heard is None:
            return None
        standing = self._heard, self._catalog.commits
        if standing != self._standing:
            self._rows, self._standing = {}, standing
        return self._rows


def _remember(rows: dict[int, Name], found: Iterable[Name]) -> None:
    for row in found:
        if len(rows) >= MAX_REMEMBERED:
            rows.clear()
        rows[row.id] = row
