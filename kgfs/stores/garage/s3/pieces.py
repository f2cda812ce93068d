"""The objects that make up a ledger in a bucket. Each holds some whole lines (see
:mod:`kgfs.stores.garage.segments`).

``ledger/entries/<first>``
    what one append put, under the number of its first entry. The name is the lock: of two writers that see the same
    end of the ledger, one finds the name taken.
``ledger/merged/<last>-<first>``
    several pieces merged into one, when they became many. A merged piece takes precedence: pieces that claim a
    number it has are ignored.
``ledger/fences/<first>``
    says that the piece ``entries/<first>`` is never deleted: a home that took over began there. The name must stay
    taken, so that a delayed append of the former owner fails.

No piece crosses a multiple of :data:`SEGMENT`. The name of a merged piece begins with its last entry. A merge always
includes the newest pieces, so its result is listed after all the merged pieces that it replaces, and a listing that
runs during a merge misses nothing.

A kill at any point of a merge leaves the same ledger.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgfs.errors import CorruptError, MissingError
from kgfs.failpoints import border
from kgfs.stores.garage.s3.bucket import Bucket, Found
from kgfs.stores.garage.segments import Line, decode_line, encode_line, lines

ENTRIES = "ledger/entries/"
MERGED = "ledger/merged/"
FENCES = "ledger/fences/"
SEGMENT = 8192
"""The number of entries that are shown as one segment, and are merged into one object in the end."""
LAST = "kgfs-last"
"""The metadata field with the number of a piece's last entry."""
PATIENCE = 20
"""The number of times that a reader lists the pieces again because they were merged while it read them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One object of the ledger."""

    name: str
    first: int
    last: int
    """The number of the last entry, or 0 for the newest piece if only reading it can tell."""
    size: int
    changed_at: int
    etag: str = ""
    """The ETag in the listing."""

    @property
    def merged(self) -> bool:
        return self.name.startswith(MERGED)


def entries_name(first: int) -> str:
    """Return the name of the piece of an append whose first entry is ``first``."""
    return f"{ENTRIES}{first:016d}"


def fence_name(first: int) -> str:
    """Return the name of the object that keeps the piece that begins with ``first``."""
    return f"{FENCES}{first:016d}"


def fenced(bucket: Bucket) -> set[str]:
    """Return the names of the pieces that must never be deleted. One listing."""
    return {ENTRIES + found.name.removeprefix(FENCES) for found in bucket.listed(FENCES)}


def merged_name(first: int, last: int) -> str:
    """Return the name of the merged piece with the entries ``first`` to ``last``."""
    return f"{MERGED}{last:016d}-{first:016d}"


def listed(bucket: Bucket, after: int = 0, segment: int = SEGMENT) -> tuple[list[Piece], list[Piece]]:
    """Return (entries, merged): the pieces that hold entries after ``after``, and some earlier ones of the same
    segment."""
    start = after // segment * segment
    # List the entries first: pieces that are merged and removed between the two listings are found in the merged
    # piece.
    entries = [_piece(found) for found in bucket.listed(ENTRIES, after=entries_name(start))]
    return entries, listed_merged(bucket, after, segment)


def listed_merged(bucket: Bucket, after: int = 0, segment: int = SEGMENT) -> list[Piece]:
    """Return the merged pieces of the segment of the entry after ``after``, and of later segments.

    The earlier pieces of the segment are needed, too: a loose piece that begins inside a merged one is ignored,
    however far it reaches beyond the merged one.
    """
    start = after // segment * segment
    return [_piece(found) for found in bucket.listed(MERGED, after=f"{MERGED}{start:016d}~")]


def chain(entries: Sequence[Piece], merged: Sequence[Piece], after: int = 0) -> Iterator[Piece]:
    """Yield the pieces to read one after the other for the entries after ``after``.

    The last piece may hold no such entry. Raise CorruptError if a piece is lost.
    """
    loose = sorted(entries, key=lambda piece: piece.first)
    firsts = [piece.first for piece in loose]
    wide = sorted(merged, key=lambda piece: piece.first)
    starts = sorted({*firsts, *(piece.first for piece in wide)})
    position, at, best = after + 1, 0, Piece("", 0, 0, 0, 0)
    while True:
        while at < len(wide) and wide[at].first <= position:
            best, at = max(best, wide[at], key=lambda piece: piece.last), at + 1
        if best.last >= position:
            yield best
            position = best.last + 1
            continue
        index = bisect_right(firsts, position) - 1
        following = bisect_right(starts, position)
        if index >= 0 and loose[index].first > best.last:
            if following == len(starts):
                yield loose[index]
                return
            yield replace(loose[index], last=starts[following] - 1)
            position = starts[following]
        elif following < len(starts):
            raise CorruptError(
                f"the ledger lacks entries {position} to {starts[following] - 1}. Run kgfs check --repair."
            )
        else:
            return


