"""The garage of one home in a bucket."""

from __future__ import annotations

from pathlib import Path

from kgfs.stores.garage.contract import GarageObjects
from kgfs.stores.garage.prefixes import PrefixObjects
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.ledger import S3Ledger
from kgfs.stores.garage.s3.objects import S3Objects
from kgfs.stores.garage.s3.owner import Owner


class S3Garage:
    """A garage in the bucket ``place``. Opening it sends no request.

    ``cache`` is the local folder of a cache of at most ``cache_bytes`` bytes, 0 for none, and ``room`` one for
    temporary files (the system's by default). ``home`` is the folder of the home whose right to write is confirmed
    before each append and deletion; without it nothing is confirmed.
    """

    def __init__(
        self, place: Endpoint, cache: Path, cache_bytes: int, room: Path | None = None, home: Path | None = None
    ) -> None:
        self._bucket = Bucket(place)
        self._cache = Cache(cache, cache_bytes)
        self.owner = Owner(self._bucket, home) if home is not None else None
        """The right of the home to write here."""
        self._objects = PrefixObjects(S3Objects(self._bucket, self._cache, self.confirm_owner), room)
        self._ledger = S3Ledger(self._bucket, confirm=self.confirm_owner)

    @property
    def objects(self) -> GarageObjects:
        return self._objects

    @property
    def ledger(self) -> S3Ledger:
        return self._ledger

    def taken_over_by(self) -> str:
        found = self.owner.lost_to() if self.owner is not None else None
        return str(found) if found is not None else ""

    def confirm_owner(self) -> None:
        if self.owner is not None:
            self.owner.confirm()

    def create_bucket(self) -> bool:
        """Make the bucket unless it exists, and return whether it was made."""
        return self._bucket.create()

    def close(self) -> None:
        """Close the connections. All acknowledged data is durable already."""
        self._bucket.close()
