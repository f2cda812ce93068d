"""Index a home's unpublished facts, to tell what the facts around each of them say about the same names and
contents."""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.stores.catalog.facts import (
    ConflictKept,
    ContentKept,
    Fact,
    FileMade,
    FolderMade,
    ForgettingOwed,
    LinkMade,
    Moved,
    Removed,
    Settled,
    VersionMinted,
)
from kgfs.stores.pending_uploads import waiting_key


class Tail:
    """Answers questions about the tail. Some answers are about the fact that comes next: call :meth:`passed` behind
    each fact, in order."""

    def __init__(self, own: Sequence[Fact]) -> None:
        self.ids: set[int] = set()
        self._at = 0
        self._made: set[int] = set()
        self._moved: set[int] = set()
        self._removed: set[int] = set()
        self._last: set[int] = set()
        """Positions of content facts whose content was not overwritten before it was settled, and of conflicts."""
        self._given_up: set[str] = set()
        """Keys of contents that were overwritten, or whose name left, before they were settled. This home does not
        keep their bytes."""
        self._minted: dict[tuple[int, str], str] = {}
        self._contents: set[str] = set()
        written: dict[int, tuple[int, str]] = {}
        """Name id to the position and the key of its unsettled content."""
        in_garage: set[str] = set()
        for at, fact in enumerate(own):
            named = (getattr(fact, field, 0) for field in ("id", "parent", "replaces"))
            self.ids |= {name_id for name_id in (*named, *leaving(fact)) if name_id}
            self._given_up |= {written[name_id][1] for name_id in leaving(fact) if name_id in written}
            if isinstance(fact, (FolderMade, FileMade, LinkMade)):
                self._made.add(fact.id)
            elif isinstance(fact, Moved):
                self._moved.add(fact.id)
            elif isinstance(fact, Removed):
                self._removed.add(fact.id)
            elif isinstance(fact, ContentKept):
                key = waiting_key(fact.id, fact.sha256)
                if fact.size:
                    self._contents.add(key)
                if fact.id in written:
                    self._given_up.add(written[fact.id][1])
                self._given_up.discard(key)
                written[fact.id] = at, key
            elif isinstance(fact, ConflictKept):
                self._last.add(at)
                in_garage.add(fact.key)
            elif isinstance(fact, (VersionMinted, Settled)) and fact.key and fact.sha256:
                self._minted[fact.id, fact.sha256] = fact.key
                if fact.id in written:
                    self._last.add(written.pop(fact.id)[0])
        self._last |= {at for at, _ in written.values()}
        self._contents -= in_garage

    def passed(self) -> None:
        """Move on to the next fact of the tail."""
        self._at += 1

    def in_passing(self, name_id: int) -> bool:
        """Return whether the tail creates the name and removes it from the place where it was created."""
        return name_id in self._made and name_id in self._removed and name_id not in self._moved

    def made(self, name_id: int) -> bool:
        """Return whether the tail creates the name, so that no other home knows this id yet."""
        return name_id in self._made

    def last_word(self) -> bool:
        """Return whether the present fact is a conflict, or a content that the tail does not overwrite unsettled."""
        return self._at in self._last

    def gave_up(self, key: str) -> bool:
        """Return whether the tail itself gave up this content, so that its bytes are not kept here any more."""
        return key in self._given_up

    def key(self, name_id: int, sha256: str) -> str:
        """Return the garage key that a content of a name has, or is to get."""
        return self._minted.get((name_id, sha256)) or waiting_key(name_id, sha256)

    def speaks_of(self, key: str) -> bool:
        """Return whether the key is that of a content in the tail that the garage may not have yet."""
        return key in self._contents


def leaving(fact: Fact) -> Sequence[int]:
    """Return the names that a fact removes from the tree. Their unsettled contents leave with them."""
    if isinstance(fact, Removed):
        return (fact.id,)
    if isinstance(fact, Moved):
        return (fact.replaces,) if fact.replaces else ()
    return fact.names if isinstance(fact, ForgettingOwed) else ()
