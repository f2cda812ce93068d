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
from kgfs.stores.object_copies import checked, copy_within, key_on_the_way
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


def small_of(stores: Stores, name: Name, key: str) -> tuple[bytes, Sums] | None:
    """Return the bytes and sums of a small content of the inbox that is to be put under ``key``; None if the garage has
    it under that key already.

    Raise MissingError if neither has the bytes, CorruptError if they are damaged.
    """
    small = stores.catalog.inbox(name.sha256)
    if small is not None:
        return small, checked(sums_of(small), name.sha256, name.name)
    if _is_kept(stores, name, key):
        return None
    raise MissingError(f"The kept bytes of '{name.name}' are not in the inbox.")


def put_small(stores: Stores, contents: Mapping[str, tuple[bytes, Sums]]) -> None:
    """Put small contents into the garage, several at the same time, so that one sync of the disk makes several
    durable.

    ``contents`` maps keys to bytes and sums. Raises what the garage raises.
    """
    objects = stores.garage.objects
    if len(contents) == 1:
        ((key, small),) = contents.items()
        objects.put(key, *small)
    elif contents:
        with ThreadPoolExecutor(CONCURRENCY, "kgfs-settle") as several:
            # After a failure the puts that have not begun are cancelled: each would wait for a silent server anew.
            list(several.map(lambda one: objects.put(one[0], *one[1]), contents.items()))
    border("garage-put")


def _is_kept(stores: Stores, name: Name, key: str) -> bool:
    """Return whether the object ``key`` exists and holds the bytes of ``name``."""
    objects = stores.garage.objects
    return objects.exists(key) and objects.stat(key).sha256 == name.sha256


def _move(stores: Stores, kept: Path, name: Name, key: str, sums: Sums | None) -> None:
    """Cut a working copy to its kept length, and make it the object ``key``. ``sums`` are used if they are those of
    ``name``.

    Raise CorruptError if the bytes differ from those that were kept.
    """
    try:
        # A writer that was killed, or refused by a full disk, may have written more than was kept.
        if kept.stat().st_size > name.size:
            os.truncate(kept, name.size)
        if sums is None or sums.sha256 != name.sha256:
            sums = checked(sums_of(kept), name.sha256, name.name)
    except OSError as error:
        raise from_os_error(error, f"Reading the working copy {kept} of '{name.name}'") from error
    stores.garage.objects.put(key, kept, sums, move=True)
