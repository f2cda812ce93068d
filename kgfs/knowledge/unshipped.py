"""The files that a bucket does not have as they are here."""

from __future__ import annotations

from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ContentKept, FileMade, LinkMade, Moved, Settled, TrashRestored, VersionMinted
from kgfs.stores.stores import Stores

NAMED = (ContentKept, FileMade, LinkMade, Moved, Settled, TrashRestored, VersionMinted)
"""Facts that give a file its content or its name."""
EVERYTHING = 2**63 - 1


def unshipped(stores: Stores) -> list[str]:
    """Return the paths, as ``ONTOLOGY/documents/PATH``, of the live files whose newest content or name was never shipped,
    in the order in which they were last written. A folder stands for what is below it."""
    names = stores.catalog.names
    facts = map(decode, stores.catalog.unshipped(EVERYTHING)[1])
    ids = [fact.id for fact in facts if isinstance(fact, NAMED)]
    ids += [name.id for name in names.unsettled()]
    ontologies = {ontology.id: ontology.name for ontology in names.ontologies()}
    found = ((names.name(name_id), names.path(name_id)) for name_id in dict.fromkeys(ids))
    return [f"{ontologies[name.ontology]}/documents/{path}" for name, path in found if name is not None and path]
