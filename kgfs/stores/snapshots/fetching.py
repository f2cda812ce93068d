"""Fetch the files of a snapshot from a bucket: proved by their hashes, and gone on with after a kill."""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

from kgfs.errors import MissingError, RotError
from kgfs.failpoints import border
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.snapshots.layout import File, Manifest, Part, key_of_part

AT_ONCE = 4
"""Parts that are asked for together; each takes 32 MiB of memory at most."""

Progress = Callable[[int], None]
"""Is told how many bytes more of the file are there."""


def fetch_file(objects: Objects, folder: str, file: File, target: Path, progress: Progress) -> None:
    """Make ``target`` the file that the snapshot in ``folder`` holds, durably. What an earlier attempt has left at ``target`` is used
    as far as its hashes are right. MissingError where a part is gone; RotError where a part is not what the manifest tells."""
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
            with ThreadPoolExecutor(AT_ONCE) as pool:
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
    """MissingError where a part of a snapshot is gone; RotError where, with ``deep``, one is not what the manifest tells."""
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
        raise RotError(f"{key}: damaged ({error}).") from error
    if not _is_right(piece, part):
        raise RotError(f"{key}: damaged; its hash is another one.")
    return piece


def _is_right(piece: bytes, part: Part) -> bool:
    return len(piece) == part.size and hashlib.sha256(piece).hexdigest() == part.sha256


def _write(descriptor: int, start: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        done = os.pwrite(descriptor, view, start)
        view, start = view[done:], start + done
