"""Copy one garage to another, between any kinds of store. An object counts as copied only after it was read back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice, zip_longest
from pathlib import Path
from typing import TypeVar

from kgfs.errors import CorruptError, ExistsError, MissingError
from kgfs.failpoints import border
from kgfs.stores.backup.layout import carry
from kgfs.stores.batched import batched
from kgfs.stores.garage.contract import BLOCK, Ledger, Objects
from kgfs.stores.garage.sums import Summer

T = TypeVar("T")

CONCURRENCY = 8
"""The number of objects that are copied in parallel, so that the waits for a server overlap."""
PAGE = 1000
"""The number of keys in memory at a time, and of ledger entries in one append."""

Copied = Callable[[int], None]
"""A progress callback. Its argument is the number of objects that are done so far."""


def copy_objects(source: Objects, target: Objects, room: Path, copied: Copied) -> None:
    """Copy every object that ``source`` lists to ``target``, and prove each by reading it from the target.

    Objects that were in the target before are proved, too. ``room`` is a local folder for temporary files. ``copied``
    is called after each object. Raise CorruptError if the target returns other bytes; the object is then deleted from the
    target, so that the next attempt copies it anew.
    """
    done = 0
    for page in batched((key for key, _ in source.keys("")), PAGE):
        for done, _ in enumerate(_all(lambda key: _bring(source, target, key, room), page), done + 1):  # noqa: B020
            copied(done)


def copy_news(source: Objects, target: Objects, room: Path) -> None:
    """Apply to ``target`` the changes of ``source`` since :meth:`copy_objects`.

    Objects that are new in the source are copied and proved. Objects that are no longer in the source are deleted
    from the target. No other object is opened.
    """
    left = []
    for page in batched(_merged(source.keys(""), target.keys("")), PAGE):
        left += [key for key, here, _ in page if not here]
        new = [key for key, here, there in page if here and not there]
        list(_all(lambda key: _bring(source, target, key, room), new))
    for key in left:
        target.delete(key)


def copy_ledger(entries: Iterable[bytes], target: Ledger) -> None:
    """Append the entries that the target does not have yet. The first of ``entries`` has number 1."""
    last = target.last_seq()
    for batch in batched(islice(entries, last, None), PAGE):
        last = target.append(last + 1, batch)
        border("migrate-entries")


def prove_ledger(entries: Iterable[bytes], target: Ledger) -> None:
    """Raise CorruptError unless the target has exactly these entries."""
    there = (entry for _, entry in target.replay())
    for seq, (one, other) in enumerate(zip_longest(entries, there), 1):
        if one != other:
            raise CorruptError(f"Entry {seq} of the ledger is not in the copy what it is in the original.")


def _bring(source: Objects, target: Objects, key: str, room: Path) -> None:
    """Copy one object if the target lacks it, and prove it. Skip an object that the source deleted after it was
    listed."""
    try:
        wanted = source.stat(key)
    except MissingError:
        return
    try:
        found = target.stat(key)
    except CorruptError:
        target.delete(key)
        raise
    except MissingError:
        own = room / str(threading.get_ident())
        own.mkdir(mode=0o700, exist_ok=True)
        try:
            carry(source, target, key, own)
        except MissingError:
            return
        found = wanted
        border("migrate-object")
    if found.sha256 != wanted.sha256:
        raise ExistsError(f"{key}: another content is kept under this key where it is to go.")
    if _sha256(target, key) != wanted.sha256:
        target.delete(key)
        raise CorruptError(
            f"{key}: what arrived is not what was kept. It was taken out of the copy; repeat to copy it anew."
        )


def _sha256(objects: Objects, key: str) -> str:
    """Return the SHA-256 of the bytes as they are read, or '' if the store itself reports that the bytes are
    corrupt."""
    summer = Summer()
    try:
        with closing(objects.open(key)) as reader:
            for start in range(0, reader.sums.size, BLOCK):
                summer.update(reader.read_at(start, BLOCK))
    except CorruptError:
        return ""
    return summer.sums().sha256


def _merged(source: Iterator[tuple[str, int]], target: Iterator[tuple[str, int]]) -> Iterator[tuple[str, bool, bool]]:
    """Yield (key, in source, in target) of two listings that are both in order of key."""
    here, there = next(source, None), next(target, None)
    while here or there:
        key = min(found[0] for found in (here, there) if found)
        in_source, in_target = bool(here and here[0] == key), bool(there and there[0] == key)
        yield key, in_source, in_target
        here = next(source, None) if in_source else here
        there = next(target, None) if in_target else there


def _all(work: Callable[[T], None], items: Sequence[T]) -> Iterator[None]:
    """Apply ``work`` to the items, several at a time. The first failure ends the rest."""
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        try:
            yield from pool.map(work, items)
        finally:
            pool.shutdown(cancel_futures=True)
