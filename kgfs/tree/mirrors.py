"""Support views that mirror documents/: folders keep their names, and files have a suffix."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from kgfs.domain.names import encode_name
from kgfs.tree import keys
from kgfs.tree.changes import NameLeft, NameShown
from kgfs.tree.derived import DerivedFolder
from kgfs.tree.documents import FOLDER_TIMES, DocumentsFolder, live
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.listing import name_bytes
from kgfs.tree.node import Node, inode_of
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
