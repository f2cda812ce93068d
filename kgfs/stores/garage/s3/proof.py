"""Recompute lost checksums if a hash proves the bytes."""

from __future__ import annotations

import re
from contextlib import closing

from kgfs.errors import CorruptError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.s3.bucket import Bucket, Found
from kgfs.stores.garage.s3.names import BLOCKS_IN_META, encode_meta, kept_at, object_name, sha256_in, sums_name
from kgfs.stores.garage.sidecar import encode_sums
from kgfs.stores.garage.sums import Summer

_HASH = re.compile(r"[0-9a-f]{32,64}")


def proven(bucket: Bucket, key: str, found: Found, proof: str) -> Sums:
    """Return the checksums of a stored object, which is read whole with constant memory.

    Raise CorruptError if neither ``proof`` nor the metadata nor the key has the SHA-256 of the bytes.
    """
    summer = Summer()
    if found.size:
        with closing(bucket.download(object_name(key), 0, found.size)[1]) as download:
            while piece := download.read(BLOCK):
                summer.update(piece)
    sums = summer.sums()
    if sums.sha256 not in (proof, sha256_in(found.meta)) and not is_named_by(key, sums.sha256):
        raise CorruptError(f"{key}: its sums are lost and nothing proves its bytes. Run kgfs check --repair.")
    return sums


def is_named_by(key: str, sha256: str) -> bool:
    """Return whether the key contains the hash, or so much of it that no other content has the same name."""
    name = key.rpartition("/")[2].partition(".")[0]
    return sha256 in key or bool(_HASH.fullmatch(name) and sha256.startswith(name))


def remake(bucket: Bucket, key: str, found: Found, sums: Sums) -> None:
    """Store proven checksums with the object again."""
    if len(sums.blocks) > BLOCKS_IN_META:
        bucket.replace(sums_name(key, sums.sha256), encode_sums(sums), {})
    if sha256_in(found.meta) != sums.sha256 or len(sums.blocks) <= BLOCKS_IN_META:
        bucket.relabel(found, encode_meta(sums, kept_at(found)))
