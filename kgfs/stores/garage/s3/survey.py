"""Find and repair damaged pieces of a ledger in a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kgfs.errors import CorruptError, MissingError
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.pieces import LAST, PATIENCE, Piece, chain, entries_name, last_of, listed
from kgfs.stores.garage.segments import decode_line, encode_line


@dataclass(frozen=True, slots=True)
class Damaged:
    """A piece that is corrupt or missing."""

    name: str
    start: int
    last_of_piece: int
    entries: dict[int, bytes]
    """The intact entries by number."""

    @property
    def lost(self) -> tuple[int, ...]:
        """Return the numbers of the entries that are corrupt or missing."""
        return tuple(seq for seq in range(self.start, self.last_of_piece + 1) if seq not in self.entries)

    @property
    def first(self) -> int:
        """Return the first lost number."""
        return self.lost[0]

    @property
    def last(self) -> int:
        """Return the last lost number."""
        return self.lost[-1]


def survey(bucket: Bucket, segment: int) -> Iterator[Damaged]:
    """Yield the damaged pieces of the ledger, in order. Read the whole ledger, a piece in memory at a time.

    Pieces that are merged meanwhile are no damage: the pieces are listed again.
    """
    after, patience = 0, PATIENCE
    while True:
        entries, merged = listed(bucket, after, segment)
        try:
            for piece in chain(entries, merged, after):
                try:
                    damaged, after = _survey_piece(bucket, piece)
                    patience = PATIENCE
                except MissingError:
                    if patience:
                        patience -= 1
                        break
                    after = piece.last or piece.first  # listed every time, and never readable
                    damaged = Damaged(piece.name, piece.first, after, {})
                if damaged:
                    yield damaged
            else:
                return
        except CorruptError:  # no piece has the entries up to the next piece
            following = min(piece.first for piece in (*entries, *merged) if piece.first > after + 1)
            yield Damaged(entries_name(after + 1), after + 1, following - 1, {})
            after = following - 1


def _survey_piece(bucket: Bucket, piece: Piece) -> tuple[Damaged | None, int]:
    """Return the damage of a piece, or None, and the number of its last entry. Raise MissingError if the piece was
    merged after it was listed."""
    try:
        return None, last_of(bucket, piece)
    except CorruptError:
        found, raw = bucket.get(piece.name)
        noted = found.meta.get(LAST, "")
        last = piece.last or (int(noted) if noted.isdigit() else piece.first + max(0, raw.count(b"\n") - 1))
        good = (decode_line(line) for line in raw.splitlines(keepends=True))
        entries = {seq: entry for seq, entry in filter(None, good) if piece.first <= seq <= last}
        return Damaged(piece.name, piece.first, last, entries), last


def mended(damaged: Damaged, known: Callable[[int], bytes | None]) -> bytes:
    """Return the content of the piece as it was put. ``known`` must return every lost entry."""
    out = dict(damaged.entries)
    for seq in damaged.lost:
        entry = known(seq)
        assert entry is not None
        out[seq] = entry
    return b"".join(encode_line(seq, out[seq]) for seq in sorted(out))
