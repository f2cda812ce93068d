"""Serve documents/, the originals, as an ordinary folder. Files that are written here are stored byte for byte and
ingested.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from kgfs.domain.documents import Document, Name, NameKind, Ontology, State
from kgfs.domain.documents import StorageTier as Kept
from kgfs.domain.names import decode_name
from kgfs.errors import IsAFolderError, MissingError, NoSuchAttributeError, NotAFolderError, RefusedError
from kgfs.ingest.writing.open_file import OpenFile
from kgfs.stores.catalog.facts import AttributesSet, ContentKept
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.pending import Pending
from kgfs.tree import keys
from kgfs.tree.changes import FolderTimesChanged, NameCame, NameChanged, NameLeft
from kgfs.tree.inodes import Place
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.listing import name_bytes
from kgfs.tree.node import Attr, AttrChange, Caller, File, Folder, Handle, Link, Node, inode_of
from kgfs.tree.timing import OWN_WRITES
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.view import Rule, on

N = TypeVar("N", bound=Node)

PAGE = 1000
ATTRIBUTES = "user.kgfs."

FOLDER_TIMES = "folder times"
"""The group of folders whose times follow those of a folder of documents/, including that folder."""

_TYPES = {NameKind.FOLDER: stat.S_IFDIR, NameKind.FILE: stat.S_IFREG, NameKind.LINK: stat.S_IFLNK}


class _Entry(Node):
    """The base of folders, files and links, which are all names."""

    __slots__ = ("_context", "_first", "_id", "_ontology")

    def __init__(self, context: TreeContext, ontology: Ontology, name_id: int, row: Name | None = None) -> None:
        self._context = context
        self._ontology = ontology
        self._id = name_id
        self._first = row
        """The row by which the node was found. It is used for the first request only, and only while the file is not
        open.
        """

    @property
    def inode(self) -> int:
        return self._id

    @property
    def name_id(self) -> int:
        return self._id

    def attr(self) -> Attr:
        """Return the attributes. Size and times include changes of an open file that are not stored yet."""
        deposits = self._context.deposits
        first, self._first = self._first, None
        shown = first if first is not None and deposits.copies.find(self._id) is None else deposits.shown(self._id)
        return _attr(shown)

    def attr_again(self) -> Attr:
        self._first = None
        return _attr(self._context.deposits.shown(self._id, lately=True))

    def change(self, wanted: AttrChange) -> Attr:
        deposits = self._context.deposits
        if wanted.size is not None:
            deposits.truncate(self._id, wanted.size)
        others = {
            "mode": None if wanted.mode is None else stat.S_IMODE(wanted.mode),
            "uid": wanted.uid,
            "gid": wanted.gid,
            "atime": wanted.atime,
            "mtime": wanted.mtime,
        }
        if any(value is not None for value in others.values()):
            deposits.set_attributes(self._id, **others)
        return self.attr()

    def _row(self) -> Name:
        return self._context.deposits.name(self._id)


class DocumentsFolder(_Entry, Folder):
    """Serve ``documents/`` itself, whose name id is ``ontology.root``, or a folder below it."""

    __slots__ = ()

    def group(self) -> tuple[str, Hashable]:
        return FOLDER_TIMES, None

    def lookup(self, name: str) -> Node | None:
        found = self._find(name)
        return self._node(found) if found else None

    def _find(self, name: str) -> Name | None:
        return self._context.stores.catalog.names.child(self._id, name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        names = self._context.deposits.recent
        found: list[tuple[str, Node]] = []
        after = ""
        while page := names.children(self._id, after, PAGE):
            found += [(name.name, self._node(name)) for name in page]
            after = page[-1].name
        return found

    def token(self) -> Hashable | None:
        return self._context.stores.catalog.seq(), self._context.deposits.copies.generation

    def make_file(self, name: str, mode: int, caller: Caller) -> File:
        made = self._context.deposits.make_file(self._id, name, mode, caller.uid, caller.gid)
        return DocumentFile(self._context, self._ontology, made.id, made)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        made = self._context.deposits.make_folder(self._id, name, mode, caller.uid, caller.gid)
        return DocumentsFolder(self._context, self._ontology, made.id)

    def make_link(self, name: str, target: str, caller: Caller) -> Link:
        made = self._context.deposits.make_link(self._id, name, target, caller.uid, caller.gid)
        return DocumentLink(self._context, self._ontology, made.id)

    def remove_file(self, name: str) -> None:
        found = self._child(name)
        if found.kind is NameKind.FOLDER:
            raise IsAFolderError(f"'{name}' is a folder.")
        self._context.deposits.remove(found.id)

    def remove_folder(self, name: str) -> None:
        found = self._child(name)
        if found.kind is not NameKind.FOLDER:
            raise NotAFolderError(f"'{name}' is not a folder.")
        self._context.deposits.remove(found.id)

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        found = self._child(name)
        taker = goal.receiving(new_name, folder=found.kind is NameKind.FOLDER)
        if not isinstance(taker, DocumentsFolder):
            raise RefusedError(f"'{name}' can be moved only within documents/ folders. Copy it instead.")
        self._context.deposits.move(found.id, taker.name_id, new_name, replace=replace)

    def sync(self) -> None:
        self._context.deposits.sync()

    def receiving(self, name: str, *, folder: bool) -> Folder:
        return self

    def _child(self, name: str) -> Name:
        found = self._find(name)
        if found is None:
            raise MissingError(f"'{name}' does not exist.")
        return found

    def _node(self, name: Name) -> Node:
        return node_of(self._context, self._ontology, name)


class BesideFolder(DocumentsFolder):
    """Serve a folder of documents/ under its path without ``documents/``: ``<Ontology>/sub`` for
    ``<Ontology>/documents/sub``.

    The folder and its subfolders have inodes of their own. Files have the same inode by both paths.
    """

    __slots__ = ()

    @property
    def inode(self) -> int:
        return inode_of(keys.beside(self._id))

    def attr(self) -> Attr:
        return replace(super().attr(), inode=self.inode)

    def attr_again(self) -> Attr:
        return replace(super().attr_again(), inode=self.inode)

    def change(self, wanted: AttrChange) -> Attr:
        return replace(super().change(wanted), inode=self.inode)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        return self._beside(super().make_folder(name, mode, caller))

    def _node(self, name: Name) -> Node:
        return self._beside(super()._node(name))

    def _beside(self, found: N) -> N | BesideFolder:
        return beside(found) if isinstance(found, DocumentsFolder) else found


def beside(folder: DocumentsFolder) -> BesideFolder:
    """Return the same folder under its path without ``documents/``."""
    return BesideFolder(folder._context, folder._ontology, folder.name_id)


class DocumentFile(_Entry, File):
    """Serve a file of documents/. Its extended attributes describe the stored bytes."""

    __slots__ = ()

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        # The row is still there only if the file has just been made.
        known, self._first = self._first, None
        opened = self._context.deposits.open(self._id, write=write, truncate=truncate, append=append, known=known)
        return DocumentHandle(opened)

    def attributes(self) -> Sequence[str]:
        return tuple(ATTRIBUTES + name for name in self._facts())

    def attribute(self, name: str) -> bytes:
        value = self._facts().get(name.removeprefix(ATTRIBUTES)) if name.startswith(ATTRIBUTES) else None
        if value is None:
            raise NoSuchAttributeError(f"No extended attribute {name}.")
        return value.encode()

    def _facts(self) -> dict[str, str]:
        """Return what is known about the stored bytes; unknown values are left out."""
        row = self._row()
        document = self._document(row)
        known = {
            "sha256": row.sha256,
            "doc_id": document.doc_id if document else "",
            "state": document.state.value if document else State.KEPT.value if row.sha256 else "",
            "key": row.key if row.place is Kept.GARAGE else "",
            "decision": row.decision if row.settled else "",
            "reason": row.reason if row.settled else "",
        }
        return {name: value for name, value in known.items() if value}

    def _document(self, row: Name) -> Document | None:
        """Return the Document of exactly the stored bytes. Until new content is settled, the name still has the
        Document of the previous content.
        """
        document = self._context.stores.catalog.names.document(row.doc_id) if row.doc_id else None
        return document if document and document.sha256 == row.sha256 else None


class DocumentLink(_Entry, Link):
    """Serve a symbolic link as it was made. kgfs never follows it."""

    __slots__ = ()

    def target(self) -> bytes:
        return decode_name(self._row().target)


class DocumentHandle(Handle):
    """A handle of an open file of documents/."""

    __slots__ = ("_file", "keep_cache")

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self.keep_cache = file.keep_cache

    def read(self, offset: int, length: int) -> bytes:
        return self._file.read(offset, length)

    def write(self, offset: int, data: bytes) -> int:
        return self._file.write(offset, data)

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def flush(self) -> Pending | None:
        return self._file.flush()

    def sync(self) -> None:
        self._file.sync()

    def release(self) -> None:
        self._file.release()


def node_of(context: TreeContext, ontology: Ontology, name: Name) -> Node:
    """Return the node of a name of documents/."""
    if name.kind is NameKind.FOLDER:
        return DocumentsFolder(context, ontology, name.id, name)
    if name.kind is NameKind.LINK:
        return DocumentLink(context, ontology, name.id, name)
    return DocumentFile(context, ontology, name.id, name)


def _attr(shown: Name | None) -> Attr:
    if shown is None:
        raise MissingError("It was removed.")
    return attr_of(shown)


def attr_of(name: Name) -> Attr:
    """Return the attributes of a name's row."""
    return Attr(
        inode=name.id,
        mode=_TYPES[name.kind] | name.mode,
        nlink=1,
        uid=name.uid,
        gid=name.gid,
        size=name.size,
        atime=name.atime,
        mtime=name.mtime,
        ctime=name.ctime,
    )


