"""Open the garage that a configuration names: on a local disk, or in a bucket."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from kgfs.config import Config
from kgfs.stores.garage.contract import Garage, GarageObjects, Ledger
from kgfs.stores.garage.ledger import SegmentLedger

OBJECTS = "objects"


def open_garage(config: Config, *, cached: bool = True) -> Garage:
    """Return the garage of a configuration. Ask no server yet, and load no client.

    With ``cached=False`` reads bypass the local cache, so that a check for corruption sees what the store itself
    holds. Raise MachineError if the packages of the S3 client are not installed, and BadInputError for settings that
    cannot be used.
    """
    settings = config.garage_store
    if settings.store == "files":
        return FileGarage(config.garage)
    from kgfs.stores.servers import file_named, is_encrypted, is_open_to_others, need, trusted, warn_of_plain_text

    need("garage.store is 's3'", "minio", "urllib3", "certifi")
    from kgfs.stores.garage.s3.endpoint import Endpoint
    from kgfs.stores.garage.s3.garage import S3Garage

    place = Endpoint(
        endpoint=settings.endpoint,
        bucket=settings.bucket,
        prefix=settings.prefix,
        region=settings.region,
        path_style=settings.path_style,
        access_key_file=file_named(settings.access_key_file),
        secret_key_file=file_named(settings.secret_key_file),
        ca_file=file_named(settings.ca_file),
        timeout=settings.timeout,
    )
    if place.ca_file:
        trusted(place.ca_file, "garage.ca_file")
    if is_open_to_others(place.endpoint, is_encrypted(place.endpoint)):
        warn_of_plain_text(config, place.endpoint, "Use https:// (garage.endpoint).")
    return S3Garage(place, config.garage_cache, settings.cache_bytes if cached else 0, config.spool, config.home)


class FileGarage:
    """A garage in ``root/objects`` and ``root/ledger``. It holds nothing open between calls. Any number may be open
    at the same time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ledger = SegmentLedger(root / "ledger")

    @cached_property
    def objects(self) -> GarageObjects:
        """Open the objects when they are first asked for: what a search shows stands in the graph."""
        from kgfs.stores.garage.files import FileObjects
        from kgfs.stores.garage.prefixes import PrefixObjects

        return PrefixObjects(FileObjects(self._root / OBJECTS), self._root)

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def taken_over_by(self) -> str:
        return ""

    def confirm_owner(self) -> None:
        """Do nothing: who can open the folder may write it."""

    def close(self) -> None:
        """Do nothing: all acknowledged data is durable already."""
