"""What all derived entries share: owner, mode, inode numbers, and that they cannot be changed.

A node that comes out of a listing or a lookup carries the row it was found by, for the first look at it only: the
kernel asks again much later, and then the store is asked again too.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from kgfs.domain.names import decode_name
from kgfs.errors import DerivedError, MissingError, StoreError
from kgfs.render.words import encode
from kgfs.stores.garage.contract import Reader
from kgfs.stores.stores import Stores
from kgfs.tree.keys import Key
from kgfs.tree.node import (
    FILE_MODE,
    FOLDER_MODE,
    LINK_MODE,
    Attr,
    File,
    Fixed,
    Folder,
    Handle,
    Link,
    Rendered,
    inode_of,
)
from kgfs.tree.tree_context import TreeContext

T = TypeVar("T")

PAGE = 1000
"""Rows asked for at once by listings."""


class FirstLook(Generic[T]):
    """A row that is good for one use."""

    __slots__ = ("_row",)

    def __init__(self, row: T | None) -> None:
        self._row = row

    def __bool__(self) -> bool:
        return self._row is not None

    def take(self) -> T | None:
        row, self._row = self._row, None
        return row


class DerivedFolder(Folder):
    """Subclasses give ``key``, ``mtime`` (MissingError once it is gone), ``lookup`` and ``entries``."""

    __slots__ = ("context",)

    def __init__(self, context: TreeContext) -> None:
        self.context = context

    @property
    def key(self) -> Key:
        raise NotImplementedError

    @property
    def inode(self) -> int:
        return inode_of(self.key)

    def mtime(self) -> int:
        raise NotImplementedError

    def attr(self) -> Attr:
        context, mtime = self.context, self.mtime()
        return Attr(self.inode, FOLDER_MODE, 1, context.uid, context.gid, 0, mtime, mtime, mtime)

    def token(self) -> Hashable | None:
        heard = self.context.cache.position
        return heard or (self.context.stores.graph.epoch(), self.context.stores.journal.seq())


class DerivedFile(File):
    """Subclasses give ``key``, ``look`` (MissingError once it is gone) and ``content``, of exactly the size it tells."""

    __slots__ = ("context",)

    def __init__(self, context: TreeContext) -> None:
        self.context = context

    @property
    def key(self) -> Key:
        raise NotImplementedError

    @property
    def inode(self) -> int:
        return inode_of(self.key)

    def look(self) -> tuple[int, int]:
        """Size and mtime."""
        raise NotImplementedError

    def content(self) -> bytes:
        raise NotImplementedError

    def attr(self) -> Attr:
        size, mtime = self.look()
        return derived_attr(self.context, self.inode, FILE_MODE, size, mtime)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return self.handle()

    def handle(self) -> Handle:
        return Rendered(self.content())


class StayingFile(DerivedFile, Generic[T]):
    """One that is the same until there are news, and is found by a row."""

    __slots__ = ("_first",)

    def __init__(self, context: TreeContext, row: T | None) -> None:
        super().__init__(context)
        self._first = FirstLook(row)

    def attr(self) -> Attr:
        return super().attr() if self._first else self.context.cache.seen(self.key, super().attr)

    def handle(self) -> Handle:
        cache = self.context.cache
        try:
            content = cache.rendered(self.key, self.content)
            if len(content) != self.attr().size:
                cache.forget()  # bytes and attributes are of different commits: the next lookup must find the newest
        except MissingError:
            # What is remembered speaks of it still; the kernel, which looks it up again, must not find it again.
            cache.forget()
            raise
        return Rendered(content)


class DerivedLink(Link):
    """Subclasses give ``key`` and ``look``."""

    __slots__ = ("context",)

    def __init__(self, context: TreeContext) -> None:
        self.context = context

    @property
    def key(self) -> Key:
        raise NotImplementedError

    @property
    def inode(self) -> int:
        return inode_of(self.key)

    def look(self) -> tuple[str, int]:
        """Where it points, encoded as names are, and its mtime. MissingError once it is gone."""
        raise NotImplementedError

    def attr(self) -> Attr:
        goal, mtime = self.look()
        return derived_attr(self.context, self.inode, LINK_MODE, len(decode_name(goal)), mtime)

    def target(self) -> bytes:
        return decode_name(self.look()[0])


class FixedFile(DerivedFile):
    """Bytes that never change while the mount stands."""

    __slots__ = ("_bytes", "_key", "_mtime")

    def __init__(self, context: TreeContext, key: Key, text: str, mtime: int) -> None:
        super().__init__(context)
        self._key = key
        self._bytes = encode(text)
        self._mtime = mtime

    @property
    def key(self) -> Key:
        return self._key

    def look(self) -> tuple[int, int]:
        return len(self._bytes), self._mtime

    def content(self) -> bytes:
        return self._bytes

    def open_at_once(self) -> Handle | None:
        return self.handle()


class Original(Fixed):
    """An open object of the garage, verified block by block. Reading blocks."""

    __slots__ = ("_reader",)

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader.sums.sha256)
        self._reader = reader

    @property
    def size(self) -> int:
        return self._reader.sums.size

    def read(self, offset: int, length: int) -> bytes:
        return self._reader.read_at(offset, length)

    def at_hand(self, offset: int, length: int) -> bytes | None:
        return self._reader.at_hand(offset, length)

    def release(self) -> None:
        self._reader.close()

    def release_at_once(self) -> bool:
        self._reader.close()
        return True


def open_original(stores: Stores, key: str, sha256: str) -> Handle:
    """The kept bytes, from the garage or, while they are on their way there, from the inbox. Blocks."""
    try:
        return Original(stores.garage.objects.open(key))
    except MissingError as error:
        small = stores.journal.inbox(sha256)
        if small is None:
            raise StoreError(f"The garage has lost {key}. Run kgfs restore-garage.") from error
        return Rendered(small)


def derived_attr(
    context: TreeContext, inode: int, mode: int, size: int, mtime: int, *, direct_io: bool = False
) -> Attr:
    return Attr(inode, mode, 1, context.uid, context.gid, size, mtime, mtime, mtime, direct_io)


def refuse_writing(writing: bool) -> None:
    if writing:
        raise DerivedError(
            "This file is derived from the documents and cannot be written. Change the documents instead."
        )
