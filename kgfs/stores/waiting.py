"""Where the garage has bytes that homes share before they are settled, so that all of them can read what one has written, and
while they leave."""

from __future__ import annotations

import re

from kgfs.domain.documents import Place
from kgfs.stores.garage.contract import Objects
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ContentKept

_KEY = re.compile(r"inbox/([0-7][0-9a-f]{15}|[0-9a-f]{1,15})\.([0-9a-f]{64})")
WAITING = "inbox/"
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
