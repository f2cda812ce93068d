"""The cache, written by a thread of its own: who reads an object has its bytes as they arrive, and does not wait for a disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from kgfs.stores.garage.s3.cache import Cache, Fetched, length_before

WAITING = 32 << 20
"""Bytes of disk that what waits to be written may take."""
GATHERED = 4 << 20
"""Bytes that are written at once, but for the last file of them: to wake a thread, to lock the cache and to count takes longer
than to write a small file."""
LINGER = 0.1
"""Seconds that fewer are waited with, for more to come, while nobody waits for them."""
PATIENCE = 0.02
"""Seconds that a reader waits for room among them at most; what finds none then is not cached: a disk that cannot keep up, or a
busy machine, is to hold up nobody who reads."""
WAITED = 0.1
"""The part of the time since somebody put something here that a reader waits for room: so much longer reading takes at most."""
OPENING = 1.0
"""Seconds that opening an object waits for its own blocks, which are to be held open."""
FORGETTING = 1.0
"""Seconds that forgetting an object waits for those of others to be written."""
CLOSING = 5.0
"""Seconds that closing waits for what is still to be written."""


class CacheBehind(Cache):
    """What waits to be written is answered from memory, as if it were written: until a forgetting, of any process, says that
    it is not to be. A kill loses what waits, which is only fetched again."""

    def __init__(self, folder: Path, limit: int) -> None:
        super().__init__(folder, limit)
        self._changed = threading.Condition()
        self._waiting: dict[str, Fetched] = {}
        """In order of arrival; the first ones may be about to be written."""
        self._bytes = 0
        self._hurried = 0
        """How many wait for what is to be written."""
        self._stuck = False
        """Whether somebody has waited for room in vain: until there is some nobody waits again."""
        self._kept_at = time.monotonic()
        """When something was put here last, or found no room."""
        self._writer: threading.Thread | None = None
        self._closed = False

    def at_hand(self, key: str, size: int) -> bytes | None:
        waiting = self._unwritten(self._path(key)) if self._waiting else None
        if waiting is not None:
            behind = length_before(size)
            return bytes(waiting[behind:]) if len(waiting) == behind + size else None
        return super().at_hand(key, size)

    def block_at_hand(self, key: str, number: int, buffer: memoryview) -> bool:
        waiting = self._unwritten(self._path(key, number)) if self._waiting else None
        if waiting is None:
            return super().block_at_hand(key, number, buffer)
        if len(waiting) != len(buffer):
            return False
        buffer[:] = waiting
        return True

    def open_blocks(self, key: str, count: int) -> dict[int, FileIO]:
        paths = [self._path(key, number) for number in range(count)]
        if any(path in self._waiting for path in paths):
            with self._changed:
                self._wait(lambda: not any(path in self._waiting for path in paths), OPENING)
        return super().open_blocks(key, count)

    def forget(self, key: str) -> None:
        with self._changed:
            whole = self._path(key)
            for path in [path for path in self._waiting if path == whole or path.startswith(f"{whole}.")]:
                self._bytes -= self._waiting.pop(path).room
            self._wait(lambda: not self._waiting, FORGETTING)  # else it would be told that all of it is not to be kept
        super().forget(key)

    def flush(self, seconds: float) -> bool:
        """Wait until all is written that waits now; whether it is."""
        with self._changed:
            return self._wait(lambda: not self._waiting, seconds)

    def close(self) -> None:
        self.flush(CLOSING)
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _keep(self, path: str, content: bytes | memoryview, round_: int) -> None:
        if not self.keeps:
            return
        fetched = Fetched(content, round_)
        with self._changed:
            if self._bytes + fetched.room > WAITING:
                patience = 0.0 if self._stuck else min(PATIENCE, WAITED * (time.monotonic() - self._kept_at))
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
        waiting = self._waiting.get(path)
        return waiting.content if waiting is not None and waiting.round == self.round() else None

    def _wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Until it is so; whether it is. The writer does not linger meanwhile. Holding the condition."""
        self._hurried += 1
        self._changed.notify_all()
        try:
            return self._changed.wait_for(until, seconds)
        finally:
            self._hurried -= 1

    def _write_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._changed.wait_for(lambda: self._bytes >= GATHERED or self._hurried or self._closed, LINGER)
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
        """What is to be written next, in order of arrival."""
        found, taken = {}, 0
        for path, fetched in self._waiting.items():
            if taken >= GATHERED:
                break
            found[path] = fetched
            taken += fetched.room
        return found
