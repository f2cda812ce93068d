"""Download the files of a snapshot from a bucket. Each part is verified by its hash, and a download continues
after a kill."""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

from kgfs.errors import CorruptError, MissingError
from kgfs.failpoints import border
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.snapshots.layout import File, Manifest, Part, key_of_part

CONCURRENCY = 4
"""Parts that are requested at the same time. Each takes at most 32 MiB of memory."""

Progress = Callable[[int], None]
"""A callback that receives the number of bytes that each finished part adds to the file."""


def fetch_file(objects: Objects, folder: str, file: File, target: Path, progress: Progress) -> None:
    """Make ``target`` the file that the snapshot in ``folder`` holds. ``target`` is durable when this returns.
    Parts left at ``target`` by an earlier attempt are kept if their hashes are right. Raises MissingError if a
    part is missing, and CorruptError if a part differs from the manifest."""
    telling = threading.Lock()
    with os_errors(f"Writing {target}"):
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            there = os.fstat(descriptor).st_size

            def fetch(number: int, start: int, part: Part) -> None:
                if not (there > start and _is_right(os.pread(descriptor, part.size, start), part)):
                    _write(descriptor, start, _fetched(objects, key_of_part(folder, file.name, number), part))
                    border("snapshot-part-fetched")
                with telling:
                    progress(part.size)

            starts = accumulate((part.size for part in file.parts), initial=0)
            with ThreadPoolExecutor(CONCURRENCY) as pool:
                try:
                    for _ in pool.map(fetch, range(len(file.parts)), starts, file.parts):
                        pass
                finally:
                    pool.shutdown(cancel_futures=True)
            os.ftruncate(descriptor, file.size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def verify(objects: Objects, manifest: Manifest, *, deep: bool) -> None:
    """Verify a snapshot. Raises MissingError if a part is missing. With ``deep``, each part is downloaded, and
    CorruptError is raised if one differs from the manifest."""
    there = {key for key, _ in objects.keys(manifest.folder)}
    for file in manifest.files:
        for number, part in enumerate(file.parts):
            key = key_of_part(manifest.folder, file.name, number)
            if key not in there:
                raise MissingError(f"{key} is gone.")
            if deep:
                _fetched(objects, key, part)


def _fetched(objects: Objects, key: str, part: Part) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        piece = unpacking.decompress(objects.salvage(key), part.size + 1)
    except zlib.error as error:
        raise CorruptError(f"{key}: damaged ({error}).") from error
    if not _is_right(piece, part):
        raise CorruptError(f"{key}: damaged; its hash is another one.")
    return piece


def _is_right(piece: bytes, part: Part) -> bool:
    return len(piece) == part.size and hashlib.sha256(piece).hexdigest() == part.sha256


def _write(descriptor: int, start: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        done = os.pwrite(descriptor, view, start)
        view, start = view[done:], start + done
