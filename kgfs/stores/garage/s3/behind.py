"""A write-behind cache: a thread of its own writes the cache, so that readers get bytes as they arrive and wait for
no disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from kgfs.stores import timing
from kgfs.stores.garage.s3.cache import Cache, Fetched, length_before

WAITING = 32 << 20
"""The maximal disk space in bytes of all files that are queued for writing."""
GATHERED = 4 << 20
"""The size in bytes of a batch of writes, not counting its last file. Waking a thread, locking the cache and counting
take longer than writing a small file."""
WAITED = 0.1
"""The share of the time since the last block was queued for which a reader waits for space. It bounds by how much
reading slows down."""


class CacheBehind(Cache):
    """A cache that queues writes, and answers queued files from memory as if they were written.

    A queued file is no longer answered once any process has forgotten an object since it was fetched. A kill loses
    the queue, which costs only fetching it again.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        super().__init__(folder, limit)
        self._changed = threading.Condition()
        self._waiting: dict[str, Fetched] = {}
        """The queued files by path, in order of arrival. The writer may be writing the first ones."""
        self._bytes = 0
        """The disk space in bytes of the queued files."""
        self._hurried = 0
        """The number of callers that wait for the writer."""
        self._stuck = False
        """Whether a caller has waited for space in vain. Until there is space no caller waits again."""
        self._kept_at = time.monotonic()
        """The time when a file was last queued, or found no space."""
        self._writer: threading.Thread | None = None
        self._closed = False

    def cached(self, key: str, size: int) -> bytes | None:
        waiting = self._unwritten(self._path(key)) if self._waiting else None
        if waiting is not None:
            behind = length_before(size)
            return bytes(waiting[behind:]) if len(waiting) == behind + size else None
        return super().cached(key, size)

    def block_cached(self, key: str, number: int, buffer: memoryview) -> bool:
        waiting = self._unwritten(self._path(key, number)) if self._waiting else None
        if waiting is None:
            return super().block_cached(key, number, buffer)
        if len(waiting) != len(buffer):
            return False
        buffer[:] = waiting
        return True

    def open_blocks(self, key: str, count: int) -> dict[int, FileIO]:
        paths = [self._path(key, number) for number in range(count)]
        if any(path in self._waiting for path in paths):
            with self._changed:
                self._wait(lambda: not any(path in self._waiting for path in paths), timing.CACHE_OPEN_WAIT)
        return super().open_blocks(key, count)

    def holds(self, key: str) -> bool:
        return self._path(key) in self._waiting or super().holds(key)

    def forget(self, key: str) -> None:
        with self._changed:
            whole = self._path(key)
            for path in [path for path in self._waiting if path == whole or path.startswith(f"{whole}.")]:
                self._bytes -= self._waiting.pop(path).room
            # else forgetting would discard the rest of the queue, too
            self._wait(lambda: not self._waiting, timing.CACHE_FORGET_WAIT)
        super().forget(key)

    def flush(self, seconds: float) -> bool:
        """Wait until all files that are queued now are written, for ``seconds`` at most. Return whether they are."""
        with self._changed:
            return self._wait(lambda: not self._waiting, seconds)

    def close(self) -> None:
        self.flush(timing.CACHE_CLOSE_WAIT)
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _keep(self, path: str, content: bytes | memoryview, round_: int) -> None:
        if not self.keeps:
            return
        fetched = Fetched(content, round_)
        with self._changed:
            if self._bytes + fetched.room > WAITING:
                patience = (
                    0.0 if self._stuck else min(timing.CACHE_QUEUE_WAIT, WAITED * (time.monotonic() - self._kept_at))
                )
                self._stuck = not self._wait(lambda: self._bytes + fetched.room <= WAITING, patience)
                self._kept_at = time.monotonic()
                if self._stuck:
                    return
            self._stuck, self._kept_at = False, time.monotonic()
            if self._closed or path in self._waiting:
                return
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_on, name="cache", daemon=True)
                self._writer.start()
            if not self._waiting or self._bytes < GATHERED <= self._bytes + fetched.room:
                self._changed.notify_all()
            self._waiting[path] = fetched
            self._bytes += fetched.room

    def _read(self, path: str) -> bytes | None:
        waiting = self._unwritten(path)
        return super()._read(path) if waiting is None else bytes(waiting)

    def _unwritten(self, path: str) -> bytes | memoryview | None:
        """Return the content of a queued file if no object was forgotten since it was fetched, else None."""
        waiting = self._waiting.get(path)
        return waiting.content if waiting is not None and waiting.round == self.round() else None

    def _wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Wait until the condition holds, for ``seconds`` at most, and return whether it does. The caller holds the
        lock. The writer does not wait for larger batches meanwhile."""
        self._hurried += 1
        self._changed.notify_all()
        try:
            return self._changed.wait_for(until, seconds)
        finally:
            self._hurried -= 1

    def _write_on(self) -> None:
        """Write batches from the queue until the cache is closed and the queue is empty."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._changed.wait_for(
                    lambda: self._bytes >= GATHERED or self._hurried or self._closed, timing.CACHE_LINGER
                )
                if not self._waiting and self._closed:
                    return
                gathered = self._gathered()
            self._write(gathered)
            with self._changed:
                for path, fetched in gathered.items():
                    if self._waiting.get(path) is fetched:
                        self._bytes -= self._waiting.pop(path).room
                self._changed.notify_all()

    def _gathered(self) -> dict[str, Fetched]:
        """Return the next batch to write, in order of arrival."""
        found, taken = {}, 0
        for path, fetched in self._waiting.items():
            if taken >= GATHERED:
                break
            found[path] = fetched
            taken += fetched.room
        return found
