"""Own facts that no other home knows yet: what each of them can be told by those around it."""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.stores.journal.facts import (
    ConflictKept,
    ContentKept,
    Fact,
    FileMade,
    FolderMade,
    LinkMade,
    Moved,
    Removed,
    Settled,
    VersionMinted,
)
from kgfs.stores.waiting import waiting_key


class Tail:
    """Call :meth:`passed` behind each fact, in order: some answers are about the next one."""

    def __init__(self, own: Sequence[Fact]) -> None:
        self.ids: set[int] = set()
        self._at = 0
        self._made: set[int] = set()
        self._moved: set[int] = set()
        self._removed: set[int] = set()
        self._last: set[int] = set()
        """Where contents stand that were not written again before they were settled."""
        self._left: set[int] = set()
        """Those of them whose name was removed, or moved over, before they were: then nobody keeps them here."""
        self._minted: dict[tuple[int, str], str] = {}
        self._contents: set[str] = set()
        written: dict[int, int] = {}
        for at, fact in enumerate(own):
            named = (getattr(fact, field, 0) for field in ("id", "parent", "replaces"))
            self.ids |= {name_id for name_id in named if name_id}
            leaves = fact.id if isinstance(fact, Removed) else fact.replaces if isinstance(fact, Moved) else 0
            if leaves in written:
                self._left.add(written[leaves])
            if isinstance(fact, (FolderMade, FileMade, LinkMade)):
                self._made.add(fact.id)
            elif isinstance(fact, Moved):
                self._moved.add(fact.id)
            elif isinstance(fact, Removed):
                self._removed.add(fact.id)
            elif isinstance(fact, ContentKept):
                self._contents.add(waiting_key(fact.id, fact.sha256))
                written[fact.id] = at
            elif isinstance(fact, ConflictKept):
                self._last.add(at)
            elif isinstance(fact, (VersionMinted, Settled)) and fact.key and fact.sha256:
                self._minted[fact.id, fact.sha256] = fact.key
                if fact.id in written:
                    self._last.add(written.pop(fact.id))
        self._last |= set(written.values())

    def passed(self) -> None:
        self._at += 1

    def in_passing(self, name_id: int) -> bool:
        """Whether it was made, and removed from where it was made."""
        return name_id in self._made & self._removed - self._moved

    def last_word(self) -> bool:
        return self._at in self._last

    def left(self) -> bool:
        """Whether the content left before it was settled."""
        return self._at in self._left

    def key(self, name_id: int, sha256: str) -> str:
        """Where the garage has, or is to have, a content."""
        return self._minted.get((name_id, sha256)) or waiting_key(name_id, sha256)

    def speaks_of(self, key: str) -> bool:
        return key in self._contents
