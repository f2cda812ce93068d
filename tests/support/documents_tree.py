"""A tree that is nothing but the documents/ of one ontology, over real stores."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Sequence
from typing import Any, cast

from kgfs.domain.documents import Ontology
from kgfs.tree.documents import DocumentsFolder
from kgfs.tree.node import FOLDER_MODE, ROOT_INODE, Attr, Folder, Node
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.views import TREE
from tests.support.depositing import Desk

BORN = time.time_ns()


class Root(Folder):
    def __init__(self, documents: DocumentsFolder) -> None:
        self._documents = documents

    @property
    def inode(self) -> int:
        return ROOT_INODE

    def attr(self) -> Attr:
        return Attr(ROOT_INODE, FOLDER_MODE, 2, os.getuid(), os.getgid(), 0, BORN, BORN, BORN)

    def lookup(self, name: str) -> Node | None:
        return self._documents if name == "documents" else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        return [("documents", self._documents)]

    def token(self) -> Hashable:
        return 0


def world_of(desk: Desk) -> TreeContext:
    stores = cast(Any, desk.stores)
    return TreeContext(desk.config, stores, desk.deposits, desk.session.id, os.getuid(), os.getgid(), BORN, TREE)


def documents_of(desk: Desk, ontology: Ontology) -> DocumentsFolder:
    return DocumentsFolder(world_of(desk), ontology, ontology.root)


def root_of(desk: Desk) -> Root:
    made = desk.catalog.names.ontology_named("Notes") or desk.deposits.make_ontology(
        "Notes", 0o755, os.getuid(), os.getgid()
    )
    return Root(documents_of(desk, made))
