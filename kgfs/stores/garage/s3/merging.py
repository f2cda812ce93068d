"""Merge many small pieces of a ledger into one object. A kill at any point leaves the same ledger."""

from __future__ import annotations

from kgfs.failpoints import border
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.pieces import LAST, Piece, chain, fenced, listed, listed_merged, merged_name, read
from kgfs.stores.garage.segments import encode_line


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
