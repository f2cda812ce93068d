"""Working copies: what open files read and write until a flush keeps it.

One :class:`WorkingCopy` a name with open handles, shared by them, so that all see what any of them wrote, as on ext4.
Kept content is copied at the first write, never at open; appending to a working copy's own kept spool file goes on in
place, since the kept bytes before it stay as they are. Memory stays flat whatever the size.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Protocol

from kgfs.domain.documents import Name, Place
from kgfs.errors import FileTooLargeError, StoreError
from kgfs.ingest.keeping.content import SMALL, Content, Memory, SpoolFile, is_held, open_content
from kgfs.settings import LARGEST_FILE
from kgfs.stores.aside import WaitingLock
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.journal.contract import Pending
from kgfs.stores.journal.facts import ContentKept
from kgfs.stores.journal.pending import Durable
from kgfs.stores.stores import Stores

NOTHING: Pending = Durable()
"""Is waited for."""
SEEN = 20_000
"""Names whose last opened bytes are remembered."""


class Elsewhere(Protocol):
    """Takes contents to where a flush wants them beside this machine. Any number of threads; both wait for a server."""

    def bring(self, fact: ContentKept) -> None:
        """Before a fact is recorded. Its error ends the flush."""
        ...

    def accept(self, fact: ContentKept) -> None:
        """After it was recorded. Its error ends the flush, and the fact is none."""
        ...


class WorkingCopy:
    """The bytes of one open file. Any number of threads; what is quick never waits for a disk or a lock."""

    def __init__(self, copies: WorkingCopies, name_id: int) -> None:
        self.name_id = name_id
        self.handles = 0
        self.writers = 0
        self.lock = WaitingLock()
        """Held by who reads, too, which may be from the bucket."""
        self.dirty = False
        """Whether there is something to keep."""
        self.pending_fact: Pending = NOTHING
        """What was recorded last of what is kept: a flush that finds nothing to keep waits for it, too."""
        self.refused = False
        """Whether what is to be kept could not be taken elsewhere, and nothing was written since."""
        self._copies = copies
        self._row: Name | None = None
        self._content: Content = Memory()
        self._writable = False
        """Whether ``_content`` is this copy's own, to write in."""
        self._size = self._mtime = 0

    # ------------------------------------------------------------------------------ for open files

    def load(self, known: Name | None = None) -> None:
        """Have the bytes of the name as they are kept now. MissingError once the name is gone. ``known`` is its row, read
        just now; what was opened before may have been kept anew since it was read."""
        with self.lock:
            if self.dirty:
                return
            row = known if self._row is None else None
            row = row or self._copies.stores.journal.names.name(self.name_id)
            if self._row is not None and (row is None or _same_bytes(row, self._row)):
                self._row = row or self._row
                return
            row, content = open_content(self._copies.stores, self._copies.spool, self.name_id, row)
            self._take(content, writable=False)
            self._row = row

    def read(self, offset: int, length: int) -> bytes:
        with self.lock:
            return self._content.read_at(offset, length)

    def at_hand(self, offset: int, length: int) -> bytes | None:
        """What ``read`` would return, where it is in memory and nobody can change it. Quick, and takes no lock."""
        content = self._content
        return None if self._writable else content.at_hand(offset, length)

    def write(self, offset: int | None, data: bytes) -> int:
        """All of ``data`` at ``offset``, or with None at the end; or FullError, or FileTooLargeError. How many bytes."""
        with self.lock:
            at = self._content.size if offset is None else offset
            self._copies.check_size(at + len(data))
            content = self._own(lowest=at, carry=self._content.size, size=max(self._content.size, at + len(data)))
            content.write_at(at, data)
            self._touch()
            return len(data)

    def write_at_once(self, offset: int | None, data: bytes) -> int | None:
        """The same where it touches memory only and nobody must be waited for; else None. Quick."""
        if not self.lock.at_once():
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
        """FileTooLargeError at once, and FullError, where it may not get so long; then it is as long as before."""
        self._copies.check_size(size)
        with self.lock:
            carry = min(size, self._content.size)
            self._own(lowest=carry, carry=carry, size=size).truncate(size)
            self._touch()

    @property
    def pending(self) -> tuple[int, int] | None:
        """Size and mtime of what is not kept yet. Quick. Whoever shows them together with a row asks for these first:
        a flush in between then changes nothing, while asked second it would hide the new size from an old row."""
        return (self._size, self._mtime) if self.dirty else None

    @property
    def row(self) -> Name | None:
        """The name as it was last seen, for those who have the file open when it is gone. Quick."""
        return self._row

    def attributes_set(self, row: Name, *, mtime: bool) -> None:
        """With ``mtime`` that of ``row`` wins over the times of the writes before."""
        self._row = row
        if mtime:
            self._mtime = row.mtime

    # -------------------------------------------------------------------------------- for keeping

    def sums(self) -> Sums:
        content = self._content
        return content.sums() if isinstance(content, SpoolFile) else sums_of(content.read_at(0, content.size))

    @property
    def mtime(self) -> int:
        """Of the last write, or what it was set to since."""
        return self._mtime

    @property
    def sha256(self) -> str:
        """Of the bytes that are kept."""
        return self._row.sha256 if self._row else ""

    def settle_down(self) -> SpoolFile | bytes:
        """What is to be kept, in the form it is kept in: small contents as bytes, others as their spool file, synced."""
        content = self._content
        if isinstance(content, SpoolFile) and content.size > SMALL:
            content.sync()
            return content
        return content.read_at(0, content.size)

    def small(self) -> bytes | None:
        """The same where it is in memory. Quick."""
        content = self._content
        return content.read_at(0, content.size) if isinstance(content, Memory) else None

    def kept(self, row: Name, pending: Pending = NOTHING) -> None:
        """A fact says that the working copy's bytes are the name's; ``row`` is what it says, ``pending`` how far it is."""
        content = self._content
        if isinstance(content, SpoolFile):
            if row.place is Place.SPOOL:
                content.fixed = content.size
            else:
                self._take(Memory(content.read_at(0, content.size)), writable=True)
        self._row = row
        self.pending_fact = pending
        self.dirty = self.refused = False
        self._copies.note_kept(self.name_id, row.sha256)

    # ------------------------------------------------------------------------------------- inside

    def _touch(self) -> None:
        self._size = self._content.size
        self._mtime = time.time_ns()
        self.dirty, self.refused = True, False
        self._copies.moved()

    def _own(self, *, lowest: int, carry: int, size: int) -> Memory | SpoolFile:
        """A content to write in from ``lowest`` on, with the first ``carry`` bytes of the present one; it will be
        ``size`` bytes long."""
        content = self._content
        if self._writable and isinstance(content, Memory) and size <= SMALL:
            return content
        if self._writable and isinstance(content, SpoolFile) and lowest >= content.fixed:
            return content
        own: Memory | SpoolFile
        if size <= SMALL:
            own = Memory(content.read_at(0, carry) if carry else b"")  # what is cut off may be away, or far
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
        """The last writer is gone. What it could not keep is given up, unless the name is gone and readers are all
        that is left of it. What is kept may now go to the garage, so it is not written in place any more."""
        self._writable = False
        if self.dirty and self._copies.stores.journal.names.name(self.name_id) is not None:
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
    """The working copies of one process."""

    def __init__(
        self,
        stores: Stores,
        spool: Path,
        session: str,
        admit: Callable[[Name, str, int], None] | None = None,
        max_file: int = LARGEST_FILE,
    ) -> None:
        """``max_file`` is how many bytes a file may have. ``admit``, if any, is asked at each flush whether a name may have bytes of that SHA-256 and size; its error ends
        the flush."""
        self.stores = stores
        self.spool = spool
        self.admit = admit
        self._max_file = max_file
        self.elsewhere: Elsewhere | None = None
        """Where a flush waits for more than this machine's disk."""
        self.generation = 0
        """Moves whenever size or times of an open file may have changed."""
        self.times_kept = 0
        """Contents that a fact was recorded of so far."""
        self._generations = count(1)
        self._session = session
        self._lock = threading.Lock()
        self._copies: dict[int, WorkingCopy] = {}
        self._sums: OrderedDict[str, Sums] = OrderedDict()
        self._left: set[str] = set()
        self._seen: OrderedDict[int, str] = OrderedDict()

    def check_size(self, size: int) -> None:
        """FileTooLargeError where no file may have so many bytes. Quick."""
        if size > self._max_file:
            raise FileTooLargeError(
                f"{size} bytes are more than a file may have: {self._max_file} (the setting tree.max_file)."
            )

    def acquire(self, name_id: int, *, writing: bool, known: Name | None = None) -> WorkingCopy:
        """Counts one more handle; every call wants its :meth:`release`. MissingError if there is no such file. ``known`` as
        with :meth:`WorkingCopy.load`."""
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

    def acquire_at_once(self, name_id: int, known: Name | None = None) -> WorkingCopy | None:
        """The same for a reader; None where somebody must be waited for. Quick."""
        with self._lock:
            copy = self._copies.get(name_id) or WorkingCopy(self, name_id)
            if copy.writers or not copy.lock.at_once():
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

    def release_at_once(self, copy: WorkingCopy, *, writing: bool) -> bool:
        """Whether a handle was released without waiting for anybody; a writer's only with nothing left to keep. Quick."""
        if not copy.lock.at_once():
            return False
        try:
            if writing and copy.dirty:
                return False
            self.release(copy, writing=writing)
        finally:
            copy.lock.release()
        return True

    def release(self, copy: WorkingCopy, *, writing: bool) -> None:
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
        """Quick."""
        return self._copies.get(name_id)

    def being_written(self, name_id: int) -> bool:
        """Here, by this process. Quick."""
        copy = self._copies.get(name_id)
        return copy is not None and copy.writers > 0

    def held(self, name: Name) -> bool:
        """Whether somebody may still write to the spool file that ``name`` speaks of, here or in another process."""
        return name.place is Place.SPOOL and is_held(self.spool / name.key)

    def moved(self) -> None:
        """What an open file shows has changed."""
        self.generation = next(self._generations)

    def fresh_path(self) -> Path:
        """A name that tells whose it is, so that what a dead session left over can be told from work under way."""
        return self.spool / f"{self._session}-{secrets.token_hex(8)}"

    def seen(self, copy: WorkingCopy) -> bool:
        """Whether the kept bytes are those of the name's last open file here: what the kernel has read is right still."""
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
        with self._lock:
            self.times_kept += 1
            if name_id in self._seen:
                self._seen[name_id] = sha256

    def forget_seen(self, name_id: int) -> None:
        with self._lock:
            self._seen.pop(name_id, None)

    def leave(self, before: Name, after: Name | None = None) -> None:
        """The place where ``before`` had its bytes is not the name's any more. Open files go on reading them."""
        if before.place is Place.SPOOL and (after is None or after.key != before.key):
            (self.spool / before.key).unlink(missing_ok=True)
        elif before.place is Place.INBOX and (after is None or after.sha256 != before.sha256):
            with self._lock:
                self._left.add(before.sha256)

    def drop_left(self) -> None:
        """Remove the inbox rows that were left: together, since each removal costs a sync."""
        with self._lock:
            left, self._left = self._left, set()
        if left:
            self.stores.journal.drop_inbox(sorted(left))

    def remember(self, sums: Sums) -> None:
        """So that the garage need not read again what was hashed on the way in."""
        with self._lock:
            self._sums[sums.sha256] = sums
            while len(self._sums) > 256:
                self._sums.popitem(last=False)

    def remembered(self, sha256: str) -> Sums | None:
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