def live(names: Names, name_id: int) -> Name:
    """Return the row of a live name. Raise MissingError once the name is gone."""
    found = names.name(name_id)
    if found is None:
        raise MissingError("The file or folder was removed.")
    return found


def children(names: Names, parent: int) -> Iterator[Name]:
    """Yield all live entries of a folder of documents/, in order."""
    page = names.children(parent, limit=PAGE)
    while page:
        yield from page
        page = names.children(parent, after=page[-1].name, limit=PAGE) if len(page) == PAGE else []


# The kernel already knows the changes that this mount made itself (see ``Inodes``).


def name_came(change: NameCame, stale: Invalidations) -> None:
    """Invalidate the places of a new name and the folders above it."""
    for place in _places(change, stale):
        stale.appeared(*place)
        stale.inode(place[0])


def name_left(change: NameLeft, stale: Invalidations) -> None:
    """Invalidate the former places of a name, but not the places where it is now."""
    places = _places(change.now, stale) if change.now else []
    kind = stale.context.stores.catalog.names.name(change.id) if change.now else None
    if kind is not None and kind.kind is not NameKind.FOLDER:
        stale.left(change.id, but=places)
        return
    stale.left(change.id, but=places[:1])
    stale.left(inode_of(keys.beside(change.id)), but=places[1:])


