"""Pending uploads: bytes of unsettled files in a shared garage, put there for all homes to read and deleted after
settling.

:mod:`kgfs.ingest.storing.content` reads them.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from kgfs.domain.documents import StorageTier
from kgfs.errors import CorruptError, MissingError, from_os_error
from kgfs.stores.catalog.facts import ContentKept
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.object_copies import copy_within
from kgfs.stores.pending_uploads import COPY, key_on_the_way, waiting_key
from kgfs.stores.spool_file import is_held
from kgfs.stores.stores import Stores


def put_waiting(stores: Stores, spool: Path, fact: ContentKept) -> bool:
    """Put the content of a fact into the garage as a pending upload; return whether the garage has it now.

    Return False where the bytes are not here any more, since the file was written again or they are in the garage
    already. Raise CorruptError where they are damaged. Memory stays flat.
    """
    key = waiting_key(fact.id, fact.sha256)
    if fact.place == StorageTier.INBOX:
        small = stores.catalog.inbox(fact.sha256)
        if small is None:
            return False
        sums = sums_of(small)
        if sums.sha256 != fact.sha256:
            raise CorruptError(f"The kept bytes of {fact.id:x} are damaged in the inbox.")
        stores.garage.objects.put(key, small, sums)
        return True
    return _put_file(stores, spool, fact, key)


def find_waiting(stores: Stores, spool: Path, fact: ContentKept) -> bool:
    """Return whether the garage has a pending upload that :func:`put_waiting` could not put from here.

    A process of this home that was killed may have put it. Or it may have moved the bytes to their final key, with no
    fact yet that says so; then they are copied from there. Raise CorruptError as :func:`put_waiting` does.
    """
    key = waiting_key(fact.id, fact.sha256)
    if stores.garage.objects.exists(key):
        return stores.garage.objects.stat(key).sha256 == fact.sha256
    name = stores.catalog.names.name(fact.id)
    if name is None or name.sha256 != fact.sha256:
        return False
    try:
        copy_within(stores, spool, key_on_the_way(stores, name), name, key)
    except MissingError:
        return False
    return True


def _put_file(stores: Stores, spool: Path, fact: ContentKept, key: str) -> bool:
    """Put the kept part of a spool file as a pending upload. A file that is still being written is copied up to that
    length first."""
    path = spool / fact.key
    copy = spool / f"{COPY}{secrets.token_hex(8)}"
    try:
        if not is_held(path) and path.stat().st_size == fact.size:
            os.link(path, copy)
        else:
            _copy(path, copy, fact.size)
        sums = sums_of(copy)
        if sums.sha256 != fact.sha256:  # the kept part of a working copy never changes
            raise CorruptError(f"The kept bytes of {fact.id:x} are damaged in {path}.")
        stores.garage.objects.put(key, copy, sums)
        return True
    except FileNotFoundError:
        # The file has left the spool, or its copy was deleted: a process that started meanwhile took it for a
        # leftover of a killed one.
        return path.exists() and _put_file(stores, spool, fact, key)
    except OSError as error:
        raise from_os_error(error, f"Copying the working copy {path}") from error
    finally:
        copy.unlink(missing_ok=True)


def _copy(path: Path, goal: Path, size: int) -> None:
    with path.open("rb") as source, goal.open("xb") as target:
        os.fchmod(target.fileno(), 0o600)
        while piece := source.read(min(BLOCK, size - target.tell())):
            target.write(piece)


def take_away(stores: Stores, name_id: int, sha256: str) -> None:
    """Delete the pending upload of a name that was settled or removed, as all homes know. A version that is a
    conflict keeps its upload."""
    key = waiting_key(name_id, sha256)
    if not stores.catalog.promises(key):
        stores.garage.objects.delete(key)
