"""Copy objects inside the garage, verified."""

from __future__ import annotations

import secrets
from contextlib import closing, suppress
from pathlib import Path

from kgfs.domain.documents import Name
from kgfs.errors import CorruptError, MissingError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.pending_uploads import COPY, WAITING, waiting_key
from kgfs.stores.spool_file import SpoolFile
from kgfs.stores.stores import Stores


def keep_again(stores: Stores, spool: Path, name_id: int, sha256: str, key: str) -> bool:
    """Restore the object ``key`` from a pending upload, if another home gave it up just when this home came to rely
    on it.

    The pending upload is that of the name ``name_id`` with the content ``sha256``, or that of any other name with the
    same content, since the name may have been merged with one of another home. Return True if the object is there,
    False if no upload with these bytes is left.
    """
    objects, waiting = stores.garage.objects, waiting_key(name_id, sha256)
    if objects.exists(key) or _is_made(stores, spool, waiting, key):
        return True
    others = [left for left, _ in objects.keys(WAITING) if left.endswith(f".{sha256}") and left != waiting]
    return any(_is_made(stores, spool, left, key) for left in others)


def _is_made(stores: Stores, spool: Path, left: str, key: str) -> bool:
    """Return whether the object ``key`` is there, copied from ``left`` if need be. A rotten ``left`` counts as
    absent."""
    with suppress(CorruptError):  # it is as good as gone, and no delivery must wait for it
        return duplicate(stores, spool, left, key)
    return False


def duplicate(stores: Stores, spool: Path, present: str, key: str) -> bool:
    """Copy the object ``present`` to ``key``; return False if ``present`` is absent, else True.

    Does nothing where ``key`` exists. Raise CorruptError where ``present`` is rotten. Idempotent. Memory stays flat.
    """
    objects = stores.garage.objects
    if objects.exists(key) or objects.copy(present, key):
        return True
    try:
        _pour(stores, spool, present, key)
    except MissingError:
        return False
    return True


def copy_within(stores: Stores, spool: Path, present: str, name: Name, key: str) -> None:
    """Copy the bytes of ``name`` inside the garage from ``present`` to ``key``: they came from a temporary file or
    another ontology.

    Raise MissingError if ``present`` is absent, CorruptError if it does not hold the bytes of ``name``.
    """
    objects = stores.garage.objects
    if objects.stat(present).sha256 == name.sha256 and objects.copy(present, key):
        return
    _pour(stores, spool, present, key, name.sha256, name.name)


def _pour(stores: Stores, spool: Path, present: str, key: str, sha256: str = "", called: str = "") -> None:
    """Copy an object by reading and putting it, verified. A content of one block needs no space on this machine's
    disk.

    The objects that no server copies have one block. Larger ones go through a file of the spool folder.
    """
    objects = stores.garage.objects
    with closing(objects.open(present)) as source:
        right = sha256 or source.sums.sha256
        if source.sums.size <= BLOCK:
            content = source.read_at(0, source.sums.size)
            objects.put(key, content, checked(sums_of(content), right, called or present))
            return
        goal = SpoolFile.make(spool / f"{COPY}{secrets.token_hex(8)}")
        try:
            while goal.size < source.sums.size:
                goal.write_at(goal.size, source.read_at(goal.size, BLOCK))
            objects.put(key, goal.path, checked(goal.sums(), right, called or present), move=True)
        finally:
            goal.close()
            goal.path.unlink(missing_ok=True)


def checked(sums: Sums, sha256: str, called: str) -> Sums:
    """Return ``sums``. Raise CorruptError if their SHA-256 is not ``sha256``; ``called`` names the bytes for people."""
    if sums.sha256 != sha256:
        raise CorruptError(f"The kept bytes of '{called}' are not those that were written (SHA-256 {sums.sha256}).")
    return sums
