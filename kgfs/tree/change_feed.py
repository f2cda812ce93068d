"""Derive what the kernel must forget from the feeds of the catalog and the graph.

The feed is polled on the event loop, every 0.1 s while something happens in the home (``fuse.pulse``). A poll costs three indexed reads if nothing has changed. Facts and
changes of the graph become changes of the tree (:mod:`.changes`), and the table of views maps those to invalidations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from kgfs.domain.names import encode_name
from kgfs.errors import KgfsError
from kgfs.stores.catalog.facts import (
    AttributesSet,
    ContentKept,
    FileMade,
    FolderMade,
    LinkMade,
    QuestionRemoved,
    QuestionSaved,
    SearchRemoved,
    SearchSaved,
    SettingChanged,
)
from kgfs.tree import ontology
from kgfs.tree.changes import FolderTimesChanged, PathsChanged, SearchesChanged, Translator
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import Invalidation, Invalidations, StaleEntry, StaleInode
from kgfs.tree.node import ROOT_INODE, Folder
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.vfs import Vfs
from kgfs.tree.view import on

BATCH = 1000
"""Maximum number of facts, and of changes, that one poll processes. Later polls process the rest."""

STAY = (
    *(FileMade, FolderMade, LinkMade, ContentKept, AttributesSet, SettingChanged),
    *(SearchSaved, SearchRemoved, QuestionSaved, QuestionRemoved),
)
"""Facts that leave the place of every known Document unchanged."""


class ChangeFeed:
    """Poll the catalog and the graph for changes, and translate them into invalidations. Used on the event loop only."""

    def __init__(self, context: TreeContext, vfs: Vfs) -> None:
        self._context = context
        self._catalog = context.stores.catalog
        self._graph = context.stores.graph
        self._inodes = vfs.inodes
        self._stale = Invalidations(context, vfs.inodes)
        self._translator = Translator(context.stores)
        self._rules: dict[type, list[Callable[[Any, Invalidations], None]]] = defaultdict(list)
        everywhere = on(PathsChanged, lambda _, stale: stale.everything_derived())
        for kind, make_stale in (everywhere, *ontology.RULES, *context.views.rules()):
            self._rules[kind].append(make_stale)
        self._seq = self._catalog.seq()
        self._clears = self._graph.clears()
        self._epoch = self._graph.epoch()
        self._lost = False
        self._heard()

    def poll(self) -> list[Invalidation]:
        """Return what has changed since the last call.

        Return invalidations for everything if a feed does not reach back that far or if the previous call failed half
        way.
        """
        lost, self._lost = self._lost, True
        if lost:
            self._context.cache.move(None)
            self._context.deposits.recent.heard(None)
        known = not lost and self._facts() and self._changes()
        if not known:
            # Keep this order: if the graph is replaced in between, the next poll detects it.
            self._seq, self._clears, self._epoch = self._catalog.seq(), self._graph.clears(), self._graph.epoch()
            self._context.searches.graph_moved()
            self._context.questions.graph_moved()
        self._heard()
        stale = self._stale.take()
        self._lost = False
        return stale if known else everything(self._inodes)

    def _heard(self) -> None:
        self._context.cache.move((self._clears, self._epoch, self._seq))
        self._context.deposits.recent.heard(self._seq)

    def _facts(self) -> bool:
        newest = self._catalog.seq()
        if newest == self._seq:
            return True
        facts = self._catalog.facts(self._seq, BATCH) if newest > self._seq else None
        if facts is None:
            return False
        for seq, fact in facts:
            self._apply(self._translator.of_fact(fact))
            self._seq = seq
        if any(not isinstance(fact, STAY) for _, fact in facts):
            self._context.searches.names_moved()
            self._apply([SearchesChanged()])
        return True

    def _changes(self) -> bool:
        if self._graph.clears() != self._clears:
            return False
        newest = self._graph.epoch()
        if newest == self._epoch:
            return True
        changes = self._graph.changes(self._epoch, BATCH) if newest > self._epoch else None
        if changes is None:
            return False
        for change in changes:
            self._apply(self._translator.of_graph(change))
        self._context.searches.graph_moved()
        self._context.questions.graph_moved()
        self._apply([SearchesChanged(), FolderTimesChanged()])
        self._epoch = changes[-1].epoch if changes else newest
        return True

    def _apply(self, changes: Iterable[object]) -> None:
        for change in changes:
            for make_stale in self._rules.get(type(change), ()):
                make_stale(change, self._stale)


def everything(inodes: Inodes) -> list[Invalidation]:
    """Return invalidations for all that the kernel knows, except names of folders that are still correct."""
    stale: list[Invalidation] = [StaleEntry(*place) for place in inodes.negatives()]
    for inode, known in inodes.all():
        stale.append(StaleInode(inode, data=not isinstance(known.node, Folder)))
        if inode != ROOT_INODE:
            stale += [
                StaleEntry(parent, name)
                for parent, name in known.places()
                if not (isinstance(known.node, Folder) and _stands(inodes, parent, name, inode))
            ]
    return stale


def _stands(inodes: Inodes, parent: int, name: bytes, inode: int) -> bool:
    known = inodes.get(parent)
    if known is None or not isinstance(known.node, Folder):
        return False
    try:
        found = known.node.lookup(encode_name(name))
    except KgfsError:
        return False
    return found is not None and found.inode == inode
