"""Serve the garage view: the stored objects in their stored layout, read-only and verified when read.

``sources/<prefix>/<32 hex>.<ext>``, ``readings/``, ``records/``, ``decisions/`` and so on mirror the keys of the
garage. ``ledger/`` has its segments, which grow. Nothing is cached here: a folder is read again for each listing, so
an object that was stored a moment ago is there. A listing holds names only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgfs.domain.documents import Document, Ontology
from kgfs.domain.names import decode_name
from kgfs.errors import BadInputError, MissingError, NoSuchAttributeError, ReadOnlyError
from kgfs.stores.garage.contract import GarageEntry, Segment, SegmentReader
from kgfs.stores.stores import Stores
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.derived import Original
from kgfs.tree.listing import MadeOnAccess
from kgfs.tree.node import FILE_MODE, FOLDER_MODE, ROOT_INODE, Attr, AttrChange, File, Folder, Handle, Node, inode_of
from kgfs.tree.places import GARAGE
from kgfs.tree.view import Views

ATTRIBUTES = "user.kgfs."
LEDGER = "ledger"
SOURCES = "sources"


@dataclass(frozen=True, slots=True)
class GarageView:
    """Bundle what the garage view needs: the stores, the owner, the time and the table of views."""

    stores: Stores
    uid: int
    gid: int
    """The owner of everything is the user who mounted."""
    mounted_at: int
    """The time of the root, in nanoseconds."""
    views: Views

    def attr(self, inode: int, mode: int, size: int, at: int) -> Attr:
        return Attr(inode, mode, 1, self.uid, self.gid, size, at, at, at)


class _Kept(Node):
    """The base of nodes that cannot be changed in any way."""

    __slots__ = ()

    def change(self, wanted: AttrChange) -> Attr:
        raise refused()

    def set_attribute(self, name: str, value: bytes) -> None:
        raise refused()


class _KeptFolder(_Kept, Folder):
    """The base of folders of the garage view."""

    __slots__ = ("path", "view")

    def __init__(self, view: GarageView, path: str) -> None:
        self.view = view
        self.path = path
        """The path of keys; '' for the root."""

    @property
    def inode(self) -> int:
        return inode_of(keys.kept(self.path)) if self.path else ROOT_INODE


class KeysFolder(_KeptFolder):
    """Serve a folder of keys."""

    __slots__ = ()

    def attr(self) -> Attr:
        entry = self.view.stores.garage.objects.entry(self.path)
        return self.view.attr(self.inode, FOLDER_MODE, 0, entry.kept_at)

    def lookup(self, name: str) -> Node | None:
        return found_at(self.view, below(self.path, name))

    def entries(self) -> Sequence[tuple[str, Node]]:
        return MadeOnAccess(self.view.stores.garage.objects.names(self.path), self._entry)

    def _entry(self, listed: str) -> tuple[str, Node]:
        name = listed.removesuffix("/")
        path = f"{self.path}/{name}" if self.path else name
        shown = name.replace("%", "%25")  # the encoding of encode_name, for characters that a key may have
        return shown, KeysFolder(self.view, path) if listed.endswith("/") else KeptObject(self.view, path)


class GarageRoot(KeysFolder):
    """Serve the root of the garage view."""

    __slots__ = ()

    def __init__(self, view: GarageView) -> None:
        super().__init__(view, "")

    def attr(self) -> Attr:
        return self.view.attr(ROOT_INODE, FOLDER_MODE, 0, self.view.mounted_at)

    def lookup(self, name: str) -> Node | None:
        return self.view.views.find(GARAGE, name, self.view, self.view) or super().lookup(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        views = self.view.views.entries(GARAGE, self.view, self.view)
        return sorted([*super().entries(), *views], key=lambda entry: entry[0])


class KeptObject(_Kept, File):
    """Serve an object, whose bytes never change. The attributes of an object in ``sources/`` name its ontology and
    document.
    """

    __slots__ = ("_entry", "path", "view")

    def __init__(self, view: GarageView, path: str, entry: GarageEntry | None = None) -> None:
        self.view = view
        self.path = path
        self._entry = entry

    @property
    def inode(self) -> int:
        return inode_of(keys.kept(self.path))

    def attr(self) -> Attr:
        entry, self._entry = self._entry or self.view.stores.garage.objects.entry(self.path), None
        return self.view.attr(self.inode, FILE_MODE, entry.size, entry.kept_at)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        if write or truncate or append:
            raise refused()
        blocks()
        return Original(self.view.stores.garage.objects.open(self.path))

    def attributes(self) -> Sequence[str]:
        return tuple(ATTRIBUTES + name for name in self._facts())

    def attribute(self, name: str) -> bytes:
        known = self._facts() if name.startswith(ATTRIBUTES) and self._is_source() else {}
        value = known.get(name.removeprefix(ATTRIBUTES))
        if value is None:
            raise NoSuchAttributeError(f"No extended attribute {name}.")
        return value.encode()

    def _is_source(self) -> bool:
        return self.path.startswith(f"{SOURCES}/")

    def _facts(self) -> dict[str, str]:
        if not self._is_source():
            return {}
        sha256 = self.view.stores.garage.objects.stat(self.path).sha256
        ontology, document = self._owner(sha256)
        known = {
            "sha256": sha256,
            "doc_id": document.doc_id if document else "",
            "ontology": ontology.name if ontology else "",
            "key": self.path,
        }
        return {name: value for name, value in known.items() if value}

    def _owner(self, sha256: str) -> tuple[Ontology | None, Document | None]:
        prefix, names = self.path.split("/")[1], self.view.stores.catalog.names
        for ontology in names.ontologies():
            if ontology.prefix == prefix:
                return ontology, names.document_with(ontology.id, sha256)
        return None, None


class LedgerFolder(_KeptFolder):
    """Serve the ledger's segments."""

    __slots__ = ()

    def __init__(self, view: GarageView) -> None:
        super().__init__(view, LEDGER)

    def attr(self) -> Attr:
        segments = self.view.stores.garage.ledger.segments()
        changed_at = max((segment.changed_at for segment in segments), default=self.view.mounted_at)
        return self.view.attr(self.inode, FOLDER_MODE, 0, changed_at)

    def lookup(self, name: str) -> Node | None:
        return dict(self.entries()).get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        segments = self.view.stores.garage.ledger.segments()
        return [(segment.name, SegmentFile(self.view, segment.name, segment)) for segment in segments]


