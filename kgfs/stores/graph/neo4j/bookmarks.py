"""Bookmarks: so that one process sees what another has just written, also where they ask different members of a cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from neo4j import Bookmarks, GraphDatabase
from neo4j.api import BookmarkManager


class Kept:
    """What is known of the newest transactions, shared through ``path`` by all processes that name it. Without one nothing
    is: a server that stands alone always shows what it was told."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.manager = _manager(path)

    def forget(self) -> None:
        """A server that was restored to an earlier day would be waited for until it has done as much again."""
        if self._path:
            self._path.unlink(missing_ok=True)
            self.manager = _manager(self._path)


def _manager(path: Path | None) -> BookmarkManager | None:
    if path is None:
        return None
    return GraphDatabase.bookmark_manager(bookmarks_supplier=lambda: read(path), bookmarks_consumer=writer(path))


def read(path: Path) -> Bookmarks:
    try:
        return Bookmarks.from_raw_values(path.read_text("utf-8").split())
    except FileNotFoundError:
        return Bookmarks.from_raw_values([])


def writer(path: Path) -> Callable[[Bookmarks], None]:
    """Replaces the file, so that nobody reads half of it. After a power failure it may be missing: who reads then asks
    without bookmarks, and sees what has reached the member it asks."""

    def write(bookmarks: Bookmarks) -> None:
        values = bookmarks.raw_values
        if values <= read(path).raw_values:
            return
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(sorted(values)))
        Path(temporary).replace(path)

    return write
