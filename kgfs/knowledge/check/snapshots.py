"""The check of the snapshots of a shared bucket: those with which no new home could start."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.knowledge import timing
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.garage.contract import Objects
from kgfs.stores.snapshots import layout
from kgfs.stores.snapshots.fetching import verify
from kgfs.stores.snapshots.layout import MANIFEST
from kgfs.stores.stores import Stores


def in_snapshots(stores: Stores, *, deep: bool) -> Iterator[Damage]:
    """Yield snapshots that were left half uploaded, that lack a part, or that have a corrupt part.

    Parts are read and verified where ``deep``.
    """
    objects = stores.garage.objects
    for folder, keys in layout.folders(objects).items():
        fault = _fault(objects, folder, deep=deep) if layout.is_complete(keys) else _left(objects, keys)
        if fault:
            yield Damage(Kind.BAD_SNAPSHOT, folder, fault)


def _fault(objects: Objects, folder: str, *, deep: bool) -> str:
    try:
        verify(objects, layout.decode(folder, objects.get(folder + MANIFEST)), deep=deep)
    except CorruptError as error:
        return str(error)
    except (MissingError, StoreError) as error:
        return str(error) if (folder + MANIFEST) in {key for key, _ in objects.keys(folder)} else ""
    return ""


def _left(objects: Objects, keys: list[str]) -> str:
    try:
        newest = max(objects.entry(key).kept_at for key in keys)
    except MissingError:  # deleted since it was listed
        return ""
    return "was left half put" if newest < time.time_ns() - timing.SNAPSHOT_UPLOAD_NS else ""
