"""Keep the bytes of the parts that a parser finds, several at the same time."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from kgfs.domain.identity import garage_key_of
from kgfs.domain.names import decode_name, extension_of
from kgfs.stores.garage.contract import Objects

CONCURRENCY = 8
"""Parts that are put at the same time, so that one sync of the disk makes several durable."""
WAITING = 64
"""Parts that are in memory before they are put."""
SMALL = 1 << 20
"""The size in bytes up to which a part is put beside others."""


class KeepingParts:
    """Puts the parts of one document into the garage. Use it in a ``with`` block: all of them are durable at its end,
    which raises what the garage raised."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        """``prefix`` is that of the document's ontology in the garage."""
        self._objects = objects
        self._prefix = prefix
        self._several = ThreadPoolExecutor(CONCURRENCY, "kgfs-parts")
        self._waiting: deque[Future[None]] = deque()

    def keep(self, name: str, sha256: str, part: bytes) -> str:
        """Return the key of a part, under which it is durable at the end of the block. Raises what an earlier put
        raised."""
        key = garage_key_of(self._prefix, sha256, extension_of(os.fsdecode(decode_name(name))))
        if len(part) > SMALL:
            self._put(key, part)
        else:
            self._waiting.append(self._several.submit(self._put, key, part))
            while len(self._waiting) > WAITING:
                self._waiting.popleft().result()
        return key

    def _put(self, key: str, part: bytes) -> None:
        if not self._objects.exists(key):
            self._objects.put(key, part)

    def __enter__(self) -> KeepingParts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # After a failure what has not begun is dropped: the document is read again.
        self._several.shutdown(cancel_futures=kind is not None)
        if kind is None:
            for put in self._waiting:
                put.result()