class SegmentFile(_Kept, File):
    """Serve a segment of the ledger."""

    __slots__ = ("_first", "_name", "_view")

    def __init__(self, view: GarageView, name: str, first: Segment | None) -> None:
        self._view = view
        self._name = name
        self._first = first
        """Used for the first request only."""

    @property
    def inode(self) -> int:
        return inode_of(keys.kept(below(LEDGER, self._name)))

    def attr(self) -> Attr:
        segment, self._first = self._first or self._segment(), None
        return self._view.attr(self.inode, FILE_MODE, segment.size, segment.changed_at)

    def _segment(self) -> Segment:
        for segment in self._view.stores.garage.ledger.segments():
            if segment.name == self._name:
                return segment
        raise MissingError(f"{self._name}: no such segment of the ledger.")

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        if write or truncate or append:
            raise refused()
        blocks()
        return SegmentHandle(self._view.stores.garage.ledger.open_segment(self._name))


class SegmentHandle(Handle):
    """Read a segment, including bytes that are appended while it is open, as ``tail -f`` expects."""

    __slots__ = ("_reader",)

    def __init__(self, reader: SegmentReader) -> None:
        self._reader = reader

    def read(self, offset: int, length: int) -> bytes:
        blocks()
        return self._reader.read_at(offset, length)

    def release(self) -> None:
        self._reader.close()


def found_at(view: GarageView, path: str) -> Node | None:
    """Return the object or folder at a path of keys; None if there is none."""
    try:
        entry = view.stores.garage.objects.entry(path)
    except (MissingError, BadInputError):  # a path that cannot be a key does not exist either
        return None
    return KeysFolder(view, path) if entry.folder else KeptObject(view, path, entry)


def below(folder: str, name: str) -> str:
    """Return the path of an entry. ``name`` is encoded as names of the tree are."""
    part = decode_name(name).decode("ascii", "replace") if "%" in name else name
    return f"{folder}/{part}" if folder else part


def refused() -> ReadOnlyError:
    """Return the error for a change in the garage view."""
    return ReadOnlyError(
        "The garage is shown as it is kept; nothing in it can be changed. Change the documents instead."
    )