def name_changed(change: NameChanged | AttributesSet, stale: Invalidations) -> None:
    """Invalidate the attributes of a name, by both of its paths."""
    stale.inode(change.id)
    stale.key(keys.beside(change.id))
    name = stale.context.stores.catalog.names.name(change.id)
    if name is not None and not name.parent:
        stale.key(keys.ontology(name.ontology))


def content_kept(fact: ContentKept, stale: Invalidations) -> None:
    """Invalidate a file whose content was stored. Its pages stay cached if the content was written through this
    mount.
    """
    known = stale.known(fact.id)
    if known is not None:
        ours = known.writers > 0 or time.monotonic() - known.written < OWN_WRITES
        stale.inode(fact.id, data=not ours)


def folder_times(change: FolderTimesChanged, stale: Invalidations) -> None:
    """Invalidate the times of folders of documents/ and of the folders that mirror them."""
    for inode, _ in stale.group(FOLDER_TIMES):
        stale.inode(inode)


def _places(name: NameCame, stale: Invalidations) -> list[Place]:
    """Return the places of a name of documents/: in documents/ itself, and by its path without ``documents/``."""
    raw = name_bytes(name.name)
    row = stale.context.stores.catalog.names.name(name.parent)
    if row is None:
        return [(name.parent, raw)]
    above = keys.beside(row.id) if row.parent else keys.ontology(name.ontology)
    return [(name.parent, raw), (inode_of(above), raw)]


RULES: tuple[Rule, ...] = (
    on(NameCame, name_came),
    on(NameLeft, name_left),
    on(NameChanged, name_changed),
    on(AttributesSet, name_changed),
    on(ContentKept, content_kept),
    on(FolderTimesChanged, folder_times),
)
