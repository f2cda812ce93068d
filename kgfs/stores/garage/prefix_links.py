"""The records of objects that need no bytes of their own, because their content is the beginning of another object.

Such an object, the earlier one, is described by two small objects with the same content: one is found by the key of
the earlier object, the other by the key of its successor::

    prefixes/of/<key of the earlier object>~<size, hex>~<digest of the successor's key>
    prefixes/on/<digest of the successor's key>~<digest of the earlier object's key>

The content is a line of JSON, and the checksums of the earlier object as in :mod:`.sidecar`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.stores.garage.contract import Objects, Sums
from kgfs.stores.garage.sidecar import decode_sums, encode_sums

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