def read(bucket: Bucket, piece: Piece) -> Iterator[Line]:
    """Yield the lines of a piece. Each line is verified before it is yielded.

    Raise CorruptError for a damaged piece. Raise MissingError if the piece was merged after it was listed, even if
    another writer has taken its name since without knowing that the merged piece takes precedence over its entries.
    """
    found, raw = bucket.get(piece.name)
    if found.etag != piece.etag and not _stands(bucket, piece):
        raise MissingError(f"{bucket.place.shown}: {piece.name} was merged since it was listed.")
    noted = found.meta.get(LAST, "")
    last = piece.last or (int(noted) if noted.isdigit() else 0)
    seq = piece.first - 1
    for line in lines(piece.name, raw, piece.first, last=False):
        seq = line.seq
        yield line
    if seq < piece.first or (last and seq != last):
        raise CorruptError(
            f"ledger segment {piece.name}: entry {seq + 1} is not what was kept. Run kgfs check --repair."
        )


def last_of(bucket: Bucket, piece: Piece) -> int:
    """Return the number of the last entry of a piece. Read the whole piece."""
    return max(line.seq for line in read(bucket, piece))


@dataclass(frozen=True, slots=True)
class Damaged:
    """A piece that is corrupt or missing; also one that is neither, if :attr:`lost` is empty."""

    name: str
    start: int
    until: int
    """The number of the piece's last entry."""
    entries: dict[int, bytes]
    """The intact entries by number."""

    @property
    def lost(self) -> tuple[int, ...]:
        """Return the numbers of the entries that are corrupt or missing."""
        return tuple(seq for seq in range(self.start, self.until + 1) if seq not in self.entries)

    @property
    def first(self) -> int:
        return self.lost[0]

    @property
    def last(self) -> int:
        return self.lost[-1]


def intact(bucket: Bucket, piece: Piece) -> Damaged:
    """Return what is intact of a piece. Raise MissingError if it is gone."""
    found, raw = bucket.get(piece.name)
    noted = found.meta.get(LAST, "")
    last = piece.last or (int(noted) if noted.isdigit() else piece.first + max(0, raw.count(b"\n") - 1))
    good = filter(None, map(decode_line, raw.splitlines(keepends=True)))
    return Damaged(piece.name, piece.first, last, {seq: entry for seq, entry in good if piece.first <= seq <= last})


def _stands(bucket: Bucket, piece: Piece) -> bool:
    """Return whether the piece is still listed with the same ETag. Some servers may give another ETag in listings
    than in answers."""
    return any(found.name == piece.name and found.etag == piece.etag for found in bucket.listed(piece.name, limit=1))


def _piece(found: Found) -> Piece:
    name = found.name.rpartition("/")[2]
    if found.name.startswith(ENTRIES):
        return Piece(found.name, int(name), 0, found.size, found.changed_at, found.etag)
    last, _, first = name.partition("-")
    return Piece(found.name, int(first), int(last), found.size, found.changed_at, found.etag)


def merge(bucket: Bucket, after: int, segment: int) -> None:
    """Merge the newest pieces of the segment that starts after entry ``after``.

    The merge takes all loose pieces, and earlier merged pieces as long as each is at most twice as long as the pieces
    after it together, so that an entry is copied few times. A full segment becomes one object. Raise MissingError or
    CorruptError if another process merges at the same time, or if pieces are damaged; then nothing is changed.
    """
    entries, merged = listed(bucket, after, segment)
    entries = [piece for piece in entries if piece.first <= after + segment]
    merged = [piece for piece in merged if piece.first <= after + segment]
    pieces = list(chain(entries, merged, after))
    inputs = _chosen(pieces, segment, after)
    if len(inputs) > 1 and not inputs[-1].merged:
        raw = [line for piece in inputs for line in read(bucket, piece)]
        first, last = raw[0].seq, raw[-1].seq
        # If a piece was merged meanwhile and its name was taken again, the bytes read are not the ones that count.
        now = listed_merged(bucket, first - 1, segment)
        if [p for p in now if p.first <= last and p.last >= first] != [p for p in merged if p.last >= first]:
            return
        content = b"".join(encode_line(line.seq, line.entry) for line in raw)
        bucket.put(merged_name(first, last), content, {LAST: str(last)})
        border("ledger-merged")
        merged.append(Piece(merged_name(first, last), first, last, len(content), 0))
    covered = _covered(entries, merged)
    kept = fenced(bucket) if covered else set()
    for piece in covered:
        if piece.name not in kept:
            bucket.delete(piece.name)
            border("ledger-piece-removed")


def _chosen(pieces: list[Piece], segment: int, after: int) -> list[Piece]:
    """Return the newest pieces that are to be merged, in order."""
    full = pieces[-1].last == after + segment if pieces else False
    chosen: list[Piece] = []
    size = 0
    for piece in reversed(pieces):
        if piece.merged and piece.size > 2 * size and not full:
            break
        chosen.insert(0, piece)
        size += piece.size
    return chosen


def _covered(entries: list[Piece], merged: list[Piece]) -> list[Piece]:
    """Return the pieces whose entries are all in a merged piece."""
    loose = [piece for piece in entries if any(m.first <= piece.first <= m.last for m in merged)]
    narrow = [p for p in merged if any(m is not p and m.first <= p.first and p.last <= m.last for m in merged)]
    return [*loose, *narrow]
