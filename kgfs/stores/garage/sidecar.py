"""The checksums of an object as a small text file that detects its own corruption.

::

    kgfs-sums 1 <size> <sha256>
    <xxh3 of block 0>
    …
    <xxh3 of all lines above>
"""

from __future__ import annotations

import xxhash

from kgfs.stores.garage.contract import BLOCK, Sums

_MARK = "kgfs-sums 1"


def encode_sums(sums: Sums) -> bytes:
    """Return the file content for these checksums."""
    body = "".join(f"{line}\n" for line in (f"{_MARK} {sums.size} {sums.sha256}", *sums.blocks)).encode()
    return body + f"{xxhash.xxh3_64_hexdigest(body)}\n".encode()


def decode_sums(raw: bytes) -> Sums | None:
    """Return the checksums in ``raw``, or None if ``raw`` is not, or no longer, an output of :func:`encode_sums`."""
    body, digest = raw[:-17], raw[-17:]
    if digest != f"{xxhash.xxh3_64_hexdigest(body)}\n".encode():
        return None
    head, *blocks = body.decode("ascii").splitlines()
    mark, _, rest = head.rpartition(_MARK + " ")
    size, _, sha256 = rest.partition(" ")
    if mark or not size.isdigit() or len(blocks) != -(-int(size) // BLOCK):
        return None
    return Sums(int(size), sha256, tuple(blocks))
