"""Find the kept bytes of a name that are on their way to their key in the garage, and copy them there, verified."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path

from kgfs.domain.documents import Name
from kgfs.errors import CorruptError, MissingError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.spool_file import SpoolFile
from kgfs.stores.stores import Stores

COPY = "copy-"
"""The prefix of the names of copies in the spool that are being uploaded."""


def is_wanted(stores: Stores, key: str) -> bool:
    """Return whether the object ``key``, an original or derived from one, is needed: a name, a version or the trash
    refers to it, its deletion is pending, its document is known, or it may be the only copy of a file that is to be
    settled. Call it while nothing is being settled."""
    catalog, (top, _, rest) = stores.catalog, key.partition("/")
    if top != "sources":
        return catalog.names.document(rest.partition("/")[0]) is not None
    content = rest.rpartition("/")[2].partition(".")[0]
    waiting = catalog.names.unsettled()
    return (
        catalog.promises(key)
        or bool(catalog.unheld([key]))
        or any(name.sha256.startswith(content) for name in waiting if name.sha256)
    )


def key_on_the_way(stores: Stores, name: Name) -> str:
    """Return the garage key of bytes that have left the spool while the fact about that is not recorded yet.
    Raises MissingError if the garage does not have them either."""
    names = stores.catalog.names
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


def copy_within(stores: Stores, spool: Path, present: str, name: Name, key: str) -> None:
    """Copy the bytes of ``name`` inside the garage from ``present`` to ``key``: they came from a temporary file or
    another ontology.

    Raise MissingError if ``present`` is absent, CorruptError if it does not hold the bytes of ``name``.
    """
    objects = stores.garage.objects
    # A content of one block needs no space on this machine's disk. Larger ones go through a file of the spool folder.
    with closing(objects.open(present)) as source:
        if source.sums.size <= BLOCK:
            content = source.read_at(0, source.sums.size)
            objects.put(key, content, checked(sums_of(content), name.sha256, name.name))
            return
        goal = SpoolFile.make(spool / f"{COPY}{secrets.token_hex(8)}")
        try:
            while goal.size < source.sums.size:
                goal.write_at(goal.size, source.read_at(goal.size, BLOCK))
            objects.put(key, goal.path, checked(goal.sums(), name.sha256, name.name), move=True)
        finally:
            goal.close()
            goal.path.unlink(missing_ok=True)


def checked(sums: Sums, sha256: str, called: str) -> Sums:
    """Return ``sums``. Raise CorruptError if their SHA-256 is not ``sha256``; ``called`` names the bytes for people."""
    if sums.sha256 != sha256:
        raise CorruptError(f"The kept bytes of '{called}' are not those that were written (SHA-256 {sums.sha256}).")
    return sums
