"""Bookmarks: so that one process sees what another has just written, also where they ask different members of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from neo4j.api import BookmarkManager

from kgfs.errors import from_os_error
from kgfs.stores.locks import locked


class Kept:
    """What is known of the newest transactions, shared through ``path`` by all processes that name it. Without one nothing
    is: a server that stands alone always shows what it was told."""

    def __init__(self, path: Path | None) -> None:
        self.manager = Shared(path) if path else None

    def forget(self) -> None:
        """A server that was restored to an earlier day would be waited for until it has done as much again. Forgotten for all
        processes."""
        if self.manager:
            self.manager.forget()


class Shared(BookmarkManager):
    """The bookmarks in a file, and nowhere else; from any thread of any process of this machine. A transaction takes away those
    that it began with, for it waited for what they speak of, and leaves those of others: so there are never more than
    transactions at a time. After a power failure the file may be missing: who reads then asks without bookmarks, and
    sees what has reached the member it asks.

    FullError or StoreError, with the file's name, where the disk does not take it; the file is as before. The driver notes a
    bookmark after its transaction was committed: who meets one of them there does the same again, and finds it done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = path.with_name(f"{path.name}.lock")

    def get_bookmarks(self) -> set[str]:
        """None where the file holds no text, which nobody here wrote: the next bookmark replaces it."""
        with self._named():
            try:
                return set(self._path.read_text("utf-8").split())
            except (FileNotFoundError, UnicodeDecodeError):
                return set()

    def update_bookmarks(self, previous_bookmarks: Collection[str], new_bookmarks: Collection[str]) -> None:
        """The file is replaced, so that nobody reads half of it."""

        def merged(known: set[str]) -> set[str]:
            return known - set(previous_bookmarks) | set(new_bookmarks)

        known = self.get_bookmarks()
        if not new_bookmarks or merged(known) == known:  # nothing was committed meanwhile
            return
        with self._named(), locked(self._lock):
            new = self._path.with_name(f"{self._path.name}.new")
            new.touch(0o600)
            new.write_text("\n".join(sorted(merged(self.get_bookmarks()))), "utf-8")
            new.replace(self._path)

    def forget(self) -> None:
        with self._named(), locked(self._lock):
            self._path.unlink(missing_ok=True)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """An OSError as ours: as it is, the driver's caller would take it for one of the server's."""
        try:
            yield
        except OSError as error:
            raise from_os_error(error, str(self._path)) from error
