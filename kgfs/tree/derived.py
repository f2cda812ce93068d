"""Define the bases of derived entries: their owner, modes and inode numbers, and the refusal of changes.

A node from a listing or a lookup carries the row by which it was found. The row is used for the first request only:
the kernel asks again much later, and then the store is asked again too.

An ontology whose documents/ was removed is in an intermediate state of ``rm -rf Ontology``. A program can never
remove derived entries by themselves, so ``rm -rf`` could not finish; and to accept such a removal without doing it
would be a lie. Therefore the removal of documents/ takes everything derived from it along. documents/ is listed
first, so every program that removes a tree empties it first. ``rmdir documents`` leaves an ontology that lists
nothing. A program may then remove entries that it read in the listing before; this succeeds and changes nothing.
Last, the program removes the ontology itself.

Nothing is lost: only an empty documents/ can be removed, and its files are in the trash. ``mkdir documents``, or any
new file, brings everything back. The recorded state is the time of documents/ at its removal, so any later change
ends the state by itself, independent of its origin.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from kgfs.domain.names import decode_name
from kgfs.errors import KgfsError, MissingError, NotEmptyError, ReadOnlyError, StoreError
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.stores.garage.contract import Reader
from kgfs.stores.stores import Stores
from kgfs.stores.thread_slots import blocks
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
SETTING = "documents_removed"

PAGE = 1000
"""Number of rows that listings read in one query."""


class Derived(Node, Generic[T]):
    """The base of derived nodes. Subclasses implement ``attr``."""

    __slots__ = ("_row", "context", "key")

    def __init__(self, context: TreeContext, key: Key, row: T | None = None) -> None:
        """Create a node. ``row`` is the row by which the node was found; it is used once."""
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
    """The base of derived folders. Subclasses implement ``mtime`` (MissingError once the folder is gone) and
    ``entries``, and ``lookup`` if it can avoid listing all entries.
    """

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
        raise with_remedy(ReadOnlyError("This folder is derived from the documents. Make files in documents/ instead."))

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        raise with_remedy(
            ReadOnlyError("This folder is derived from the documents. Make folders in documents/ instead.")
        )


class DerivedFile(Derived[T], File):
    """The base of derived files. Subclasses implement ``measure`` (MissingError once the file is gone) and ``content``,
    whose size is exactly the one that ``measure`` returns.
    """

    __slots__ = ()

    def measure(self) -> tuple[int, int]:
        """Return the size in bytes and the mtime in nanoseconds."""
        raise NotImplementedError

    def content(self) -> bytes:
        raise NotImplementedError

    def attr(self) -> Attr:
        size, mtime = self.measure()
        return derived_attr(self.context, self.inode, FILE_MODE, size, mtime)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return self.handle()

    def handle(self) -> Handle:
        blocks()
        return Rendered(self.content())


class StayingFile(DerivedFile[T]):
    """The base of derived files that are found by a row and stay the same until a change is reported."""

    __slots__ = ()
    quick = False
    """Whether the content is made with a few indexed reads, so that it need not be made in a thread."""

    def attr(self) -> Attr:
        return super().attr() if self._row is not None else self.context.cache.seen(self.key, super().attr)

    def handle(self) -> Handle:
        cache = self.context.cache
        try:
            content = cache.rendered(self.key, self._rendered)
            if len(content) != self.attr().size:
                cache.forget()  # bytes and attributes are of different commits: the next lookup must find the newest
        except MissingError:
            # The cache still has the file. The kernel looks the file up again, and must not find it there.
            cache.forget()
            raise
        return Rendered(content)

    def _rendered(self) -> bytes:
        if not self.quick:
            blocks()
        return self.content()


class Page(DerivedFile[None]):
    """A file that is rendered when its attributes are read, and again when it is opened.

    ``render`` returns its bytes and its mtime, and takes no longer than a few indexed reads. It raises MissingError
    once the file is gone. With ``live``, the kernel caches neither size nor contents, because they may change at any
    moment.
    """

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
    """The base of derived links. Subclasses implement ``measure``."""

    __slots__ = ()

    def measure(self) -> tuple[str, int]:
        """Return the target, encoded as names are, and the mtime in nanoseconds. Raise MissingError once the link is
        gone.
        """
        raise NotImplementedError

    def attr(self) -> Attr:
        goal, mtime = self.measure()
        return derived_attr(self.context, self.inode, LINK_MODE, len(decode_name(goal)), mtime)

    def target(self) -> bytes:
        return decode_name(self.measure()[0])


class Original(Fixed):
    """An open object of the garage whose blocks are verified when they are read."""

    __slots__ = ("_reader",)

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader.sums.sha256)
        self._reader = reader

    @property
    def size(self) -> int:
        return self._reader.sums.size

    def read(self, offset: int, length: int) -> bytes:
        found = self._reader.cached(offset, length)
        if found is None:
            blocks()
            found = self._reader.read_at(offset, length)
        return found

    def release(self) -> None:
        self._reader.close()


def open_original(stores: Stores, key: str, sha256: str) -> Handle:
    """Return a handle of the stored bytes, from the garage or, while they are on their way there, from the inbox.
    *Blocks*.

    Raise StoreError if neither has them.
    """
    blocks()
    try:
        return Original(stores.garage.objects.open(key))
    except MissingError as error:
        small = stores.catalog.inbox(sha256)
        if small is None:
            raise StoreError(
                f"The garage has lost {key}. Deposit the same file again, or take it from a backup."
            ) from error
        return Rendered(small)


def with_remedy(error: KgfsError) -> KgfsError:
    """Return the error with a remedy, marked to be logged in errors.ndjson.

    In a tree that is copied to an ontology, a folder may have the same name as one of kgfs's own folders. The copying
    program shows the error number only.
    """
    return type(error)(
        f"{error} To copy a folder with all that is in it: cp -r FOLDER/. Ontology/documents/"
    ).to_be_logged()


def token_of(context: TreeContext) -> Hashable:
    """Return the token of a listing that any change of graph or names may change."""
    return context.cache.position or (context.stores.graph.epoch(), context.stores.catalog.seq())


def derived_attr(
    context: TreeContext, inode: int, mode: int, size: int, mtime: int, *, direct_io: bool = False
) -> Attr:
    """Return attributes of a derived entry. It belongs to the user who mounted, and ``mtime`` is all three of its
    times.
    """
    return Attr(inode, mode, 1, context.uid, context.gid, size, mtime, mtime, mtime, direct_io)


def refuse_writing(writing: bool) -> None:
    """Raise ReadOnlyError if ``writing`` is true."""
    if writing:
        raise ReadOnlyError(
            "This file is derived from the documents and cannot be written. Change the documents instead."
        )


def is_being_removed(context: TreeContext, ontology_id: str) -> bool:
    """Return whether documents/ of the ontology was removed and has not changed since. *Quick*."""
    names = context.stores.catalog.names
    removed = names.settings(ontology_id).get(SETTING)
    if not removed:
        return False
    ontology = names.ontology(ontology_id)
    documents = names.name(ontology.root) if ontology else None
    if documents is None or removed != str(documents.mtime):
        return False
    return not names.children(documents.id, limit=1)


def remove_documents(context: TreeContext, ontology_id: str, root: int) -> None:
    """Record the removal of an empty documents/. *Blocks*. Raise NotEmptyError while documents/ has entries."""
    if context.stores.catalog.names.children(root, limit=1):
        raise NotEmptyError("documents/ is not empty. Remove what is in it first; it goes to the trash.")
    documents = context.deposits.name(root)
    context.deposits.record(SettingChanged(ontology_id, SETTING, str(documents.mtime), time.time_ns()))
    # A program that removes a tree reads the next folder before the change feed reports anything, so no earlier
    # listing may be used.
    if context.cache.position is not None:
        context.cache.move((SETTING, context.stores.catalog.seq()))


def bring_back(context: TreeContext, ontology_id: str) -> None:
    """Record that documents/ is back. *Blocks*."""
    context.deposits.record(SettingChanged(ontology_id, SETTING, "", time.time_ns()))
