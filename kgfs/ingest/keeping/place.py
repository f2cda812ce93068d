"""Bringing a name's bytes into the garage under their key, from wherever they stand."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

from kgfs.domain.documents import Name, Place
from kgfs.errors import MissingError, RotError, from_os_error
from kgfs.failpoints import border
from kgfs.ingest.keeping.content import SpoolFile
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import COPY, WAITING, key_on_the_way, waiting_key

AT_ONCE = 8
"""Small objects put at the same time: with one after the other each waits for the disk three times."""


def bring_home(stores: Stores, spool: Path, name: Name, key: str, sums: Sums | None = None) -> None:
    """The object ``key`` holds the bytes of ``name`` when this returns. May be done twice. No writer may have the
    file open: its spool file becomes the object. ``sums`` are those of the bytes where the caller hashed them. Memory
    stays flat.
    """
    if name.place is Place.NONE:
        return
    kept = _is_kept(stores, name, key)
    # Where the source still stands the object is put again, though it exists: who put it may have been killed before
    # its folder was synced, and the source goes away after this.
    if name.place is Place.INBOX:
        small = small_of(stores, name, key)
        if small is not None:
            put_small(stores, {key: small})
        return
    if name.place is Place.SPOOL and (spool / name.key).exists():
        _move(stores, spool / name.key, name, key, sums)
    elif kept:
        return
    elif name.place is Place.SPOOL:
        copy_within(stores, spool, key_on_the_way(stores, name), name, key)
    else:
        copy_within(stores, spool, name.key, name, key)
    border("garage-put")


def wait_too(stores: Stores, spool: Path, name: Name, sums: Sums | None = None) -> None:
    """Before the bytes of ``name`` are given up where they stand, for the garage has them under a key that another home may
    give up until the ledger has it that this home counts on that key: they wait there as well, for :meth:`keep_again` then.
    Who has delivered what was written finds them waiting. Conditions as of :meth:`bring_home`."""
    objects, waiting = stores.garage.objects, waiting_key(name.id, name.sha256)
    if objects.exists(waiting):
        return
    small = small_here(stores, name)
    if small is not None:
        objects.put(waiting, *small)
    elif name.place is Place.SPOOL and (spool / name.key).exists():
        objects.put(waiting, spool / name.key, _whole(spool / name.key, name, sums))
    else:  # of one who was killed before this could be recorded, or in another ontology
        present = name.key if name.place is Place.GARAGE else key_on_the_way(stores, name)
        copy_within(stores, spool, present, name, waiting)
    border("waits-too")


def keep_again(stores: Stores, spool: Path, name_id: int, sha256: str, key: str) -> bool:
    """The object ``key``, which another home may have given up just when this one counted on it, is made of what waits in
    the garage, if that is still there: for this name or, where that became one with another home's, for the name it was.
    False where nothing is left of it."""
    objects, waiting = stores.garage.objects, waiting_key(name_id, sha256)
    if objects.exists(key) or _is_made(stores, spool, waiting, key):
        return True
    others = [left for left, _ in objects.keys(WAITING) if left.endswith(f".{sha256}") and left != waiting]
    return any(_is_made(stores, spool, left, key) for left in others)


def _is_made(stores: Stores, spool: Path, left: str, key: str) -> bool:
    with suppress(RotError):  # as good as gone, and no delivery waits for it
        return duplicate(stores, spool, left, key)
    return False


def duplicate(stores: Stores, spool: Path, present: str, key: str) -> bool:
    """The object ``key`` holds what ``present`` does when this returns, unless that is absent: then False. RotError where it is
    rotten. May be done twice. Memory stays flat."""
    objects = stores.garage.objects
    if objects.exists(key) or objects.copy(present, key):
        return True
    try:
        _pour(stores, spool, present, key)
    except MissingError:
        return False
    return True


def small_here(stores: Stores, name: Name) -> tuple[bytes, Sums] | None:
    """A content in the inbox; None if it is not there (any more)."""
    small = stores.journal.inbox(name.sha256) if name.place is Place.INBOX else None
    return None if small is None else (small, _verified(name, sums_of(small)))


def small_of(stores: Stores, name: Name, key: str) -> tuple[bytes, Sums] | None:
    """A content in the inbox, to be put under ``key``; None if it is not there any more and the garage has it."""
    here = small_here(stores, name)
    if here is not None:
        return here
    if _is_kept(stores, name, key):
        return None
    try:  # of another host that never came back
        small = stores.garage.objects.get(waiting_key(name.id, name.sha256))
    except MissingError as error:
        raise MissingError(f"The kept bytes of '{name.name}' are not in the inbox.") from error
    return small, _verified(name, sums_of(small))


def put_small(stores: Stores, contents: Mapping[str, tuple[bytes, Sums]]) -> None:
    """Put them at the same time: the disk makes together durable what waits for it together. What waits there already is
    not sent again."""
    objects = stores.garage.objects

    def put(key: str, content: bytes, sums: Sums) -> None:
        if not (key.startswith(WAITING) and objects.exists(key)):
            objects.put(key, content, sums)

    if len(contents) == 1:
        ((key, small),) = contents.items()
        put(key, *small)
    elif contents:
        with ThreadPoolExecutor(AT_ONCE, "kgfs-settle") as several:
            # Where one fails those that have not begun do not: of a server that is silent each would be waited for anew.
            list(several.map(lambda one: put(one[0], *one[1]), contents.items()))
    border("garage-put")


def _is_kept(stores: Stores, name: Name, key: str) -> bool:
    objects = stores.garage.objects
    return objects.exists(key) and objects.stat(key).sha256 == name.sha256


def _whole(kept: Path, name: Name, sums: Sums | None) -> Sums:
    """A working copy is what was kept, and no more. ``sums`` as of :meth:`bring_home`."""
    try:
        # A writer that was killed, or refused by a full disk, may have left more behind than was kept.
        if kept.stat().st_size > name.size:
            os.truncate(kept, name.size)
        if sums is None or sums.sha256 != name.sha256:
            sums = _verified(name, sums_of(kept))
    except OSError as error:
        raise from_os_error(error, f"Reading the working copy {kept} of '{name.name}'") from error
    return sums


def _move(stores: Stores, kept: Path, name: Name, key: str, sums: Sums | None) -> None:
    sums = _whole(kept, name, sums)
    waiting = waiting_key(name.id, name.sha256) if stores.journal.sharing else ""
    stores.garage.objects.put(key, kept, sums, move=True, present=waiting)


def copy_within(stores: Stores, spool: Path, present: str, name: Name, key: str) -> None:
    """The bytes have been in the garage under another key: as a temporary file, or in another ontology."""
    objects = stores.garage.objects
    if objects.stat(present).sha256 == name.sha256 and objects.copy(present, key):
        return
    _pour(stores, spool, present, key, name.sha256, name.name)


def _pour(stores: Stores, spool: Path, present: str, key: str, sha256: str = "", called: str = "") -> None:
    """A content of one block, as every one is that no server copies, needs no room on this machine's disk."""
    objects = stores.garage.objects
    with closing(objects.open(present)) as source:
        right = sha256 or source.sums.sha256
        if source.sums.size <= BLOCK:
            content = source.read_at(0, source.sums.size)
            objects.put(key, content, _right(sums_of(content), right, called or present))
            return
        goal = SpoolFile.make(spool / f"{COPY}{secrets.token_hex(8)}")
        try:
            while goal.size < source.sums.size:
                goal.write_at(goal.size, source.read_at(goal.size, BLOCK))
            objects.put(key, goal.path, _right(goal.sums(), right, called or present), move=True)
        finally:
            goal.close()
            goal.path.unlink(missing_ok=True)


def _right(sums: Sums, sha256: str, called: str) -> Sums:
    if sums.sha256 != sha256:
        raise RotError(f"The kept bytes of '{called}' are not those that were written (SHA-256 {sums.sha256}).")
    return sums


def _verified(name: Name, sums: Sums) -> Sums:
    return _right(sums, name.sha256, name.name)
