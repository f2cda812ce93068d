"""Bytes of files that wait for their settling, where homes share a garage: put there to be read by all, taken away after.
How they are read stands in :mod:`.content`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from kgfs.domain.documents import Place
from kgfs.errors import MissingError, RotError, from_os_error
from kgfs.ingest.keeping.content import is_held
from kgfs.ingest.keeping.place import copy_within
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.journal.facts import ContentKept
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import COPY, key_on_the_way, waiting_key


def put_waiting(stores: Stores, spool: Path, fact: ContentKept) -> bool:
    """Whether the garage has the bytes now; not where they are not here any more, since they were written again or are the
    garage's own already. RotError where they are damaged. Memory stays flat."""
    key = waiting_key(fact.id, fact.sha256)
    if fact.place == Place.INBOX:
        small = stores.journal.inbox(fact.sha256)
        if small is None:
            return False
        sums = sums_of(small)
        if sums.sha256 != fact.sha256:
            raise RotError(f"The kept bytes of {fact.id:x} are damaged in the inbox.")
        stores.garage.objects.put(key, small, sums)
        return True
    return _put_file(stores, spool, fact, key)


def find_waiting(stores: Stores, spool: Path, fact: ContentKept) -> bool:
    """Whether the garage has the bytes now, that :func:`put_waiting` did not find: they may wait there since before a process of
    this home was killed, or have been brought to where they are kept, with no fact yet that says so. RotError as there."""
    key = waiting_key(fact.id, fact.sha256)
    if stores.garage.objects.exists(key):
        return stores.garage.objects.stat(key).sha256 == fact.sha256
    name = stores.journal.names.name(fact.id)
    if name is None or name.sha256 != fact.sha256:
        return False
    try:
        copy_within(stores, spool, key_on_the_way(stores, name), name, key)
    except MissingError:
        return False
    return True


def _put_file(stores: Stores, spool: Path, fact: ContentKept, key: str) -> bool:
    """A working copy goes on being written behind what was kept of it, so that much is copied first."""
    path = spool / fact.key
    copy = spool / f"{COPY}{secrets.token_hex(8)}"
    try:
        if not is_held(path) and path.stat().st_size == fact.size:
            os.link(path, copy)
        else:
            _copy(path, copy, fact.size)
        sums = sums_of(copy)
        if sums.sha256 != fact.sha256:  # what is kept of a working copy is never changed
            raise RotError(f"The kept bytes of {fact.id:x} are damaged in {path}.")
        stores.garage.objects.put(key, copy, sums)
        return True
    except FileNotFoundError:
        # It left, or its copy did, which somebody who began meanwhile took for one that a killed process had left.
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
    """The bytes of a name that was settled, as all hosts know, are where they belong. A version that is a conflict goes
    on having them where they waited."""
    key = waiting_key(name_id, sha256)
    if not stores.journal.promises(key):
        stores.garage.objects.delete(key)
