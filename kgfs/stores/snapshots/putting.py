"""Upload the files of a snapshot to a bucket, in compressed parts."""

from __future__ import annotations

import hashlib
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from kgfs.errors import BusyError
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.snapshots.copying import schema_in
from kgfs.stores.snapshots.layout import File, Part, key_of_part

PART = 16 << 20
"""Bytes of a part before compression. Each part is one request, however well it compresses."""
LEVEL = 1
"""The compression level of zlib. Level 1 halves the bytes or better at 100 MB/s a core; higher levels save little
more and take four times as long."""
CONCURRENCY = 3
"""Parts that are compressed or sent at the same time. Each takes at most 32 MiB of memory."""


def put_file(
    objects: Objects, folder: str, name: str, path: Path, position: int, stop: Callable[[], bool], model: str = ""
) -> File:
    """Put the database at ``path``, which no process writes, as parts below ``folder``. Return its entry for the
    manifest. Raises BusyError once ``stop`` returns true; some parts may then have been put."""
    parts: list[Part] = []
    pending: deque[Future[None]] = deque()
    with os_errors(f"Reading {path}"), ThreadPoolExecutor(CONCURRENCY) as pool:
        try:
            for number, piece in enumerate(_pieces(path)):
                if stop():
                    raise BusyError(f"{folder}: the snapshot was given up, since this process is to end.")
                parts.append(Part(len(piece), hashlib.sha256(piece).hexdigest()))
                pending.append(pool.submit(_put, objects, key_of_part(folder, name, number), piece))
                if len(pending) == CONCURRENCY:
                    pending.popleft().result()
            for one in pending:
                one.result()
        finally:
            pool.shutdown(cancel_futures=True)
    return File(name, position, schema_in(path), sum(part.size for part in parts), tuple(parts), model)


def _put(objects: Objects, key: str, piece: bytes) -> None:
    objects.put(key, zlib.compress(piece, LEVEL))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PART):
            yield piece
