"""Working copies: what open files read and write until a flush keeps it.

There is one :class:`WorkingCopy` per name with open handles. The handles share it, so each sees what any of them
wrote, as on ext4. Kept content is copied at the first write, never at open. Appending to a working copy's own kept
spool file goes on in place, since the kept bytes before it stay as they are. Memory stays flat whatever the size.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from pathlib import Path

from kgfs.domain.documents import Name, StorageTier
from kgfs.errors import FileTooLargeError, StoreError
from kgfs.ingest.storing.content import SMALL, Content, Memory, open_content
from kgfs.settings import LARGEST_FILE
from kgfs.stores.catalog.pending import Durable, Pending
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.spool_file import SpoolFile, is_held
from kgfs.stores.stores import Stores
from kgfs.stores.thread_slots import WaitingLock

NOTHING: Pending = Durable()
"""A Pending that is durable already."""
SEEN = 20_000
"""Number of names whose last opened content is remembered."""


class WorkingCopy:
    """The bytes of one open file. Any number of threads may call. Methods that are marked quick wait for no disk and
    no lock."""

    def __init__(self, copies: WorkingCopies, name_id: int) -> None:
        self.name_id = name_id
        self.handles = 0
        self.writers = 0
        self.lock = WaitingLock()
        """Held by readers, too, and a reader may be waiting for the bucket."""
        self.dirty = False
        """Whether there are bytes that are not kept yet."""
        self.pending_fact: Pending = NOTHING
        """The last recorded fact of the kept bytes. A flush that finds nothing to keep waits for it, too."""
        self._copies = copies
        self._row: Name | None = None
        self._content: Content = Memory()
        self._writable = False
        """Whether ``_content`` belongs to this copy alone and may be written."""
        self._size = self._mtime = 0

    # ------------------------------------------------------------------------------ for open files

    def load(self, known: Name | None = None) -> None:
        """Have the bytes of the name as they are kept now. Do nothing while there are unkept bytes.

        ``known`` is the name's row, if the caller has just read it. It is used by the first load only: for a copy
        that was loaded before, the bytes may have been kept anew since ``known`` was read. Raise MissingError if the
        name is gone.
        """
        with self.lock:
            if self.dirty:
                return
            row = known if self._row is None else None
            row = row or self._copies.stores.catalog.names.name(self.name_id)
            if self._row is not None and (row is None or _same_bytes(row, self._row)):
                self._row = row or self._row
                return
            row, content = open_content(self._copies.stores, self._copies.spool, self.name_id, row)
            self._take(content, writable=False)
            self._row = row

    def read(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset`` on. Waits for the lock, and may wait for a server."""
        with self.lock:
            return self._content.read_at(offset, length)

    def cached(self, offset: int, length: int) -> bytes | None:
        """Return what ``read`` would return if it is in memory and no writer can change it, else None. Quick; takes
        no lock."""
        content = self._content
        return None if self._writable else content.cached(offset, length)

    def write(self, offset: int | None, data: bytes) -> int:
        """Write all of ``data`` at ``offset``, or at the end if that is None; return the number of bytes.

        Raise NoSpaceError or FileTooLargeError, with nothing written.
        """
        with self.lock:
            at = self._content.size if offset is None else offset
            self._copies.check_size(at + len(data))
            content = self._own(lowest=at, carry=self._content.size, size=max(self._content.size, at + len(data)))
            content.write_at(at, data)
            self._touch()
            return len(data)

    def write_nowait(self, offset: int | None, data: bytes) -> int | None:
        """Write as :meth:`write` does if that touches memory only and no lock must be waited for; else return None.
        Quick."""
        if not self.lock.acquire_nowait():
            return None
        try:
            content = self._content
            at = content.size if offset is None else offset
            if not isinstance(content, Memory) or max(content.size, at + len(data)) > SMALL:
                return None
            return self.write(at, data)
        finally:
            self.lock.release()

    def truncate(self, size: int) -> None:
        """Set the length to ``size`` bytes.

        Raise FileTooLargeError, before anything else, or NoSpaceError where the file may not get so long; then its
        length stays.
        """
        self._copies.check_size(size)
        with self.lock:
            carry = min(size, self._content.size)
            self._own(lowest=carry, carry=carry, size=size).truncate(size)
            self._touch()

    @property
    def pending(self) -> tuple[int, int] | None:
        """Return size (bytes) and mtime (nanoseconds) of the bytes that are not kept yet; None if there are none. Quick.

        A caller that shows them together with a row reads them first. A flush in between then changes nothing. Read
        second, they would be gone, and the old row would be shown with its old size.
        """
        return (self._size, self._mtime) if self.dirty else None

    @property
    def row(self) -> Name | None:
        """Return the name's row as it was last seen, for handles that stay open when the name is gone. Quick."""
        return self._row

    def attributes_set(self, row: Name, *, mtime: bool) -> None:
        """Take over the row of a name whose attributes were set. With ``mtime`` its mtime replaces the time of the
        writes before."""
        self._row = row
        if mtime:
            self._mtime = row.mtime

    # -------------------------------------------------------------------------------- for keeping

    def sums(self) -> Sums:
        """Return SHA-256 and block sums of the present bytes. Quick for bytes in memory or those that were written in
        order."""
        content = self._content
        return content.sums() if isinstance(content, SpoolFile) else sums_of(content.read_at(0, content.size))

    @property
    def mtime(self) -> int:
        """Return the time of the last write in nanoseconds, or the time that was set since."""
        return self._mtime

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the kept bytes; '' if there are none."""
        return self._row.sha256 if self._row else ""

    def settle_down(self) -> SpoolFile | bytes:
        """Return the bytes in the form in which they are kept: up to 64 KiB as bytes, larger ones as their spool
        file, synced."""
        content = self._content
        if isinstance(content, SpoolFile) and content.size > SMALL:
            content.sync()
            return content
        return content.read_at(0, content.size)

    def small(self) -> bytes | None:
        """Return the bytes if they are in memory, else None. Quick."""
        content = self._content
        return content.read_at(0, content.size) if isinstance(content, Memory) else None

    def kept(self, row: Name, pending: Pending = NOTHING) -> None:
        """Note that a fact says that this copy's bytes are the name's. ``row`` is the row by that fact, ``pending``
        its durability."""
        content = self._content
        if isinstance(content, SpoolFile):
            if row.place is StorageTier.SPOOL:
                content.fixed = content.size
            else:
                self._take(Memory(content.read_at(0, content.size)), writable=True)
        self._row = row
        self.pending_fact = pending
        self.dirty = False
        self._copies.note_kept(self.name_id, row.sha256)

    # ------------------------------------------------------------------------------------- inside

    def _touch(self) -> None:
        self._size = self._content.size
        self._mtime = time.time_ns()
        self.dirty = True
        self._copies.moved()

    def _own(self, *, lowest: int, carry: int, size: int) -> Memory | SpoolFile:
        """Return a content that may be written from offset ``lowest`` on, with the first ``carry`` bytes of the
        present content.

        It will be ``size`` bytes long. The present content is reused where that is possible.
        """
        content = self._content
        if self._writable and isinstance(content, Memory) and size <= SMALL:
            return content
        if self._writable and isinstance(content, SpoolFile) and lowest >= content.fixed:
            return content
        own: Memory | SpoolFile
        if size <= SMALL:
            # No byte that is cut off is read: reading may need a server.
            own = Memory(content.read_at(0, carry) if carry else b"")
        else:
            own = SpoolFile.make(self._copies.fresh_path())
            try:
                _pour(content, own, carry)
            except StoreError:
                own.close()
                own.path.unlink()
                raise
        self._take(own, writable=True)
        return own

    def _take(self, content: Content, *, writable: bool) -> None:
        old, self._content, self._writable = self._content, content, writable
        self._size = content.size
        old.close()
        if isinstance(old, SpoolFile) and not old.fixed:
            old.path.unlink(missing_ok=True)

    def _freeze(self) -> None:
        """End writing, after the last writer has released its handle.

        Bytes that the writer could not keep are dropped, unless the name is gone, so that readers which still have
        the file open are all that is left of it. The kept bytes may be moved to the garage from now on, so they are
        not written in place any more.
        """
        self._writable = False
        if self.dirty and self._copies.stores.catalog.names.name(self.name_id) is not None:
            self.dirty = False
            self._row = None
            self._copies.forget_seen(self.name_id)
            self._copies.moved()
            self._take(Memory(), writable=False)
            if self.handles:
                self.load()
        if isinstance(self._content, SpoolFile):
            self._content.let_go()


class WorkingCopies:
    """The working copies of one process. Any number of threads may call."""

    def __init__(
        self,
        stores: Stores,
        spool: Path,
        session: str,
        admit: Callable[[Name, str, int], None] | None = None,
        max_file: int = LARGEST_FILE,
    ) -> None:
        """``max_file`` is the largest size of a file in bytes. ``admit`` is called at each flush with name, SHA-256
        and size of the bytes; an error that it raises ends the flush."""
        self.stores = stores
        self.spool = spool
        self.admit = admit
        self._max_file = max_file
        self.generation = 0
        """A number that changes whenever size or times of an open file may have changed."""
        self.times_kept = 0
        """How many contents were kept so far."""
        self._generations = count(1)
        self._session = session
        self._lock = threading.Lock()
        self._copies: dict[int, WorkingCopy] = {}
        self._sums: OrderedDict[str, Sums] = OrderedDict()
        self._left: set[str] = set()
        self._seen: OrderedDict[int, str] = OrderedDict()

    def check_size(self, size: int) -> None:
        """Raise FileTooLargeError if no file may have ``size`` bytes. Quick."""
        if size > self._max_file:
            raise FileTooLargeError(
                f"{size} bytes are more than a file may have: {self._max_file} (the setting tree.max_file)."
            )

    def acquire(self, name_id: int, *, writing: bool, known: Name | None = None) -> WorkingCopy:
        """Add a handle to the working copy of a name, and load its bytes. Each call needs a :meth:`release`.

        Raise MissingError if there is no such file. ``known`` is as for :meth:`WorkingCopy.load`.
        """
        with self._lock:
            copy = self._copies.setdefault(name_id, WorkingCopy(self, name_id))
            copy.handles += 1
            copy.writers += writing
        try:
            copy.load(known)
        except BaseException:
            self.release(copy, writing=writing)
            raise
        return copy

    def acquire_nowait(self, name_id: int, known: Name | None = None) -> WorkingCopy | None:
        """Add a reader's handle as :meth:`acquire` does; return None where a writer or a lock would have to be waited
        for. Quick."""
        with self._lock:
            copy = self._copies.get(name_id) or WorkingCopy(self, name_id)
            if copy.writers or not copy.lock.acquire_nowait():
                return None
            self._copies[name_id] = copy
            copy.handles += 1
        try:
            copy.load(known)
        except BaseException:
            self.release(copy, writing=False)
            raise
        finally:
            copy.lock.release()
        return copy

    def release_nowait(self, copy: WorkingCopy, *, writing: bool) -> bool:
        """Release a handle if no lock must be waited for, a writer's only if nothing is left to keep; return whether
        it was. Quick."""
        if not copy.lock.acquire_nowait():
            return False
        try:
            if writing and copy.dirty:
                return False
            self.release(copy, writing=writing)
        finally:
            copy.lock.release()
        return True

    def release(self, copy: WorkingCopy, *, writing: bool) -> None:
        """Release a handle. The last writer's release drops the bytes that are not kept, as
        :meth:`WorkingCopy._freeze` says."""
        with copy.lock:
            with self._lock:
                copy.handles -= 1
                copy.writers -= writing
                if copy.handles == 0:
                    del self._copies[copy.name_id]
            try:
                if writing and copy.writers == 0:
                    copy._freeze()
            finally:
                if copy.handles == 0:
                    copy._take(Memory(), writable=False)

    def find(self, name_id: int) -> WorkingCopy | None:
        """Return the working copy of a name with open handles; None if there is none. Quick."""
        return self._copies.get(name_id)

    def being_written(self, name_id: int) -> bool:
        """Return whether a handle of this process has the name open for writing. Quick."""
        copy = self._copies.get(name_id)
        return copy is not None and copy.writers > 0

    def held(self, name: Name) -> bool:
        """Return whether a process, this one or another, may still write to the spool file that ``name`` refers
        to."""
        return name.place is StorageTier.SPOOL and is_held(self.spool / name.key)

    def moved(self) -> None:
        """Note that size or times of an open file may have changed."""
        self.generation = next(self._generations)

    def fresh_path(self) -> Path:
        """Return an unused path in the spool folder. It contains the session, so leftovers of a dead session can be
        told from work under way."""
        return self.spool / f"{self._session}-{secrets.token_hex(8)}"

    def seen(self, copy: WorkingCopy) -> bool:
        """Return whether the kept bytes are those that the name had when this process last opened it, and remember
        them.

        If so, the pages that the kernel has read are valid still.
        """
        with self._lock:
            if copy.dirty:
                return copy.name_id in self._seen
            before = self._seen.get(copy.name_id)
            self._seen[copy.name_id] = copy.sha256
            self._seen.move_to_end(copy.name_id)
            if len(self._seen) > SEEN:
                self._seen.popitem(last=False)
            return before == copy.sha256

    def note_kept(self, name_id: int, sha256: str) -> None:
        """Count a kept content, and remember it as what the kernel's pages of the name hold."""
        with self._lock:
            self.times_kept += 1
            if name_id in self._seen:
                self._seen[name_id] = sha256

    def forget_seen(self, name_id: int) -> None:
        """Forget what the kernel's pages of the name hold."""
        with self._lock:
            self._seen.pop(name_id, None)

    def leave(self, before: Name, after: Name | None = None) -> None:
        """Give up the place where ``before`` had its bytes, unless ``after`` has them there too. Open files go on
        reading them.

        A spool file is deleted at once. An inbox row is noted, and :meth:`drop_left` deletes it.
        """
        if before.place is StorageTier.SPOOL and (after is None or after.key != before.key):
            (self.spool / before.key).unlink(missing_ok=True)
        elif before.place is StorageTier.INBOX and (after is None or after.sha256 != before.sha256):
            with self._lock:
                self._left.add(before.sha256)

    def drop_left(self) -> None:
        """Delete the noted inbox rows, all in one transaction, since each costs a sync."""
        with self._lock:
            left, self._left = self._left, set()
        if left:
            self.stores.catalog.drop_inbox(sorted(left))

    def remember(self, sums: Sums) -> None:
        """Remember the sums of bytes that were hashed when they arrived, so that the garage need not hash them again.
        The last 256 are kept."""
        with self._lock:
            self._sums[sums.sha256] = sums
            while len(self._sums) > 256:
                self._sums.popitem(last=False)

    def remembered(self, sha256: str) -> Sums | None:
        """Return and forget the remembered sums of a content; None if there are none."""
        with self._lock:
            return self._sums.pop(sha256, None)


def _pour(source: Content, goal: SpoolFile, size: int) -> None:
    done = 0
    while done < size:
        piece = source.read_at(done, min(BLOCK, size - done))
        goal.write_at(done, piece)
        done += len(piece)


def _same_bytes(one: Name, other: Name) -> bool:
    return one.sha256 == other.sha256 and one.size == other.size
