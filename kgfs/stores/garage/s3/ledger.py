"""The ledger in a bucket. See :mod:`.pieces` for its objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Lock

from kgfs.errors import AWAY, CorruptError, MissingError, OvertakenError, StoreError, TimedOutError
from kgfs.stores import timing
from kgfs.stores.garage.contract import Segment, SegmentReader
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.pieces import (
    LAST,
    PATIENCE,
    SEGMENT,
    Damaged,
    Piece,
    chain,
    entries_name,
    fence_name,
    intact,
    last_of,
    listed,
    listed_merged,
    merge,
    read,
)
from kgfs.stores.garage.segments import check_entries, encode_line

MERGE_EVERY = 64
"""The number of appends of one ledger object after which it merges small pieces."""
LIST_AFTER = 8
"""The number of polls of :meth:`S3Ledger.beyond` of which one lists the pieces. The others only look for the name of
the next piece, which is not found after that piece was merged."""


class S3Ledger:
    """A ledger in a bucket. An append is one conditional put per segment, stored wholly or not at all, so there are
    no torn tails.

    One home writes it at a time; its processes do not wait for one another. A writer that finds its number taken reads
    the end of the ledger again. If other entries are stored under its numbers, it raises OvertakenError, a StoreError,
    or NotOwnerError if another home has taken over.
    """

    def __init__(
        self,
        bucket: Bucket,
        segment: int = SEGMENT,
        merge_every: int = MERGE_EVERY,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        """``confirm`` raises NotOwnerError if another home has the right to write here; it is called before each
        append and repair."""
        self._bucket = bucket
        self._confirm = confirm
        self._segment = segment
        self._merge_every = merge_every
        self._lock = Lock()
        """Serialises the appends of this object."""
        self._known = 0
        """The number of an entry that is stored. There may be later ones."""
        self._loose = 0
        self._polls = 0
        self._segments: list[Segment] = []
        self._list_after = 0.0

    # ------------------------------------------------------------------------------------------- writing

    def append(self, first_seq: int, entries: Sequence[bytes]) -> int:
        check_entries(first_seq, entries)
        self._confirm()
        try:
            return self._append(first_seq, entries)
        except OvertakenError:
            self._confirm()  # another home took over in between: say so
            raise

    def _append(self, first_seq: int, entries: Sequence[bytes]) -> int:
        with self._lock:
            last = self._known
            if not entries or first_seq <= last or first_seq > last + 1:
                last = self.last_seq()
            while True:
                if first_seq > last + 1:
                    raise StoreError(
                        f"the ledger {self._bucket.place.shown} ends with entry {last}, so {first_seq} cannot follow: "
                        "entries between are lost. Restore the home from a backup (kgfs restore)."
                    )
                kept = min(last - first_seq + 1, len(entries))
                self._same(first_seq, entries[:kept])
                if kept == len(entries):
                    return last
                room = self._segment - last % self._segment
                if self._put(last + 1, entries[kept : kept + room]):
                    last += min(room, len(entries) - kept)
                    self._known, self._list_after = last, 0.0
                    first_seq, entries = last + 1, entries[kept + room :]
                    self._merge_sometimes(last)
                    if not entries:
                        return last
                else:
                    last = self.last_seq()

    def _put(self, first: int, entries: Sequence[bytes]) -> bool:
        """Put the entries, and return whether they are the ones that are stored under their numbers now. If not,
        another writer was quicker."""
        raw = b"".join(encode_line(seq, entry) for seq, entry in enumerate(entries, first))
        name = entries_name(first)
        if not self._bucket.put(name, raw, {LAST: str(first + len(entries) - 1)}):
            return False
        # The name may be free because the piece that had it was merged meanwhile. Then the merged piece takes
        # precedence over these entries.
        merged = listed_merged(self._bucket, first - 1, self._segment)
        if any(piece.first <= first <= piece.last for piece in merged):
            self._bucket.delete(name)
            return False
        return True

    def fence(self, entry: bytes) -> int:
        """Append ``entry`` at the next free number, whoever appends meanwhile, and return the number.

        The name of this piece stays taken for good: a writer that knows the ledger only up to the entry before can
        never append again, however late its request arrives. Repeatable after a kill, at a later number.
        """
        self._confirm()
        with self._lock:
            while True:
                last = self.last_seq()
                self.keep_piece(last + 1)
                if self._put(last + 1, [entry]):
                    self._known = last + 1
                    return last + 1

    def keep_piece(self, first: int) -> None:
        """Have the piece that begins with entry ``first`` never deleted by a merge."""
        self._bucket.put(fence_name(first), b"", {})

    def _same(self, first_seq: int, entries: Sequence[bytes]) -> None:
        """Raise OvertakenError if other entries are stored under these numbers."""
        if not entries:  # the usual case: else the previous piece would be read to its end for nothing
            return
        kept = self.replay(first_seq - 1)
        for (seq, found), entry in zip(kept, entries, strict=False):
            if found != entry:
                raise OvertakenError(
                    f"the ledger {self._bucket.place.shown} has another entry {seq}: something else writes to this prefix. "
                    "Give each home a garage.prefix of its own."
                )

    def _merge_sometimes(self, last: int) -> None:
        """Merge pieces after every :data:`MERGE_EVERY` appends, and when a segment is full. Failures are left to the
        next merge."""
        self._loose += 1
        full = last % self._segment == 0
        if self._loose < self._merge_every and not full:
            return
        self._loose = 0
        try:
            merge(self._bucket, (last - 1) // self._segment * self._segment, self._segment)
        except (MissingError, StoreError, TimedOutError):
            pass  # the append itself succeeded; the next one merges

    # ------------------------------------------------------------------------------------------- reading

    def last_seq(self) -> int:
        for attempt in range(PATIENCE):
            last = self._known
            for piece in chain(*listed(self._bucket, last, self._segment), last):
                try:
                    last = max(last, piece.last or last_of(self._bucket, piece))
                except MissingError:
                    if attempt == PATIENCE - 1:
                        raise
                    break
            else:
                self._known = max(self._known, last)
                return last
        raise AssertionError

    def beyond(self, seq: int) -> bool:
        try:
            self._bucket.head(entries_name(seq + 1))
        except MissingError:  # no such piece, or merged already
            self._polls += 1
            return self._polls % LIST_AFTER == 0 and self.last_seq() > seq
        return True

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        patience = PATIENCE
        while True:
            try:
                for piece in chain(*listed(self._bucket, after, self._segment), after):
                    for line in read(self._bucket, piece):
                        if line.seq > after:
                            yield line.seq, line.entry
                            after = line.seq
                            patience = PATIENCE
                return
            except MissingError:  # merged after it was listed
                patience -= 1
                if not patience:
                    raise

    def segments(self) -> list[Segment]:
        """Return the segments. What other writers append is visible within a second. While the server is away, return
        the last known segments."""
        now = time.monotonic()
        if now >= self._list_after:
            known = self._segments
            try:
                self._segments, self._list_after = self._list_segments(), now + timing.SEGMENTS_POLL
            except AWAY:
                if not known:
                    raise
                self._list_after = time.monotonic() + timing.SEGMENTS_RETRY
        return self._segments

    def _list_segments(self) -> list[Segment]:
        found: dict[int, list[Piece]] = {}
        for piece in chain(*listed(self._bucket)):
            found.setdefault((piece.first - 1) // self._segment, []).append(piece)
        return [
            Segment(self._name(number), sum(p.size for p in pieces), max(p.changed_at for p in pieces))
            for number, pieces in sorted(found.items())
        ]

    def open_segment(self, name: str) -> SegmentReader:
        if all(segment.name != name for segment in self.segments()):
            raise MissingError(f"{name}: no such segment of the ledger.")
        return S3Segment(self, int(name.partition(".")[0]), self._segment)

    def _name(self, number: int) -> str:
        return f"{number * self._segment + 1:016d}.log"

    # -------------------------------------------------------------------------------------------- repair

    def faults(self) -> list[str]:
        return [f"{found.name}: entries {found.first} to {found.last}" for found in self._damaged()]

    def mend(self, known: Callable[[int], bytes | None]) -> list[int]:
        self._confirm()
        with self._lock:
            damaged = list(self._damaged())
            entries = {seq: known(seq) for found in damaged for seq in found.lost}
            if lost := [seq for seq, entry in entries.items() if entry is None]:
                return lost
            for found in damaged:
                whole = {**found.entries, **{seq: entry for seq in found.lost if (entry := entries[seq])}}
                content = b"".join(encode_line(seq, whole[seq]) for seq in sorted(whole))
                self._bucket.replace(found.name, content, {LAST: str(max(whole))})
            self._known, self._list_after = 0, 0.0
            return []

    def _damaged(self) -> Iterator[Damaged]:
        """Yield the pieces that are corrupt or missing, in order. Read the whole ledger, a piece in memory at a time."""
        after, patience = 0, PATIENCE
        while True:
            entries, merged = listed(self._bucket, after, self._segment)
            try:
                for piece in chain(entries, merged, after):
                    found = intact(self._bucket, piece)
                    after = found.until
                    if found.lost:
                        yield found
                return
            except MissingError:  # merged since it was listed
                patience -= 1
                if not patience:
                    raise
            except CorruptError:  # no piece has the entries up to the next piece
                following = min(piece.first for piece in (*entries, *merged) if piece.first > after + 1)
                yield Damaged(entries_name(after + 1), after + 1, following - 1, {})
                after = following - 1


class S3Segment:
    """A SegmentReader of one segment of a bucket's ledger. It keeps the part of the segment that it has read, and
    reads more from the bucket when a read goes beyond that."""

    def __init__(self, ledger: S3Ledger, first: int, count: int) -> None:
        self._ledger = ledger
        self._seq = first
        """The number of the entry that is read next."""
        self._end = first + count
        self._content = bytearray()

    def read_at(self, offset: int, length: int) -> bytes:
        if offset + length > len(self._content) and self._seq < self._end:
            for seq, entry in self._ledger.replay(self._seq - 1):
                if seq >= self._end:
                    break
                self._content += encode_line(seq, entry)
                self._seq = seq + 1
        return bytes(self._content[offset : offset + length])

    def close(self) -> None:
        self._content.clear()
