"""Open the garage that a configuration names."""

from __future__ import annotations

from kgfs.config import Config
from kgfs.stores.garage.contract import Garage
from kgfs.stores.garage.embedded import FileGarage


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
