"""Report to callbacks when commits are durable, for callers that cannot block, such as an event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol

from kgfs.errors import KgfsError, StoreError

Done = Callable[[KgfsError | None], None]


class Pending(Protocol):
    """Facts that are committed and on their way to the disk. They survive the end of every process. All members are
    *quick*."""

    @property
    def durable(self) -> bool:
        """Return whether the facts survive a power failure already."""
        ...

    def then(self, done: Done) -> None:
        """Call ``done`` once, when the facts are durable or the sync has failed.

        ``done`` gets None, or the error that a blocking call would have raised. It may be called from any thread,
        perhaps before this returns, and must be quick."""
        ...


class Durable:
    """The ``Pending`` of facts that are durable already, or that are never synced."""

    durable = True

    def then(self, done: Done) -> None:
        done(None)


class Coming:
    """The ``Pending`` of a commit, by its number."""

    __slots__ = ("_commit", "_is_durable", "_tell")

    def __init__(self, commit: int, is_durable: Callable[[int], bool], tell: Callable[[int, Done], None]) -> None:
        self._commit = commit
        self._is_durable = is_durable
        self._tell = tell

    @property
    def durable(self) -> bool:
        return self._is_durable(self._commit)

    def then(self, done: Done) -> None:
        self._tell(self._commit, done)


class Telling:
    """Waits for commits in a background thread and calls back. The thread starts with the first request. Requests
    that arrive while the disk is busy share the next sync. Any thread may call."""

    def __init__(self, wait_for: Callable[[int], None]) -> None:
        """``wait_for(commit)`` returns when that commit, and every one before it, is durable."""
        self._wait_for = wait_for
        self._asked: SimpleQueue[tuple[int, Done] | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def tell(self, commit: int, done: Done) -> None:
        """Call ``done`` from the background thread once the commit is durable or the sync has failed."""
        if self._thread is None:
            self._start()
        self._asked.put((commit, done))

    def close(self) -> None:
        """Answer every request that was made, then end the thread. No request may follow."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kgfs-catalog-tell", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        over = False
        while not over:
            asked = [self._asked.get()]
            with suppress(Empty):
                while True:
                    asked.append(self._asked.get_nowait())
            over = None in asked
            together = [request for request in asked if request is not None]
            if together:
                failure = self._failure_of(max(commit for commit, _ in together))
                for _, done in together:
                    done(failure)

    def _failure_of(self, commit: int) -> StoreError | None:
        try:
            self._wait_for(commit)
        except StoreError as error:
            return error
        return None
