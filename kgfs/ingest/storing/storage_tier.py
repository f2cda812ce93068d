"""Move a name's bytes into the garage under their key, from inbox, spool or another key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kgfs.domain.documents import Name, StorageTier
from kgfs.errors import MissingError, from_os_error
from kgfs.failpoints import border
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.object_copies import checked, copy_within
from kgfs.stores.pending_uploads import WAITING, key_on_the_way, waiting_key
from kgfs.stores.stores import Stores

CONCURRENCY = 8
"""Small objects that are put at the same time. One after the other, each would wait for the disk three times."""


def bring_home(stores: Stores, spool: Path, name: Name, key: str, sums: Sums | None = None) -> None:
    """Put the bytes of ``name`` into the garage: the object ``key`` holds them, durably, when this returns.

    Idempotent. No writer may have the file open, since its spool file becomes the object. ``sums`` are those of the
    bytes, if the caller has hashed them. Memory stays flat. Raises MissingError where the bytes are gone, CorruptError
    where they are damaged, and what the garage raises.
    """
    if name.place is StorageTier.NONE:
        return
    kept = _is_kept(stores, name, key)
    # While the source is there the object is put again, even if it exists: the process that put it may have been
    # killed before the object's folder was synced, and the source is deleted after this.
    if name.place is StorageTier.INBOX:
        small = small_of(stores, name, key)
        if small is not None:
            put_small(stores, {key: small})
        return
    if name.place is StorageTier.SPOOL and (spool / name.key).exists():
        _move(stores, spool / name.key, name, key, sums)
    elif kept:
        return
    elif name.place is StorageTier.SPOOL:
        copy_within(stores, spool, key_on_the_way(stores, name), name, key)
    else:
        copy_within(stores, spool, name.key, name, key)
    border("garage-put")


def wait_too(stores: Stores, spool: Path, name: Name, sums: Sums | None = None) -> None:
    """Put a copy of the bytes of ``name`` into the garage as a pending upload, before they are deleted where they are
    now.

    The garage has the bytes under a key that this home relies on. Another home may give up that object until the
    ledger has the fact that this home relies on it. In that case :meth:`keep_again` restores the object from the
    copy. If what was written is delivered already, the copy is there already, and nothing is done. The conditions of
    :meth:`bring_home` apply.
    """
    objects, waiting = stores.garage.objects, waiting_key(name.id, name.sha256)
    if objects.exists(waiting):
        return
    small = small_here(stores, name)
    if small is not None:
        objects.put(waiting, *small)
    elif name.place is StorageTier.SPOOL and (spool / name.key).exists():
        objects.put(waiting, spool / name.key, _whole(spool / name.key, name, sums))
    else:  # the process that moved them was killed before it recorded that, or they are another ontology's
        present = name.key if name.place is StorageTier.GARAGE else key_on_the_way(stores, name)
        copy_within(stores, spool, present, name, waiting)
    border("waits-too")


def small_here(stores: Stores, name: Name) -> tuple[bytes, Sums] | None:
    """Return the bytes and sums of a name's inbox row; None if there is no such row (any more). Raise CorruptError if
    they are damaged."""
    small = stores.catalog.inbox(name.sha256) if name.place is StorageTier.INBOX else None
    return None if small is None else (small, _verified(name, sums_of(small)))


def small_of(stores: Stores, name: Name, key: str) -> tuple[bytes, Sums] | None:
    """Return the bytes and sums of a small content that is to be put under ``key``; None if the garage has it under
    that key already.

    The bytes come from the inbox, or else from a pending upload in the garage. Raise MissingError if neither has
    them, CorruptError if they are damaged.
    """
    here = small_here(stores, name)
    if here is not None:
        return here
    if _is_kept(stores, name, key):
        return None
    try:  # another home wrote it and never came back
        small = stores.garage.objects.get(waiting_key(name.id, name.sha256))
    except MissingError as error:
        raise MissingError(f"The kept bytes of '{name.name}' are not in the inbox.") from error
    return small, _verified(name, sums_of(small))


def put_small(stores: Stores, contents: Mapping[str, tuple[bytes, Sums]]) -> None:
    """Put small contents into the garage, several at the same time, so that one sync of the disk makes several
    durable.

    ``contents`` maps keys to bytes and sums. A pending upload that exists already is not sent again. Raises what the
    garage raises.
    """
    objects = stores.garage.objects

    def put(key: str, content: bytes, sums: Sums) -> None:
        if not (key.startswith(WAITING) and objects.exists(key)):
            objects.put(key, content, sums)

    if len(contents) == 1:
        ((key, small),) = contents.items()
        put(key, *small)
    elif contents:
        with ThreadPoolExecutor(CONCURRENCY, "kgfs-settle") as several:
            # After a failure the puts that have not begun are cancelled: each would wait for a silent server anew.
            list(several.map(lambda one: put(one[0], *one[1]), contents.items()))
    border("garage-put")


def _is_kept(stores: Stores, name: Name, key: str) -> bool:
    """Return whether the object ``key`` exists and holds the bytes of ``name``."""
    objects = stores.garage.objects
    return objects.exists(key) and objects.stat(key).sha256 == name.sha256


def _whole(kept: Path, name: Name, sums: Sums | None) -> Sums:
    """Cut a working copy to its kept length, and return its sums; ``sums`` are returned if they are those of
    ``name``.

    Raise CorruptError if the bytes differ from those that were kept.
    """
    try:
        # A writer that was killed, or refused by a full disk, may have written more than was kept.
        if kept.stat().st_size > name.size:
            os.truncate(kept, name.size)
        if sums is None or sums.sha256 != name.sha256:
            sums = _verified(name, sums_of(kept))
    except OSError as error:
        raise from_os_error(error, f"Reading the working copy {kept} of '{name.name}'") from error
    return sums


def _move(stores: Stores, kept: Path, name: Name, key: str, sums: Sums | None) -> None:
    sums = _whole(kept, name, sums)
    waiting = waiting_key(name.id, name.sha256) if stores.catalog.sharing else ""
    stores.garage.objects.put(key, kept, sums, move=True, present=waiting)


def _verified(name: Name, sums: Sums) -> Sums:
    return checked(sums, name.sha256, name.name)
