"""Keep the bytes of the parts that a parser finds, several at the same time."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from kgfs.domain.documents import Document
from kgfs.domain.identity import garage_key_of
from kgfs.domain.names import decode_name, extension_of
from kgfs.failpoints import border
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.sums import sums_knowing
from kgfs.stores.part_notes import note_parts

CONCURRENCY = 8
"""Parts that are put at the same time, so that one sync of the disk makes several durable."""
WAITING = 64
"""Parts that are in memory before they are put, and those that are noted together."""
SMALL = 1 << 20
"""The size in bytes up to which a part is put beside others."""
NOTED_TOGETHER = 8 << 20
"""Bytes of parts after which they are noted and put, however few they are."""


class KeepingParts:
    """Puts the parts of one document into the garage. Use it in a ``with`` block: all of them are durable at its end,
    which raises what the garage raised.

    Their keys are noted before (:mod:`kgfs.stores.part_notes`), and the notes stand when the block ends.
    """

    def __init__(self, objects: Objects, document: Document) -> None:
        """``document`` is the one that has the parts."""
        self._objects = objects
        self._doc_id = document.doc_id
        self._prefix = document.key.split("/")[1]
        self._several = ThreadPoolExecutor(CONCURRENCY, "kgfs-parts")
        self._fresh: list[tuple[str, str, bytes]] = []
        self._size = 0
        self._noted: list[list[str]] = []
        self._waiting: deque[Future[None]] = deque()

    def keep(self, name: str, sha256: str, part: bytes) -> str:
        """Return the key of a part, under which it is durable at the end of the block; ``sha256`` is its hash. Raises
        what an earlier put raised."""
        key = garage_key_of(self._prefix, sha256, extension_of(os.fsdecode(decode_name(name))))
        self._fresh.append((key, sha256, part))
        self._size += len(part)
        if len(self._fresh) >= WAITING or self._size >= NOTED_TOGETHER:
            self._put_fresh()
        return key

    def _put_fresh(self) -> None:
        if not self._fresh:
            return
        keys = [key for key, _, _ in self._fresh]
        note_parts(self._objects, self._doc_id, keys)
        border("parts-noted")
        self._noted.append(keys)
        for fresh in self._fresh:
            if len(fresh[2]) > SMALL:
                self._put(*fresh)
            else:
                self._waiting.append(self._several.submit(self._put, *fresh))
        self._fresh, self._size = [], 0
        while len(self._waiting) > WAITING:
            self._waiting.popleft().result()

    def _put(self, key: str, sha256: str, part: bytes) -> None:
        self._objects.put(key, part, sums_knowing(sha256, part))
        border("part-put")

    def __enter__(self) -> KeepingParts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._put_fresh()
        finally:
            # After a failure what has not begun is dropped: the document is read again.
            self._several.shutdown(cancel_futures=kind is not None)
            for keys in self._noted:
                # The note is gone where the document was forgotten meanwhile; then the parts that were put later need one.
                note_parts(self._objects, self._doc_id, keys)
        if kind is None:
            for put in self._waiting:
                put.result()
