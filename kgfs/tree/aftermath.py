"""What follows for derived views when a name, a document or a piece of evidence changes; shared by all news."""

from __future__ import annotations

from collections import defaultdict

from kgfs.domain.names import encode_name
from kgfs.render.names import history_folder, with_id, with_suffix
from kgfs.tree import keys
from kgfs.tree.documents import DocumentsFolder
from kgfs.tree.evidence import EvidenceFolder
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import Stale
from kgfs.tree.listing import name_bytes
from kgfs.tree.node import Node, inode_of
from kgfs.tree.ontology import OntologyFolder
from kgfs.tree.search import ResultFile, ResultsFolder
from kgfs.tree.text import TextFolder
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.versions import VersionsFolder

PIECE = ("source.txt", "quote.txt", "citation.json", "document")
ARCHIVED = ("", "text.txt", "metadata.json", "concepts")

_FOLLOWED = frozenset(
    {DocumentsFolder, TextFolder, VersionsFolder, OntologyFolder, ResultsFolder, ResultFile, EvidenceFolder}
)
"""Nodes to be kept in mind; most are none of these, and there may be a million."""


class Aftermath:
    def __init__(self, context: TreeContext, inodes: Inodes) -> None:
        self.stale = Stale(inodes)
        self._inodes = inodes
        self._context = context
        self._mirrors: set[int] = set()
        """Known folders whose times follow documents/: itself, text/, versions/ and the ontology's own."""
        self._seen_from: dict[str, set[str]] = defaultdict(set)
        """Owner of evidence → concepts in whose folder the kernel knows it."""
        self._searched: set[int] = set()
        """Known folders and files of searches."""
        inodes.watch(self._came, self._went)

    def _came(self, inode: int, node: Node) -> None:
        if type(node) not in _FOLLOWED:
            return
        if isinstance(node, DocumentsFolder | TextFolder | VersionsFolder | OntologyFolder):
            self._mirrors.add(inode)
        elif isinstance(node, ResultsFolder | ResultFile):
            self._searched.add(inode)
        elif isinstance(node, EvidenceFolder):
            owner, concept_id = _seen(node)
            self._seen_from[owner].add(concept_id)

    def _went(self, inode: int, node: Node) -> None:
        if type(node) not in _FOLLOWED:
            return
        self._mirrors.discard(inode)
        self._searched.discard(inode)
        if isinstance(node, EvidenceFolder):
            owner, concept_id = _seen(node)
            self._seen_from[owner].discard(concept_id)
            if not self._seen_from[owner]:
                del self._seen_from[owner]

    def mirrors(self) -> None:
        """Their times: a fact about what left a folder does not say which one it was."""
        for inode in self._mirrors:
            self.stale.inode(inode)

    def searches(self) -> None:
        """What searches found may be found no more, or stand elsewhere: its names are looked up again."""
        for inode in self._searched:
            known = self._inodes.get(inode)
            if known is not None and isinstance(known.node, ResultsFolder):
                self.stale.inode(inode)
            for place in known.places() if known is not None and isinstance(known.node, ResultFile) else ():
                self.stale.entry(*place)

    def derived(self) -> None:
        """The contents of everything derived: a path or a name that may be shown anywhere is another."""
        for inode, known in self._inodes.all():
            if not isinstance(known.node, DocumentsFolder) and inode < 1 << 61:
                self.stale.inode(inode, data=True)

    def mirrored(self, parent: int, name: str, name_id: int) -> None:
        """A file or folder of documents/ came to, left or got a version at this place: so did its reflections."""
        text, versions = keys.text_folder(parent), keys.versions_folder(parent)
        if inode_of(text) not in self._mirrors and inode_of(versions) not in self._mirrors:
            return
        for shown in (name, with_suffix(name, ".md"), with_id(name, name_id, ".md")):
            if shown is not None:
                self.stale.key_entry(text, name_bytes(shown))
        for shown in (name, history_folder(name, name_id), with_id(name, name_id, "")):
            self.stale.key_entry(versions, name_bytes(shown))
        self.stale.key(text)
        self.stale.key(versions)
        self._rival(parent, name)

    def rivals(self, name_id: int) -> None:
        """A file left the places where the kernel knows it or its reflections."""
        for inode in (name_id, *map(inode_of, (keys.text_file(name_id), keys.history(name_id)))):
            known = self._inodes.get(inode)
            for place, raw in known.places() if known else ():
                above = self._inodes.get(place)
                folder = _mirrored_folder(above.node) if above else 0
                shown = encode_name(raw)
                for name in {shown, shown.removesuffix(".md"), shown.removesuffix("@")} if folder else ():
                    self._rival(folder, name)

    def _rival(self, parent: int, name: str) -> None:
        """Where ``a.md`` comes or goes, the Text of ``a`` is called differently; and so for ``a`` and ``a@``."""
        for suffix, key in ((".md", keys.text_file), ("@", keys.versions_folder)):
            stem = name.removesuffix(suffix)
            other = stem if stem != name else f"{name}{suffix}"
            sibling = self._context.stores.journal.names.child(parent, other)
            if sibling is not None:
                self.stale.key_left(key(sibling.id))

    def document(self, doc_id: str) -> None:
        """Its state, or where it stands: its archive folder, its evidence and the ontology's page."""
        for entry in ARCHIVED:
            self.stale.key(keys.archived(doc_id, entry), data=True)
        found = self._context.stores.journal.names.document(doc_id)
        if found is not None:
            self.about(found.ontology)
        if self._seen_from:
            for row in self._context.stores.graph.instances_of(doc_id):
                self.piece(row.owner, row.n)

    def piece(self, owner: str, n: int) -> None:
        for concept_id in self._seen_from.get(owner, ()):
            for entry in ("", *PIECE):
                self.stale.key(keys.piece(owner, concept_id, n, entry), data=True)

    def piece_entry(self, owner: str, n: int) -> None:
        """A number appeared or left."""
        for concept_id in self._seen_from.get(owner, ()):
            folder = keys.evidence(owner, concept_id)
            self.stale.key_entry(folder, str(n).encode())
            self.stale.key(folder)

    def about(self, ontology_id: str) -> None:
        self.stale.key(keys.part(ontology_id, "about.md"), data=True)
        self.stale.key(keys.part(ontology_id, "archive"))
        self.stale.key(keys.part(ontology_id, "concepts"))


def _seen(folder: EvidenceFolder) -> tuple[str, str]:
    """Whose evidence, and from which concept: the parts of its key."""
    _, owner, concept_id = folder.key
    return str(owner), str(concept_id)


def _mirrored_folder(node: Node) -> int:
    """The name id of the folder of documents/ that it is, or reflects; 0 for any other."""
    if isinstance(node, DocumentsFolder):
        return node.name_id
    return int(node.key[1]) if isinstance(node, TextFolder | VersionsFolder) else 0
