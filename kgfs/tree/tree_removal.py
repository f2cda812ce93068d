"""Handle an ontology whose documents/ was removed, an intermediate state of ``rm -rf Ontology``.

A program can never remove derived entries by themselves, so ``rm -rf`` could not finish; and to accept such a removal
without doing it would be a lie. Therefore the removal of documents/ takes everything derived from it along.
documents/ is listed first, so every program that removes a tree empties it first. ``rmdir documents`` leaves an
ontology that lists nothing. A program may then remove entries that it read in the listing before; this succeeds and
changes nothing. Last, the program removes the ontology itself.

Nothing is lost: only an empty documents/ can be removed, and its files are in the trash. ``mkdir documents``, or any
new file, brings everything back. The recorded state is the time of documents/ at its removal, so any later change
ends the state by itself, independent of its origin.
"""

from __future__ import annotations

import time

from kgfs.errors import NotEmptyError
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.tree.tree_context import TreeContext

SETTING = "documents_removed"


def is_being_removed(context: TreeContext, ontology_id: str) -> bool:
    """Return whether documents/ of the ontology was removed and has not changed since. *Quick*."""
    names = context.stores.catalog.names
    removed = names.settings(ontology_id).get(SETTING)
    if not removed:
        return False
    ontology = names.ontology(ontology_id)
    documents = names.name(ontology.root) if ontology else None
    if documents is None or removed != str(documents.mtime):
        return False
    return not names.children(documents.id, limit=1)


def remove_documents(context: TreeContext, ontology_id: str, root: int) -> None:
    """Record the removal of an empty documents/. *Blocks*. Raise NotEmptyError while documents/ has entries."""
    if context.stores.catalog.names.children(root, limit=1):
        raise NotEmptyError("documents/ is not empty. Remove what is in it first; it goes to the trash.")
    documents = context.deposits.name(root)
    context.deposits.record(SettingChanged(ontology_id, SETTING, str(documents.mtime), time.time_ns()))
    # A program that removes a tree reads the next folder before the change feed reports anything, so no earlier
    # listing may be used.
    if context.cache.position is not None:
        context.cache.move((SETTING, context.stores.catalog.seq()))


def bring_back(context: TreeContext, ontology_id: str) -> None:
    """Record that documents/ is back. *Blocks*."""
    context.deposits.record(SettingChanged(ontology_id, SETTING, "", time.time_ns()))
