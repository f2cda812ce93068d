"""Which names objects of the garage have in the bucket, and what stands with them.

::

    objects/<key>                     the object, byte for byte
    sums/<sha256>/<hash of the key>   sums of blocks, of an object that has too many for its metadata
    uploads/<hash of the key>         names an object that is being put in parts
    ledger/…                          see :mod:`.pieces`
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgfs.errors import BadInputError, NameTooLongError
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.keys import MAX_KEY, check_key
from kgfs.stores.garage.sidecar import decode_sums, encode_sums

if TYPE_CHECKING:  # a home without a bucket sweeps its cache, and needs no client for that
    from kgfs.stores.garage.s3.bucket import Found

OBJECTS = "objects/"
UPLOADS = "uploads/"
_MARK = "!"
"""Ends an object's name that a folder could have too, for some servers cannot keep both. It is lower than every
character of a key, so the order of names is that of keys."""
_NO_FOLDER = re.compile(r"[0-9a-f]{16,64}\.[A-Za-z0-9]+")
"""Parts that no folder may be called: as originals and Readings are. Their names need no mark."""
BLOCKS_IN_META = 64
"""Sums of so many blocks fit into the 2 KB that S3 gives for metadata."""


def object_name(key: str) -> str:
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
    return name.removeprefix(OBJECTS).removesuffix(_MARK)


def sums_name(key: str, sha256: str) -> str:
    return f"sums/{sha256}/{key_hash(key)}"


def upload_name(key: str) -> str:
    return f"{UPLOADS}{key_hash(key)}"


def key_hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def encode_meta(sums: Sums, kept_at: int) -> dict[str, str]:
    meta = {"kgfs-sha256": sums.sha256, "kgfs-kept-at": str(kept_at)}
    if len(sums.blocks) <= BLOCKS_IN_META:
        meta["kgfs-sums"] = encode_sums(sums).decode().rstrip("\n").replace("\n", ",")
    return meta


def decode_meta(found: Found) -> Sums | None:
    """None where the metadata lacks sums, or is not what was put."""
    raw = found.meta.get("kgfs-sums", "").replace(",", "\n") + "\n"
    return decode_sums(raw.encode()) if raw.isascii() else None


def kept_at(found: Found) -> int:
    """When it was put, by its writer's clock: the server's tells whole seconds, and changes when it is mended."""
    told = found.meta.get("kgfs-kept-at", "")
    return int(told) if told.isdecimal() else found.changed_at


def sha256_in(meta: Mapping[str, str]) -> str:
    return meta.get("kgfs-sha256", "")
