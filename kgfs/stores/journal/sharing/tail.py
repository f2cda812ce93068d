"""Own facts that no other home knows yet: what each of them can be told by those around it."""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.stores.journal.facts import (
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
        self._given_up: set[str] = set()
        """Contents that were written over, or whose name left, before they were settled: nobody keeps them here."""
        self._minted: dict[tuple[int, str], str] = {}
        self._contents: set[str] = set()
        written: dict[int, tuple[int, str]] = {}
        """By name: where the content stands that is not settled, and its key."""
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
        self._at += 1

    def in_passing(self, name_id: int) -> bool:
        """Whether it was made, and removed from where it was made."""
        return name_id in self._made and name_id in self._removed and name_id not in self._moved

    def made(self, name_id: int) -> bool:
        """Whether no other home knows that name yet, if it is there under that id."""
        return name_id in self._made

    def last_word(self) -> bool:
        return self._at in self._last

    def gave_up(self, key: str) -> bool:
        """Whether nobody keeps that content here any more, as was meant."""
        return key in self._given_up

    def key(self, name_id: int, sha256: str) -> str:
        """Where the garage has, or is to have, a content."""
        return self._minted.get((name_id, sha256)) or waiting_key(name_id, sha256)

    def speaks_of(self, key: str) -> bool:
        """Whether that is a content that the garage may not have yet."""
        return key in self._contents


def leaving(fact: Fact) -> Sequence[int]:
    """The names that leave by it, with what they had that was not settled."""
    if isinstance(fact, Removed):
        return (fact.id,)
    if isinstance(fact, Moved):
        return (fact.replaces,) if fact.replaces else ()
    return fact.names if isinstance(fact, ForgettingOwed) else ()
