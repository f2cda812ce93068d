"""Sums of bytes as they arrive: SHA-256 for identity, XXH3 a MiB block for rot."""

from __future__ import annotations

import hashlib
from pathlib import Path

import xxhash

from kgfs.stores.garage.contract import BLOCK, Sums


class Summer:
    """Feed bytes in order with :meth:`update`; :meth:`sums` may be asked at any time and more be fed after."""

    def __init__(self) -> None:
        self.size = 0
        self._sha = hashlib.sha256()
        self._blocks: list[str] = []
        self._open = xxhash.xxh3_64()

    def update(self, data: bytes | bytearray | memoryview) -> None:
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
        tail = (self._open.hexdigest(),) if self.size % BLOCK else ()
        return Sums(self.size, self._sha.hexdigest(), (*self._blocks, *tail))


def sums_of(content: bytes | Path) -> Sums:
    """The sums of bytes or of a file, with flat memory."""
    summer = Summer()
    if isinstance(content, Path):
        with content.open("rb") as file:
            while piece := file.read(BLOCK):
                summer.update(piece)
    else:
        summer.update(content)
    return summer.sums()
