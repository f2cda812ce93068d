"""An ontology whose documents/ was removed: what ``rm -rf Ontology`` passes through on its way.

Derived entries can never be removed by themselves, so ``rm -rf`` could not end; and to accept their removal without
doing it would be a lie. Therefore documents/, listed first and so emptied first by every program that removes a tree,
takes all that is derived from it along: ``rmdir documents`` leaves an ontology that lists nothing. What a program has
read in the listing before it may then be removed once more, which changes nothing; last the ontology itself goes.

Nothing is lost: only an empty documents/ can be removed, its files are in the trash. ``mkdir documents``, or any file
that comes, brings all of it back. What is written down is the time of documents/ at its removal: any change since ends
the state by itself, whoever makes it.
"""

from __future__ import annotations

import time

from kgfs.errors import NotEmptyError
from kgfs.stores.journal.facts import SettingChanged
from kgfs.tree.tree_context import TreeContext

SETTING = "documents_removed"


def is_being_removed(context: TreeContext, ontology_id: str) -> bool:
    """*Quick*."""
    names = context.stores.journal.names
    removed = names.settings(ontology_id).get(SETTING)
    if not removed:
        return False
    ontology = names.ontology(ontology_id)
    documents = names.name(ontology.root) if ontology else None
    if documents is None or removed != str(documents.mtime):
        return False
    # What another home made there before, unseen by who removed the rest, moved the time before that did.
    return not names.children(documents.id, limit=1)


def remove_documents(context: TreeContext, ontology_id: str, root: int) -> None:
    """NotEmptyError while something stands in documents/. *Blocks*."""
    if context.stores.journal.names.children(root, limit=1):
        raise NotEmptyError("documents/ is not empty. Remove what is in it first; it goes to the trash.")
    documents = context.deposits.name(root)
    context.deposits.record(SettingChanged(ontology_id, SETTING, str(documents.mtime), time.time_ns()))
    # Who removes a tree looks into the next folder before any news are heard: no listing from before may be used.
    if context.cache.position is not None:
        context.cache.move((SETTING, context.stores.journal.seq()))


def bring_back(context: TreeContext, ontology_id: str) -> None:
    """*Blocks*."""
    context.deposits.record(SettingChanged(ontology_id, SETTING, "", time.time_ns()))
