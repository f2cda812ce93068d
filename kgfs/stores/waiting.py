"""Where the garage has bytes before they are settled, as homes that share it do, so that all of them can read what one has written,
and while they leave."""

from __future__ import annotations

import re

from kgfs.domain.documents import Name, Place
from kgfs.errors import MissingError
from kgfs.stores.garage.contract import Objects
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ContentKept
from kgfs.stores.stores import Stores

_KEY = re.compile(r"inbox/([0-7][0-9a-f]{15}|[0-9a-f]{1,15})\.([0-9a-f]{64})")
WAITING = "inbox/"
COPY = "copy-"
"""What the names of copies in the spool begin with that are on their way to the garage."""
LEAVING = "leaving/"
"""Below it, and the id of the home that deletes them: originals that nobody promises any more, until it is certain of that."""


def waiting_key(name_id: int, sha256: str) -> str:
    """The object of a content of one name. It goes once the name is settled, unless a version has it."""
    return f"{WAITING}{name_id:x}.{sha256}"


def copies_leaving(objects: Objects, key: str) -> list[str]:
    """Of an original: those that homes set aside which give it up."""
    # However much stands aside, what is asked is as many things as there are homes.
    copies = [f"{LEAVING}{home}{key}" for home in objects.names(LEAVING.removesuffix("/"))]
    return [copy for copy in copies if objects.exists(copy)]


def is_awaited(journal: Journal, key: str) -> bool:
    """Whether a name is to be settled with that content, a version has it, or what is not delivered yet speaks of it. Of what
    others have not delivered yet nothing is known."""
    found = _KEY.fullmatch(key)
    name = journal.names.name(int(found[1], 16)) if found else None
    if found and name is not None and name.sha256 == found[2] and name.place is not Place.GARAGE:
        return True
    tail = map(decode, journal.unshipped(1 << 62)[1])
    undelivered = any(isinstance(fact, ContentKept) and waiting_key(fact.id, fact.sha256) == key for fact in tail)
    return undelivered or journal.promises(key)


def is_wanted(stores: Stores, key: str) -> bool:
    """Whether the object ``key``, an original or made of one, is counted on by what is known here: it is promised, is given up
    in its turn, is made of a document that is known, or may be all that is left of a file that is to be settled. To be asked while
    nobody settles."""
    journal, (top, _, rest) = stores.journal, key.partition("/")
    if top != "sources":
        return journal.names.document(rest.partition("/")[0]) is not None
    content = rest.rpartition("/")[2].partition(".")[0]
    waiting = journal.names.unsettled(quiet_before=2**63 - 1)
    return (
        journal.promises(key)
        or bool(journal.unheld([key]))
        or any(name.sha256.startswith(content) for name in waiting if name.sha256)
    )


def key_on_the_way(stores: Stores, name: Name) -> str:
    """The garage key of bytes that left the spool before the fact was recorded that says so. MissingError if they are
    not in the garage either."""
    names = stores.journal.names
    if stores.journal.sharing and stores.garage.objects.exists(key := waiting_key(name.id, name.sha256)):
        return key
    document = names.document_with(name.ontology, name.sha256)
    if document is not None and stores.garage.objects.exists(document.key):
        return document.key
    # Also those that were removed since: the file may have been moved out of one.
    ontologies = [*names.ontologies(), *names.removed_ontologies()]
    for ontology in sorted(ontologies, key=lambda one: one.id != name.ontology):
        for key, size in stores.garage.objects.keys(f"sources/{ontology.prefix}/{name.sha256[:32]}."):
            if size == name.size:
                return key
    raise MissingError(f"The kept bytes of '{name.name}' are neither in the spool nor in the garage.")
