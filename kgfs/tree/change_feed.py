"""What the kernel must forget, learnt from the feeds of journal and graph.

Asked every tenth of a second on the event loop; each question costs three indexed reads while nothing happened.
"""

from __future__ import annotations

from kgfs.domain.names import encode_name
from kgfs.errors import KgfsError
from kgfs.stores.journal.facts import (
    AttributesSet,
    ContentKept,
    FileMade,
    FolderMade,
    LinkMade,
    SearchRemoved,
    SearchSaved,
    SettingChanged,
)
from kgfs.tree.aftermath import Aftermath
from kgfs.tree.graph_feed import GraphFeed
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import Invalidation, StaleEntry, StaleInode
from kgfs.tree.names_feed import NamesFeed
from kgfs.tree.node import ROOT_INODE, Folder
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.vfs import Vfs

AT_ONCE = 1000
"""Facts and changes looked at in one question; the rest waits for the next."""

STAY = (FileMade, FolderMade, LinkMade, ContentKept, AttributesSet, SettingChanged, SearchSaved, SearchRemoved)
"""Facts after which every Document that is known stands where it stood."""


class ChangeFeed:
    def __init__(self, context: TreeContext, vfs: Vfs) -> None:
        self._cache = context.cache
        self._recent = context.deposits.recent
        self._searches = context.searches
        self._journal = context.stores.journal
        self._graph = context.stores.graph
        self._inodes = vfs.inodes
        self._after = Aftermath(context, vfs.inodes)
        self._names_news = NamesFeed(context, vfs.inodes, self._after)
        self._graph_news = GraphFeed(context, self._after)
        self._seq = self._journal.seq()
        self._clears = self._graph.clears()
        self._epoch = self._graph.epoch()
        self._lost = False
        self._heard()

    def poll(self) -> list[Invalidation]:
        """What changed since this was last asked. Everything, if a feed does not reach back so far, or if the question
        before this one failed half way."""
        lost, self._lost = self._lost, True
        if lost:
            self._cache.move(None)
            self._recent.heard(None)
        known = not lost and self._facts() and self._changes()
        if not known:
            # In this order: a graph that is put in place of this one in between is found out by the next question.
            self._seq, self._clears, self._epoch = self._journal.seq(), self._graph.clears(), self._graph.epoch()
            self._searches.graph_moved()
        self._heard()
        news = self._after.stale.take()
        self._lost = False
        return news if known else everything(self._inodes)

    def _heard(self) -> None:
        self._cache.move((self._clears, self._epoch, self._seq))
        self._recent.heard(self._seq)

    def _facts(self) -> bool:
        newest = self._journal.seq()
        if newest == self._seq:
            return True
        facts = self._journal.facts(self._seq, AT_ONCE) if newest > self._seq else None
        if facts is None:
            return False
        for seq, fact in facts:
            self._names_news.hear(fact)
            self._seq = seq
        if any(not isinstance(fact, STAY) for _, fact in facts):
            self._searches.names_moved()
            self._after.searches()
        return True

    def _changes(self) -> bool:
        if self._graph.clears() != self._clears:
            return False
        newest = self._graph.epoch()
        if newest == self._epoch:
            return True
        changes = self._graph.changes(self._epoch, AT_ONCE) if newest > self._epoch else None
        if changes is None:
            return False
        for change in changes:
            self._graph_news.hear(change)
        self._searches.graph_moved()
        self._after.searches()
        self._after.mirrors()
        self._epoch = changes[-1].epoch if changes else newest
        return True


def everything(inodes: Inodes) -> list[Invalidation]:
    """All the kernel was told, but for the names of folders that are still right."""
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
