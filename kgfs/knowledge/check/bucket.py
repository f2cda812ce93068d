"""The check of a garage in a bucket: what takes room there, or in its cache, and nothing refers to."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from kgfs.config import Config
from kgfs.knowledge import timing
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.stores import Stores

_CACHED = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{30})(\.\d+)?")
"""The pattern of a cached file's path below the cache. The second group is the hash of its object's key."""


def in_bucket(config: Config, stores: Stores) -> Iterator[Damage]:
    """Yield uploads that were begun and not finished, and cached files of no object.

    It yields nothing for a garage in files.
    """
    for key, begun in stores.garage.objects.left_over():
        if (age := time.time() - begun) > timing.UPLOAD_RUNNING:
            yield Damage(Kind.LEFT_UPLOAD, key, f"begun {age / 3600:.0f} hours ago")
    if config.garage_store.store == "s3":
        yield from _cache(config, stores)


def _cache(config: Config, stores: Stores) -> Iterator[Damage]:
    """Yield cached files whose object is not in the bucket, because another machine deleted it for example."""
    from kgfs.stores.garage.s3.names import key_hash

    cached = sorted(path for path in config.garage_cache.rglob("*") if path.is_file() and path.name != "state")
    if not cached:
        return
    known = {key_hash(key) for key, _ in stores.garage.objects.keys("")}
    for path in cached:
        name = path.relative_to(config.garage_cache).as_posix()
        found = _CACHED.fullmatch(name)
        if found is None or found[2] not in known:
            yield Damage(Kind.LEFT_CACHE, name, "of an object that is not in the bucket" if found else "")
