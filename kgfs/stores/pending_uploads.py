"""The keys of objects in the garage that are not settled yet or are about to be deleted. Homes that share a garage
upload contents before settling them, so that all homes can read them."""

from __future__ import annotations

import re

from kgfs.domain.documents import Name, StorageTier
from kgfs.errors import MissingError
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ContentKept
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import Objects
from kgfs.stores.stores import Stores

_KEY = re.compile(r"inbox/([0-7][0-9a-f]{15}|[0-9a-f]{1,15})\.([0-9a-f]{64})")
WAITING = "inbox/"
COPY = "copy-"
"""The prefix of the names of copies in the spool that are being uploaded."""
LEAVING = "leaving/"
"""The prefix, followed by the id of the home that deletes them, of originals that no name, version or trash entry
refers to any more. The home keeps them there until it is certain of that."""


def waiting_key(name_id: int, sha256: str) -> str:
    """Return the key of a content of one name that is not settled yet. The object is deleted once the name is
    settled, unless a version has it."""
    return f"{WAITING}{name_id:x}.{sha256}"


def copies_leaving(objects: Objects, key: str) -> list[str]:
    """Return the copies of an original that homes have set aside to delete it. Costs one listing and one request a
    home."""
    # One request a home, however many objects are set aside.
    copies = [f"{LEAVING}{home}{key}" for home in objects.names(LEAVING.removesuffix("/"))]
    return [copy for copy in copies if objects.exists(copy)]


def is_awaited(catalog: Catalog, key: str) -> bool:
    """Return whether the content under ``key`` is needed: its name is still to be settled with that content, a
    version has it, or a fact that is not shipped yet refers to it. Facts that other homes have not shipped yet are
    unknown here."""
    found = _KEY.fullmatch(key)
    name = catalog.names.name(int(found[1], 16)) if found else None
    if found and name is not None and name.sha256 == found[2] and name.place is not StorageTier.GARAGE:
        return True
    tail = map(decode, catalog.unshipped(1 << 62)[1])
    undelivered = any(isinstance(fact, ContentKept) and waiting_key(fact.id, fact.sha256) == key for fact in tail)
    return undelivered or catalog.promises(key)


def is_wanted(stores: Stores, key: str) -> bool:
    """Return whether the object ``key``, an original or derived from one, is needed as far as this home knows: a
    name, a version or the trash refers to it, its deletion is pending, its document is known, or it may be the
    only copy of a file that is to be settled. Call it while nothing is being settled."""
    catalog, (top, _, rest) = stores.catalog, key.partition("/")
    if top != "sources":
        return catalog.names.document(rest.partition("/")[0]) is not None
    content = rest.rpartition("/")[2].partition(".")[0]
    waiting = catalog.names.unsettled(quiet_before=2**63 - 1)
    return (
        catalog.promises(key)
        or bool(catalog.unheld([key]))
        or any(name.sha256.startswith(content) for name in waiting if name.sha256)
    )


def key_on_the_way(stores: Stores, name: Name) -> str:
    """Return the garage key of bytes that have left the spool while the fact about that is not recorded yet.
    Raises MissingError if the garage does not have them either."""
    names = stores.catalog.names
    if stores.catalog.sharing and stores.garage.objects.exists(key := waiting_key(name.id, name.sha256)):
        return key
    document = names.document_with(name.ontology, name.sha256)
    if document is not None and stores.garage.objects.exists(document.key):
        return document.key
    # Removed ontologies too: the file may have been moved out of one before it was removed.
    ontologies = [*names.ontologies(), *names.removed_ontologies()]
    for ontology in sorted(ontologies, key=lambda one: one.id != name.ontology):
        for key, size in stores.garage.objects.keys(f"sources/{ontology.prefix}/{name.sha256[:32]}."):
            if size == name.size:
                return key
    raise MissingError(f"The kept bytes of '{name.name}' are neither in the spool nor in the garage.")
