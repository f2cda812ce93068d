"""The names of the garage's objects in the bucket, and their metadata.

::

    objects/<key>            the object, byte for byte
    sums/<hash of the key>   block checksums of an object that has too many for its metadata
    ledger/…                 see :mod:`.pieces`
    owner/…                  see :mod:`.owner`
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgfs.errors import BadInputError, NameTooLongError
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.listing import MAX_KEY, check_key
from kgfs.stores.garage.sums import decode_sums, encode_sums

if TYPE_CHECKING:  # a home without a bucket sweeps its cache, and needs no client for that
    from kgfs.stores.garage.s3.bucket import Found

OBJECTS = "objects/"
_MARK = "!"
"""The end of an object's name that a folder could have, too, for some servers cannot store both. It sorts before
every character of a key, so the order of names is the order of keys."""
_NO_FOLDER = re.compile(r"[0-9a-f]{16,64}\.[A-Za-z0-9]+")
"""Parts of keys that no folder may be called: the names of originals and Readings. Objects of such a name need no
mark."""
BLOCKS_IN_META = 64
"""The number of block checksums that fit into the 2 KB of metadata that S3 allows."""


def object_name(key: str) -> str:
    """Return the name of an object in the bucket. Raise BadInputError for a key that is not valid or has a reserved
    folder name, NameTooLongError for one that is too long."""
    *folders, last = check_key(key)
    for folder in folders:
        if _NO_FOLDER.fullmatch(folder):
            raise BadInputError(f"{key!r} is no garage key: a folder cannot be called {folder!r} in a bucket.")
    name = f"{OBJECTS}{key}{'' if _NO_FOLDER.fullmatch(last) else _MARK}"
    if len(name) > MAX_KEY:
        raise NameTooLongError(
            f"{key!r} is too long for a garage in a bucket ({MAX_KEY - len(OBJECTS) - 1} characters)."
        )
    return name


def key_of(name: str) -> str:
    """Return the key of the object with this name."""
    return name.removeprefix(OBJECTS).removesuffix(_MARK)


def sums_name(key: str) -> str:
    """Return the name of the sidecar with the block checksums of an object."""
    return f"sums/{key_hash(key)}"


def key_hash(key: str) -> str:
    """Return the hash of a key, 32 hex digits."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def encode_meta(sums: Sums, kept_at: int) -> dict[str, str]:
    """Return the metadata of an object: its SHA-256, the time when it was put and, if they fit, its block
    checksums."""
    meta = {"kgfs-sha256": sums.sha256, "kgfs-kept-at": str(kept_at)}
    if len(sums.blocks) <= BLOCKS_IN_META:
        meta["kgfs-sums"] = encode_sums(sums).decode().rstrip("\n").replace("\n", ",")
    return meta


def decode_meta(found: Found) -> Sums | None:
    """Return the checksums in the metadata, or None if it has none or they are damaged."""
    raw = found.meta.get("kgfs-sums", "").replace(",", "\n") + "\n"
    return decode_sums(raw.encode()) if raw.isascii() else None


def kept_at(found: Found) -> int:
    """Return the time in nanoseconds when an object was put, by the writer's clock.

    The server's clock is the fallback: it counts whole seconds, and its time changes when the object is repaired.
    """
    kept_at = found.meta.get("kgfs-kept-at", "")
    return int(kept_at) if kept_at.isdecimal() else found.changed_at


def sha256_in(meta: Mapping[str, str]) -> str:
    """Return the SHA-256 in an object's metadata, '' if it has none."""
    return meta.get("kgfs-sha256", "")
