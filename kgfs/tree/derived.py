"""What all derived entries share: owner, mode, inode numbers, and that they cannot be changed.

A node that comes out of a listing or a lookup carries the row it was found by, for the first look at it only: the
kernel asks again much later, and then the store is asked again too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from kgfs.domain.names import decode_name
from kgfs.errors import DerivedError, KgfsError, MissingError, StoreError
from kgfs.stores.blocking import blocks
from kgfs.stores.garage.contract import Reader
from kgfs.stores.stores import Stores
from kgfs.tree.keys import Key
from kgfs.tree.node import (
    FILE_MODE,
    FOLDER_MODE,
    LINK_MODE,
    Attr,
    Caller,
    File,
    Fixed,
    Folder,
    Handle,
    Link,
    Node,
    Rendered,
    inode_of,
)
from kgfs.tree.tree_context import TreeContext

T = TypeVar("T")

PAGE = 1000
"""Rows asked for at once by listings."""


class Derived(Node, Generic[T]):
    """Subclasses give ``attr``."""

    __slots__ = ("_row", "context", "key")

    def __init__(self, context: TreeContext, key: Key, row: T | None = None) -> None:
        """``row`` is what the node was found by; it is good for one use."""
        self.context = context
        self.key = key
        self._row = row

    @property
    def inode(self) -> int:
        return inode_of(self.key)

    def take_row(self) -> T | None:
        row, self._row = self._row, None
        return row


class DerivedFolder(Derived[T], Folder):
    """Subclasses give ``mtime`` (MissingError once it is gone) and ``entries``; ``lookup`` where it need not list them."""

    __slots__ = ()

    def mtime(self) -> int:
        raise NotImplementedError

    def attr(self) -> Attr:
        context, mtime = self.context, self.mtime()
        return Attr(self.inode, FOLDER_MODE, 1, context.uid, context.gid, 0, mtime, mtime, mtime)

    def lookup(self, name: str) -> Node | None:
        return dict(self.entries()).get(name)

    def token(self) -> Hashable | None:
        return token_of(self.context)

    def make_file(self, name: str, mode: int, caller: Caller) -> File:
        raise with_remedy(DerivedError("This folder is derived from the documents. Make files in documents/ instead."))

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        raise with_remedy(
            DerivedError("This folder is derived from the documents. Make folders in documents/ instead.")
        )


class DerivedFile(Derived[T], File):
    """Subclasses give ``look`` (MissingError once it is gone) and ``content``, of exactly the size it tells."""

    __slots__ = ()

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
        blocks()
        return Rendered(self.content())


class StayingFile(DerivedFile[T]):
    """One that is the same until a change is heard of, and is found by a row."""

    __slots__ = ()
    quick = False
    """Whether its content is made of a few indexed reads."""

    def attr(self) -> Attr:
        return super().attr() if self._row is not None else self.context.cache.seen(self.key, super().attr)

    def handle(self) -> Handle:
        cache = self.context.cache
        try:
            content = cache.rendered(self.key, self._rendered)
            if len(content) != self.attr().size:
                cache.forget()  # bytes and attributes are of different commits: the next lookup must find the newest
        except MissingError:
            # What is remembered speaks of it still; the kernel, which looks it up again, must not find it again.
            cache.forget()
            raise
        return Rendered(content)

    def _rendered(self) -> bytes:
        if not self.quick:
            blocks()
        return self.content()


class Page(DerivedFile[None]):
    """A file that is rendered when it is looked at and again when it is opened. ``render`` returns its bytes and its mtime; it
    takes no longer than a few indexed reads. MissingError once it is gone.

    With ``live`` its bytes are of the moment: neither size nor contents are kept by the kernel."""

    __slots__ = ("_live", "_render")

    def __init__(
        self, context: TreeContext, key: Key, render: Callable[[], tuple[bytes, int]], *, live: bool = False
    ) -> None:
        super().__init__(context, key)
        self._render = render
        self._live = live

    def attr(self) -> Attr:
        content, mtime = self._render()
        return derived_attr(self.context, self.inode, FILE_MODE, len(content), mtime, direct_io=self._live)

    def handle(self) -> Handle:
        return Rendered(self._render()[0], direct_io=self._live)


class DerivedLink(Derived[T], Link):
    """Subclasses give ``look``."""

    __slots__ = ()

    def look(self) -> tuple[str, int]:
        """Where it points, encoded as names are, and its mtime. MissingError once it is gone."""
        raise NotImplementedError

    def attr(self) -> Attr:
        goal, mtime = self.look()
        return derived_attr(self.context, self.inode, LINK_MODE, len(decode_name(goal)), mtime)

    def target(self) -> bytes:
        return decode_name(self.look()[0])


class Original(Fixed):
    """An open object of the garage, verified block by block."""

    __slots__ = ("_reader",)

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader.sums.sha256)
        self._reader = reader

    @property
    def size(self) -> int:
        return self._reader.sums.size

    def read(self, offset: int, length: int) -> bytes:
        found = self._reader.at_hand(offset, length)
        if found is None:
            blocks()
            found = self._reader.read_at(offset, length)
        return found

    def release(self) -> None:
        self._reader.close()


def open_original(stores: Stores, key: str, sha256: str) -> Handle:
    """The kept bytes, from the garage or, while they are on their way there, from the inbox. *Blocks*."""
    blocks()
    try:
        return Original(stores.garage.objects.open(key))
    except MissingError as error:
        small = stores.journal.inbox(sha256)
        if small is None:
            raise StoreError(f"The garage has lost {key}. Run kgfs restore-garage.") from error
        return Rendered(small)


def with_remedy(error: KgfsError) -> KgfsError:
    """The error, to be found in errors.ndjson with what to do: of a tree that is copied to an ontology a folder may be called as
    one of kgfs's own, and the program that copies shows the number alone."""
    return type(error)(
        f"{error} To copy a folder with all that is in it: cp -r FOLDER/. Ontology/documents/"
    ).to_be_logged()


def token_of(context: TreeContext) -> Hashable:
    """That of a listing which any change of graph or names may change."""
    return context.cache.position or (context.stores.graph.epoch(), context.stores.journal.seq())


def derived_attr(
    context: TreeContext, inode: int, mode: int, size: int, mtime: int, *, direct_io: bool = False
) -> Attr:
    return Attr(inode, mode, 1, context.uid, context.gid, size, mtime, mtime, mtime, direct_io)


def refuse_writing(writing: bool) -> None:
    if writing:
        raise DerivedError(
            "This file is derived from the documents and cannot be written. Change the documents instead."
        )
