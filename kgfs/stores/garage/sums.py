"""Incremental checksums of bytes: one SHA-256 for identity, one XXH3 for each MiB block to detect corruption.

The checksums of an object are kept as a small text file that detects its own corruption::

    kgfs-sums 1 <size> <sha256>
    <xxh3 of block 0>
    …
    <xxh3 of all lines above>
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import xxhash

from kgfs.stores.garage.contract import BLOCK, Sums

_MARK = "kgfs-sums 1"

_DIGITS = re.compile(r"[0-9a-f]{15,64}")
"""Digits of a name that may be the beginning of a SHA-256. Fifteen tell damaged bytes as surely as an XXH3 of a block."""


class Summer:
    """Compute the checksums of bytes that arrive in order.

    Feed the bytes with :meth:`update`. :meth:`sums` may be called at any time, and more bytes may be fed afterwards.
    """

    def __init__(self) -> None:
        self.size = 0
        self._sha = hashlib.sha256()
        self._blocks: list[str] = []
        self._open = xxhash.xxh3_64()

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Add the next bytes."""
        self._sha.update(data)
        view = memoryview(data)
        while view:
            room = BLOCK - self.size % BLOCK
            piece, view = view[:room], view[room:]
            self._open.update(piece)
            self.size += len(piece)
            if self.size % BLOCK == 0:
                self._blocks.append(self._open.hexdigest())
                self._open = xxhash.xxh3_64()

    def sums(self) -> Sums:
        """Return the checksums of all bytes so far."""
        tail = (self._open.hexdigest(),) if self.size % BLOCK else ()
        return Sums(self.size, self._sha.hexdigest(), (*self._blocks, *tail))


def sums_of(content: bytes | Path) -> Sums:
    """Return the checksums of bytes or of a file. Memory use is constant."""
    summer = Summer()
    if isinstance(content, Path):
        with content.open("rb") as file:
            while piece := file.read(BLOCK):
                summer.update(piece)
    else:
        summer.update(content)
    return summer.sums()


def sums_knowing(sha256: str, content: bytes) -> Sums:
    """Return the checksums of bytes whose SHA-256 the caller has computed."""
    view = memoryview(content)
    blocks = (xxhash.xxh3_64_hexdigest(view[at : at + BLOCK]) for at in range(0, len(content), BLOCK))
    return Sums(len(content), sha256, tuple(blocks))


def may_be_named_by_hash(name: str) -> bool:
    """Return whether the name of an object has digits that may be the beginning of its SHA-256."""
    return _DIGITS.search(name) is not None


def is_named_by(name: str, sha256: str) -> bool:
    """Return whether a SHA-256 begins with digits that the name of an object has."""
    return any(sha256.startswith(digits) for digits in _DIGITS.findall(name))


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
