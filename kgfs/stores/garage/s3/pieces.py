"""The objects that a ledger in a bucket consists of, each some whole lines (see ``garage.segments``).

``ledger/entries/<first>``
    what one append put, under the number of its first entry. The name alone is the lock: of two writers who believe the
    same to be the end, one finds it taken.
``ledger/merged/<last>-<first>``
    several of those as one, when they got many. It goes before them: where a merged piece has an entry, others that claim
    the number are nothing.

No piece crosses a multiple of :data:`SEGMENT`. Merged names begin with their last entry, so that a merge, which always takes
the newest pieces along, is listed behind all that it replaces: a listing that goes on while pieces are merged misses nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgfs.errors import MissingError, RotError
from kgfs.stores.garage.s3.bucket import Bucket, Found
from kgfs.stores.garage.segments import Line, lines

ENTRIES = "ledger/entries/"
MERGED = "ledger/merged/"
SEGMENT = 8192
"""Entries that are shown as one segment, and end as one object."""
LAST = "kgfs-last"
"""Metadata: the number of a piece's last entry."""
PATIENCE = 20
"""How often pieces are listed again where they were merged under who reads them."""


@dataclass(frozen=True, slots=True)
class Piece:
    name: str
    first: int
    last: int
    """0 for the newest one, if only reading it can tell."""
    size: int
    changed_at: int
    etag: str = ""
    """As it was listed."""

    @property
    def merged(self) -> bool:
        return self.name.startswith(MERGED)


def entries_name(first: int) -> str:
    return f"{ENTRIES}{first:016d}"


def merged_name(first: int, last: int) -> str:
    return f"{MERGED}{last:016d}-{first:016d}"


def listed(bucket: Bucket, after: int = 0, segment: int = SEGMENT) -> tuple[list[Piece], list[Piece]]:
    """(entries, merged) that hold entries behind ``after``; also some before it, of the same segment."""
    start = after // segment * segment
    # Entries first: those that are merged and removed in between are found in what they were merged to.
    entries = [_piece(found) for found in bucket.listed(ENTRIES, after=entries_name(start))]
    return entries, listed_merged(bucket, after, segment)


def listed_merged(bucket: Bucket, after: int = 0, segment: int = SEGMENT) -> list[Piece]:
    """All of the segment of the entry behind ``after``, and later ones: a piece that starts in one of them is nothing, however
    far beyond it reaches."""
    start = after // segment * segment
    return [_piece(found) for found in bucket.listed(MERGED, after=f"{MERGED}{start:016d}~")]


def chain(entries: Sequence[Piece], merged: Sequence[Piece], after: int = 0) -> Iterator[Piece]:
    """The pieces to be read one behind the other for what follows entry ``after``; RotError where one is lost. The last
    of them may hold nothing that follows."""
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
            raise RotError(f"the ledger lacks entries {position} to {starts[following] - 1}. Run kgfs check --repair.")
        else:
            return


def read(bucket: Bucket, piece: Piece) -> Iterator[Line]:
    """Its lines, verified as they are given. RotError; MissingError where it was merged since it was listed: also where another
    took its name since, who has not noticed yet that his entries count for nothing."""
    found, raw = bucket.get(piece.name)
    if found.etag != piece.etag and not _stands(bucket, piece):
        raise MissingError(f"{bucket.place.shown}: {piece.name} was merged since it was listed.")
    told = found.meta.get(LAST, "")
    last = piece.last or (int(told) if told.isdigit() else 0)
    seq = piece.first - 1
    for line in lines(piece.name, raw, piece.first, last=False):
        seq = line.seq
        yield line
    if seq < piece.first or (last and seq != last):
        raise RotError(f"ledger segment {piece.name}: entry {seq + 1} is not what was kept. Run kgfs check --repair.")


def last_of(bucket: Bucket, piece: Piece) -> int:
    """The number of its last entry, told by reading it whole."""
    return max(line.seq for line in read(bucket, piece))


def _stands(bucket: Bucket, piece: Piece) -> bool:
    """Whether it is listed as it was: there may be servers that tag an object otherwise in listings."""
    return any(found.name == piece.name and found.etag == piece.etag for found in bucket.listed(piece.name, limit=1))


def _piece(found: Found) -> Piece:
    name = found.name.rpartition("/")[2]
    if found.name.startswith(ENTRIES):
        return Piece(found.name, int(name), 0, found.size, found.changed_at, found.etag)
    last, _, first = name.partition("-")
    return Piece(found.name, int(first), int(last), found.size, found.changed_at, found.etag)
