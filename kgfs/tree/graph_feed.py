"""From changes of the graph to what the kernel must forget."""

from __future__ import annotations

from kgfs.domain.knowledge import RELATIONSHIP_TYPES
from kgfs.stores.graph.vocabulary import Change
from kgfs.tree import keys
from kgfs.tree.aftermath import Aftermath
from kgfs.tree.listing import name_bytes
from kgfs.tree.tree_context import TreeContext


class GraphFeed:
    def __init__(self, context: TreeContext, aftermath: Aftermath) -> None:
        self._names = context.stores.journal.names
        self._graph = context.stores.graph
        self._after = aftermath
        self._stale = aftermath.stale

    def hear(self, change: Change) -> None:
        self._after.about(change.ontology)
        if change.kind == "document":
            self._document(change)
        elif change.kind == "concept":
            self._concept(change)
        elif change.kind == "evidence":
            self._evidence(change)
        elif change.kind == "related":
            self._related(change)

    def _document(self, change: Change) -> None:
        doc_id = change.name
        # Its folder's entries depend on whether it is shown at all, and links to concepts on how it was read.
        self._stale.key_entry(keys.archived(doc_id), b"text.txt")
        self._stale.key_entry(keys.archived(doc_id), b"concepts")
        self._after.document(doc_id)
        for name in self._names.names_of(doc_id):
            self._after.mirrored(name.parent, name.name, name.id)
            self._stale.key_left(keys.text_file(name.id))
            self._stale.key(keys.text_file(name.id), data=True)

    def _concept(self, change: Change) -> None:
        if change.what != "changed":
            shown = name_bytes(f"{change.name}.concept")
            self._stale.key_entry(keys.part(change.ontology, "concepts"), shown)
            self._stale.key_entry(keys.ontology(change.ontology), shown)
        concept_id = self._graph.names_taken(change.ontology, [change.name]).get(change.name)
        if concept_id is not None:
            self._stale.key(keys.concept(concept_id))
            self._stale.key(keys.concept_md(concept_id), data=True)
            self._stale.key(keys.evidence(concept_id, concept_id))
            self._stale.key(keys.shortcut(concept_id))
            if self._stale.knows(keys.related(concept_id)):
                for type_ in ("", *RELATIONSHIP_TYPES, *RELATIONSHIP_TYPES.values()):
                    self._stale.key(keys.related(concept_id, type_))

    def _evidence(self, change: Change) -> None:
        number = int(change.name)
        if change.what != "changed":
            self._after.piece_entry(change.owner, number)
        self._after.piece(change.owner, number)

    def _related(self, change: Change) -> None:
        concept_id, (type_, _, name) = change.owner, change.name.partition("/")
        self._stale.key(keys.related(concept_id))
        self._stale.key(keys.related(concept_id, type_))
        self._stale.key(keys.related(concept_id, type_, name))
        self._stale.key(keys.related(concept_id, type_, name, "concept.md"), data=True)
        if change.what != "changed":
            # Of two relationships to one concept the second has another name: all names below the type may move.
            self._stale.key_entry(keys.related(concept_id), type_.encode())
