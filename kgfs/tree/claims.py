"""Serve ``claims/``: a folder of claims for each role, all of them in one file, and those that validation refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import suppress
from functools import partial

from kgfs.domain.claims import file_name
from kgfs.domain.documents import Ontology
from kgfs.domain.knowledge import CLAIM_ROLES
from kgfs.errors import MissingError
from kgfs.knowledge import claims as knowledge
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.changes import ClaimChanged, OntologyChanged
from kgfs.tree.derived import DerivedFolder, StayingFile, is_being_removed, token_of
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.node import Node, inode_of
from kgfs.tree.tree_context import TreeContext

NAME = "claims"
GROUP = "claims"
ALL, REJECTED = "all.md", "rejected.ndjson"

Render = Callable[[], tuple[bytes, int]]


def folder(context: TreeContext, ontology: Ontology) -> Node | None:
    """Return ``claims/``; None for an ontology without claims."""
    return ClaimsFolder(context, ontology.id) if context.stores.graph.claims.has_any(ontology.id) else None


class _OfClaims(DerivedFolder[None]):
    """The base of the folders. All change with the ontology's graph."""

    __slots__ = ("_ontology_id",)

    def __init__(self, context: TreeContext, key: Key, ontology_id: str) -> None:
        super().__init__(context, key)
        self._ontology_id = ontology_id

    def group(self) -> tuple[str, Hashable]:
        return GROUP, self._ontology_id

    def mtime(self) -> int:
        return self.context.stores.graph.changed_at(self._ontology_id)

    def token(self) -> Hashable | None:
        return token_of(self.context), is_being_removed(self.context, self._ontology_id)


class ClaimsFolder(_OfClaims):
    """Serve ``claims/``."""

    __slots__ = ()

    def __init__(self, context: TreeContext, ontology_id: str) -> None:
        super().__init__(context, keys.part(ontology_id, NAME), ontology_id)

    def lookup(self, name: str) -> Node | None:
        if name in (ALL, REJECTED):
            return _files(self.context, self._ontology_id)[name]
        return RoleFolder(self.context, self._ontology_id, name) if name in self._roles() else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        """Return the roles and the files, rendered here, in a thread, since a listing needs their sizes."""
        if is_being_removed(self.context, self._ontology_id):
            return ()
        blocks()
        files = _files(self.context, self._ontology_id)
        for file in files.values():
            file.attr()
        return [*((role, RoleFolder(self.context, self._ontology_id, role)) for role in self._roles()), *files.items()]

    def _roles(self) -> Collection[str]:
        graph, ontology_id = self.context.stores.graph, self._ontology_id
        return self.context.cache.recall((NAME, ontology_id), lambda: graph.claims.counts(ontology_id))


class RoleFolder(_OfClaims):
    """Serve ``claims/<role>/``."""

    __slots__ = ("_role",)

    def __init__(self, context: TreeContext, ontology_id: str, role: str) -> None:
        super().__init__(context, keys.claims(ontology_id, role), ontology_id)
        self._role = role

    def lookup(self, name: str) -> Node | None:
        found = knowledge.claim_at(self.context.stores, self._ontology_id, self._role, name)
        return claim_md(self.context, self._ontology_id, found.shown.claim_id) if found else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        """Return the claims, their pages rendered as those of :class:`ClaimsFolder`."""
        blocks()
        listed: list[tuple[str, Node]] = []
        found = self.context.stores.graph.claims.living(self._ontology_id, self._role)
        for row in (one.shown for one in found):
            node = claim_md(self.context, self._ontology_id, row.claim_id)
            with suppress(MissingError):  # it left just now
                node.attr()
                listed.append((file_name(row.claim_id, row.claim), node))
        return sorted(listed, key=lambda entry: entry[0])


class ClaimFile(StayingFile[None]):
    """Serve a file of claims, which is rendered to learn its size. ``render`` returns its contents and its mtime."""

    __slots__ = ("_ontology_id", "_render")

    def __init__(self, context: TreeContext, key: Key, ontology_id: str, render: Render) -> None:
        super().__init__(context, key)
        self._ontology_id = ontology_id
        self._render = render

    def group(self) -> tuple[str, Hashable]:
        return GROUP, self._ontology_id

    def measure(self) -> tuple[int, int]:
        content, mtime = self._render()
        return len(content), mtime

    def content(self) -> bytes:
        return self._render()[0]


def claim_md(context: TreeContext, ontology_id: str, claim_id: str) -> ClaimFile:
    """Return ``claims/<role>/<name>.md``."""
    recall = context.cache.recall
    render = partial(knowledge.claim_page, context.stores, ontology_id, claim_id, recall)
    return ClaimFile(context, keys.claim(claim_id), ontology_id, render)


def _files(context: TreeContext, ontology_id: str) -> dict[str, ClaimFile]:
    """Return the files of all claims, and of the rejected ones."""
    stores, recall = context.stores, context.cache.recall
    renders: dict[str, Render] = {
        ALL: partial(knowledge.all_claims, stores, ontology_id),
        REJECTED: partial(knowledge.rejected_claims, stores, ontology_id, recall),
    }
    return {
        name: ClaimFile(context, keys.claims(ontology_id, name), ontology_id, render)
        for name, render in renders.items()
    }


def claim_changed(change: ClaimChanged, stale: Invalidations) -> None:
    """Invalidate the names that come and go with a claim: its file, the folder of its role, ``claims/``."""
    graph, ontology_id = stale.context.stores.graph, change.ontology
    claims = keys.part(ontology_id, NAME)
    if graph.claims.has_any(ontology_id):
        stale.appeared(inode_of(keys.ontology(ontology_id)), NAME.encode())
    else:
        stale.key_left(claims)
    if not stale.knows(claims) or not change.claim_id:
        return
    found = graph.claims.find([change.claim_id]).get(change.claim_id)
    if found is None:
        stale.key_left(keys.claim(change.claim_id))
        for role in set(CLAIM_ROLES) - graph.claims.counts(ontology_id).keys():
            stale.key_left(keys.claims(ontology_id, role))
        return
    row = found.shown
    place = (inode_of(keys.claims(ontology_id, row.role)), file_name(row.claim_id, row.claim).encode())
    stale.left(inode_of(keys.claim(row.claim_id)), but=[place])
    stale.appeared(*place)
    stale.appeared(inode_of(claims), row.role.encode())


def ontology_changed(change: OntologyChanged, stale: Invalidations) -> None:
    """Invalidate what is known of an ontology's claims: their pages show paths, concepts and other claims."""
    for inode, _ in stale.group(GROUP, change.ontology):
        if stale.has_data(inode):  # the same was done for an earlier change of this commit
            return
        stale.inode(inode, data=True)
