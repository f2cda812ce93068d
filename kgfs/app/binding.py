"""Bind a home to the place of its garage.

Opened with another garage, a home would have a second one and its ledger would be split in two. The address of a
server is not part of the binding, because servers move.
"""

from __future__ import annotations

import json
from contextlib import closing

from kgfs.config import Config
from kgfs.errors import BadInputError, MissingError, from_os_error
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.locks import locked
from kgfs.stores.migrations import MIGRATIONS
from kgfs.stores.run_files import write_note
from kgfs.stores.sqlite_files import HOME_FORMAT, refusal

NOTE = "stores.json"
"""File in the run folder with the settings, and their values, that the home was made with."""
FORMAT = "format"
"""The entry of the note with the format of the home."""
LOCK = "stores.lock"
REMEDY = (
    "Give the configuration that it was made with (--config or KGFS_CONFIG); kgfs migrate copies it to other stores."
)


def _is_there(config: Config) -> bool:
    """Return whether the home was ever opened or keeps any data. Ask no server.

    A home whose first opening failed has folders and empty databases. It does not count, because it is not known to
    which garage it would be bound.
    """
    if _noted(config) or any(path.is_file() for path in config.garage.rglob("*")):
        return True
    if not config.catalog_db.exists():
        return False
    with closing(Catalog(config.catalog_db)) as catalog:
        return catalog.seq() > 0


def refuse_nothing(config: Config) -> None:
    """Raise MissingError if there is no home."""
    if not _is_there(config):
        raise MissingError(
            f"{config.home}: no home of kgfs is there yet. kgfs mount and kgfs ingest make one; --home or KGFS_HOME name another."
        )


def refuse_others(config: Config) -> None:
    """Raise BadInputError if the home is known to be bound to another place than the configuration names, and StoreError
    if it has another format. Ask no server, and write nothing.
    """
    noted = _noted(config)
    if noted and noted.get(FORMAT) not in {str(one) for one in (HOME_FORMAT, *MIGRATIONS)}:
        raise refusal(config.home, noted.get(FORMAT, "none"))
    for setting, current in _named(config).items():
        known = noted.get(setting, current)
        if known != current and setting != FORMAT:
            raise BadInputError(f"{config.home}: {setting} of this home is '{known}', not '{current}'. {REMEDY}")


def refuse_strange(config: Config, catalog: Catalog, last: int) -> None:
    """Raise BadInputError if a home that is not bound yet is opened with a ledger that cannot be its own.

    ``last`` is the newest fact of the configured ledger. The ledger is another one if it is empty although the home
    knows that its own ledger confirmed facts.
    """
    if not last and catalog.confirmed() > 0:
        reason = (
            f"garage.store is '{config.garage_store.store}', and what this home has done is not in the ledger there"
        )
        raise BadInputError(f"{config.home}: {reason}. {REMEDY}")


def is_bound(config: Config) -> bool:
    """Return whether the note holds every value that the configuration names."""
    return _noted(config).items() >= _named(config).items()


def bind(config: Config) -> None:
    """Bind the home to the place that the configuration names. Call this once the home could be opened there.

    Raise the error of :func:`refuse_others` if another process has just bound the home to another place.
    """
    try:
        with locked(config.run / LOCK):
            refuse_others(config)
            write_note(config.run / NOTE, _noted(config) | _named(config))
    except OSError as error:
        raise from_os_error(error, f"{config.run / NOTE}: cannot be written") from error


def _named(config: Config) -> dict[str, str]:
    garage = config.garage_store
    named = {FORMAT: str(HOME_FORMAT), "garage.store": garage.store}
    if garage.store == "s3":
        named |= {"garage.bucket": garage.bucket, "garage.prefix": garage.prefix.strip("/")}
    return named


def _noted(config: Config) -> dict[str, str]:
    """Return the noted settings; nothing if the note is lost or unreadable. In that case the other files of the home
    show the cause.
    """
    try:
        return dict(json.loads((config.run / NOTE).read_text()))
    except (OSError, ValueError, TypeError):
        return {}
