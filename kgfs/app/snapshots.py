"""Make and list the snapshots of a shared bucket."""

from __future__ import annotations

import time
from contextlib import closing

from kgfs.app import timing
from kgfs.app.home import model_in_use, open_existing
from kgfs.config import Config
from kgfs.errors import BusyError, UnsupportedError
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.snapshots import layout
from kgfs.stores.snapshots.layout import Manifest
from kgfs.stores.stores import Stores


def put_snapshot(config: Config) -> Manifest:
    """Make a snapshot of the home now and store it in the shared bucket.

    Raise BusyError if this is not possible within timing.SNAPSHOT_BUSY seconds, and UnsupportedError if no other home
    shares the garage. Other errors are those of :func:`.make_snapshot`.
    """
    with open_existing(config) as stores, closing(open_garage(config, cached=False)) as garage:
        if not stores.catalog.sharing:
            raise UnsupportedError("No other home shares this garage: garage.shared is not set.")
        from kgfs.sharing.snapshots import make_snapshot  # needed by shared homes only

        deadline, model = time.monotonic() + timing.SNAPSHOT_BUSY, model_in_use(config, stores)
        while True:
            try:
                return make_snapshot(config, stores, garage.objects, model)
            except BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(timing.SNAPSHOT_POLL)


def snapshots_in(stores: Stores) -> list[Manifest]:
    """Return the complete snapshots of the bucket, newest first. Asks the bucket."""
    return [found for found in layout.manifests(stores.garage.objects) if isinstance(found, Manifest)]
