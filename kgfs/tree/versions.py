"""Serve ``versions/<path>@/<n>.<ext>``: every content that a path has had, including the current one, by number.

Such views mirror documents/: folders keep their names, and files have a suffix.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from kgfs.domain.documents import Name, NameKind, Version
from kgfs.domain.names import encode_name
from kgfs.errors import MissingError
from kgfs.knowledge.document_location import version_file
from kgfs.render.names import history_folder, id_in, with_id
from kgfs.stores.catalog.facts import VersionMinted
from kgfs.stores.catalog.names import Names
from kgfs.tree import keys
from kgfs.tree.changes import NameLeft, NameShown
from kgfs.tree.derived import DerivedFile, DerivedFolder, open_original
from kgfs.tree.documents import FOLDER_TIMES, DocumentsFolder, children, live
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.listing import name_bytes
from kgfs.tree.node import Handle, Node, inode_of
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.view import Rule, on


class MirrorFolder(DerivedFolder[None]):
    """Serve the folder of a view that mirrors the folder ``name_id`` of documents/."""

    __slots__ = ("name_id",)

    def __init__(self, context: TreeContext, key: Key, name_id: int) -> None:
        super().__init__(context, key)
        self.name_id = name_id

    def group(self) -> tuple[str, Hashable]:
        return FOLDER_TIMES, None

    def mtime(self) -> int:
        return live(self.context.stores.catalog.names, self.name_id).mtime


class Mirror:
    """Invalidate the entries of such a view when a name of documents/ changes.

    ``folder`` and ``file`` return the keys of the mirrors of a folder and a file, by name id. ``called`` returns all
    names that may be shown for a file or folder, or None in place of an impossible name. If ``a<suffix>`` is added or
    removed, the mirror of ``a``, whose key is ``rival``, changes its name.
    """

    def __init__(
        self,
        suffix: str,
        folder: Callable[[int], Key],
        file: Callable[[int], Key],
        rival: Callable[[int], Key],
        called: Callable[[str, int], Iterable[str | None]],
    ) -> None:
        self.suffix = suffix
        self._folder = folder
        self._file = file
        self._rival = rival
        self._called = called

    def rules(self) -> tuple[Rule, ...]:
        return on(NameShown, self.shown), on(NameLeft, self._left)

    def shown(self, change: NameShown, stale: Invalidations) -> None:
        folder = self._folder(change.parent)
        if not stale.knows(folder):
            return
        for name in self._called(change.name, change.id):
            if name is not None:
                stale.key_entry(folder, name_bytes(name))
        stale.key(folder)
        self._rename_rival(change.parent, change.name, stale)

    def _left(self, change: NameLeft, stale: Invalidations) -> None:
        for inode in (change.id, inode_of(keys.text_file(change.id)), inode_of(keys.history(change.id))):
            known = stale.known(inode)
            for place, raw in known.places() if known else ():
                above = stale.known(place)
                folder = _mirrored(above.node) if above else 0
                shown = encode_name(raw)
                for name in {shown, shown.removesuffix(".md"), shown.removesuffix("@")} if folder else ():
                    self._rename_rival(folder, name, stale)
        for key in (self._file(change.id), self._folder(change.id)):
            stale.key_left(key)
            stale.key(key, data=True)

    def _rename_rival(self, parent: int, name: str, stale: Invalidations) -> None:
        stem = name.removesuffix(self.suffix)
        other = stem if stem != name else f"{name}{self.suffix}"
        sibling = stale.context.stores.catalog.names.child(parent, other)
        if sibling is not None:
            stale.key_left(self._rival(sibling.id))


def _mirrored(node: Node) -> int:
    """Return the name id of the folder of documents/ that the node is or mirrors; 0 for any other node."""
    return node.name_id if isinstance(node, DocumentsFolder | MirrorFolder) else 0


class VersionsFolder(MirrorFolder):
    """Mirror a folder of documents/: folders under their names, and files that have versions as ``<name>@``.

    A folder whose own name equals that of a file's history has its id added.
    """

    __slots__ = ()

    def __init__(self, context: TreeContext, name_id: int) -> None:
        super().__init__(context, keys.versions_folder(name_id), name_id)

    def lookup(self, name: str) -> Node | None:
        names = self.context.stores.catalog.names
        candidates = (
            names.child(self.name_id, name),
            names.child(self.name_id, name.removesuffix("@")) if name.endswith("@") else None,
            self._with_id(id_in(name, "@")),
            self._with_id(id_in(name, "")),
        )
        for found in candidates:
            if found is not None and self._shown(found, names) == name:
                return self._node(found)
        return None

    def entries(self) -> Sequence[tuple[str, Node]]:
        names = self.context.stores.catalog.names
        rows = list(children(names, self.name_id))
        shown = ((self._shown(row, names), row) for row in rows)
        return sorted(((name, self._node(row)) for name, row in shown if name), key=lambda entry: entry[0])

    def _with_id(self, name_id: int | None) -> Name | None:
        found = self.context.stores.catalog.names.name(name_id) if name_id and name_id < 1 << 63 else None
        return found if found and found.parent == self.name_id else None

    def _shown(self, name: Name, names: Names) -> str:
        """Return the name under which an entry is shown here; '' if it is not shown."""
        if name.kind is NameKind.FILE:
            return history_folder(name.name, name.id) if name.version else ""
        if name.kind is not NameKind.FOLDER or name.name.startswith("."):
            return ""
        rival = names.child(self.name_id, name.name.removesuffix("@")) if name.name.endswith("@") else None
        taken = rival is not None and rival.kind is NameKind.FILE and rival.version
        return with_id(name.name, name.id, "") if taken else name.name

    def _node(self, name: Name) -> Node:
        if name.kind is NameKind.FOLDER:
            return VersionsFolder(self.context, name.id)
        return HistoryFolder(self.context, name.id)


class HistoryFolder(DerivedFolder[None]):
    """Serve ``<name>@/``."""

    __slots__ = ("_name_id",)

    def __init__(self, context: TreeContext, name_id: int) -> None:
        super().__init__(context, keys.history(name_id))
        self._name_id = name_id

    def mtime(self) -> int:
        return max((version.minted_at for version in self._versions()), default=0)

    def entries(self) -> Sequence[tuple[str, Node]]:
        return [
            (version_file(version), VersionFile(self.context, self._name_id, version.n, version))
            for version in self._versions()
        ]

    def _versions(self) -> list[Version]:
        names = self.context.stores.catalog.names
        live(names, self._name_id)
        return names.versions(self._name_id)


class VersionFile(DerivedFile[Version]):
    """Serve ``<n>.<ext>``. Its bytes never change."""

    __slots__ = ("_n", "_name_id")

    def __init__(self, context: TreeContext, name_id: int, n: int, row: Version | None = None) -> None:
        super().__init__(context, keys.version(name_id, n), row)
        self._name_id = name_id
        self._n = n

    def measure(self) -> tuple[int, int]:
        version = self.take_row() or self._version()
        return version.size, version.minted_at

    def handle(self) -> Handle:
        version = self._version()
        return open_original(self.context.stores, version.key, version.sha256)

    def _version(self) -> Version:
        for version in self.context.stores.catalog.names.versions(self._name_id):
            if version.n == self._n:
                return version
        raise MissingError("The version is gone.")


def _called(name: str, name_id: int) -> tuple[str, ...]:
    return name, history_folder(name, name_id), with_id(name, name_id, "")


MIRROR = Mirror("@", keys.versions_folder, keys.history, keys.versions_folder, _called)


def history_changed(fact: VersionMinted, stale: Invalidations) -> None:
    """Invalidate the history folder and its names, because the kernel may have cached any version number as absent."""
    stale.key(keys.history(fact.id))
    stale.key_left(keys.history(fact.id))


def name_left(change: NameLeft, stale: Invalidations) -> None:
    """Invalidate all versions of a name that left its place."""
    for version in stale.context.stores.catalog.names.versions(change.id):
        stale.key(keys.version(change.id, version.n), data=True)
