"""The records of objects that need no bytes of their own, because their content is the beginning of another object.

Such an object, the earlier one, is described by two small objects with the same content: one is found by the key of
the earlier object, the other by the key of its successor::

    prefixes/of/<key of the earlier object>~<size, hex>~<digest of the successor's key>
    prefixes/on/<digest of the successor's key>~<digest of the earlier object's key>

The content is a line of JSON, and the checksums of the earlier object as in :mod:`.sums`. A kill between two steps of
making or removing a record leaves objects that only take space; :func:`tidy_prefixes` removes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import xxhash

from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.stores.garage.contract import BLOCK, GarageObjects, Objects, Reader, Sums
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.sums import decode_sums, encode_sums

LINKS = "prefixes/"
"""Everything that this module keeps is below this folder of keys, which no listing shows."""
OF = f"{LINKS}of/"
ON = f"{LINKS}on/"
LINKABLE = "sources/"
"""The beginning of the keys of objects that may be linked: originals."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Link:
    """An object whose content is the beginning of another object."""

    key: str
    successor: str
    """The key of the object that begins with the same bytes. It may be described by a link itself."""
    sums: Sums
    """The checksums of the object itself."""
    kept_at: int
    """The time at which the object was stored, in nanoseconds."""

    @property
    def of(self) -> str:
        """Return the key of the record that is found by the key of the object."""
        return f"{OF}{self.key}~{self.sums.size:x}~{digest(self.successor)}"

    @property
    def on(self) -> str:
        """Return the key of the record that is found by the key of the successor."""
        return f"{ON}{digest(self.successor)}~{digest(self.key)}"


def digest(key: str) -> str:
    """Return 32 hexadecimal digits that stand for a key."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def is_linkable(key: str) -> bool:
    """Return whether the object of this key may be linked."""
    return key.startswith(LINKABLE)


def links_of(stored: Objects, key: str) -> list[Link]:
    """Return the links of an object that needs no bytes of its own; empty for other objects. Makes one listing."""
    return list(_read(stored, f"{OF}{key}~")) if is_linkable(key) else []


def links_on(stored: Objects, key: str) -> list[Link]:
    """Return the links of the objects that rest directly on the object ``key``. Makes one listing."""
    found = _read(stored, f"{ON}{digest(key)}~") if is_linkable(key) else iter(())
    return [link for link in found if link.successor == key]


def sizes_of_linked(stored: Objects, prefix: str = "") -> list[tuple[str, int]]:
    """Return (key, size in bytes) of the linked objects whose key starts with ``prefix``, in order of key."""
    found: dict[str, int] = {}
    for name, _ in stored.keys(OF + prefix):
        key, size, _ = name.removeprefix(OF).rsplit("~", 2)
        found[key] = int(size, 16)
    return sorted(found.items())


def linked_name(name: str) -> str:
    """Return the name of a linked object, or of a folder, from its name below :data:`OF`."""
    return name if name.endswith("/") else name.rsplit("~", 2)[0]


def encode_link(link: Link) -> bytes:
    """Return the content of the two records of a link."""
    head = {"format": _FORMAT, "key": link.key, "successor": link.successor, "kept_at": link.kept_at}
    return json.dumps(head, sort_keys=True).encode() + b"\n" + encode_sums(link.sums)


def decode_link(raw: bytes, name: str) -> Link:
    """Return the link with this content. Raise CorruptError if it is damaged; ``name`` names it for people."""
    head, _, rest = raw.partition(b"\n")
    sums = decode_sums(rest)
    if sums is None:
        raise CorruptError(f"{name}: the record of an earlier version is not what was kept. Run kgfs check --deep.")
    body = json.loads(head)
    if body["format"] != _FORMAT:
        raise StoreError(f"{name}: written by another version of kgfs.")
    return Link(body["key"], body["successor"], sums, body["kept_at"])


def _read(stored: Objects, prefix: str) -> Iterator[Link]:
    for name, _ in list(stored.keys(prefix)):
        try:
            yield decode_link(stored.get(name), name)
        except MissingError:
            continue  # deleted since it was listed


class PrefixReader:
    """A Reader of the first bytes of another object, as many as ``sums`` says.

    The reader of the other object verifies every byte. Blocks that are read whole are compared with ``sums``, too.
    """

    def __init__(self, key: str, whole: Reader, sums: Sums) -> None:
        self._key = key
        self._whole = whole
        self._sums = sums

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        end = end_of_span(self._sums.size, offset, length)
        found = self._whole.read_at(offset, max(0, end - offset))
        if len(found) != max(0, end - offset):
            raise self._rot(offset // BLOCK)
        view = memoryview(found)
        for number in range(-(-offset // BLOCK), -(-end // BLOCK)):
            start, stop = number * BLOCK, min((number + 1) * BLOCK, self._sums.size)
            if (
                stop <= end
                and xxhash.xxh3_64_hexdigest(view[start - offset : stop - offset]) != self._sums.blocks[number]
            ):
                raise self._rot(number)
        return found

    def cached(self, offset: int, length: int) -> bytes | None:
        end = end_of_span(self._sums.size, offset, length)
        return self._whole.cached(offset, max(0, end - offset))

    def close(self) -> None:
        self._whole.close()

    def _rot(self, number: int) -> CorruptError:
        return CorruptError(f"{self._key}: MiB block {number} is not what was kept. Run kgfs check --deep --repair.")


def tidy_prefixes(objects: GarageObjects, alone: Callable[[], AbstractContextManager[None]], before: int) -> int:
    """Remove records of links that were not completed, and the own bytes of originals that are linked. Return how many
    objects were removed.

    Only what was stored before the time ``before`` (nanoseconds) is removed, since another process may be about to
    complete it. ``alone`` takes the settle lock, for one object at a time. Costs two listings, and one request for each linked
    original. Raises what the garage raises; then a later call goes on.
    """
    stored = objects.stored
    linked: dict[str, set[str]] = {}
    """By key of a linked object: the digests of its successors."""
    for name, _ in stored.keys(OF):
        key, _, successor = name.removeprefix(OF).rsplit("~", 2)
        linked.setdefault(key, set()).add(successor)
    wanted = {f"{ON}{successor}~{digest(key)}" for key, successors in linked.items() for successor in successors}
    done = 0
    for name in _left(stored, wanted, before):
        with alone():
            done += stored.delete(name)
    for key in linked:
        if stored.exists(key) and stored.entry(key).kept_at < before:
            with alone():
                done += _give_up_twice(objects, key)
    return done


def _left(stored: Objects, wanted: set[str], before: int) -> Iterator[str]:
    """Yield the records that belong to no link of those that were listed."""
    for name, _ in list(stored.keys(ON)):
        with suppress(MissingError):
            if name not in wanted and stored.entry(name).kept_at < before:
                yield name


def _give_up_twice(objects: GarageObjects, key: str) -> bool:
    """Delete the own bytes of a linked object where its link leads to the same bytes."""
    links = links_of(objects.stored, key)
    return any(objects.keep_as_prefix(key, link.successor) for link in links)
