"""List the homes that share a bucket, and strike one off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgfs.app.home import hear, in_haste, open_unheard
from kgfs.app.snapshots import snapshots_in
from kgfs.config import Config
from kgfs.errors import KgfsError, MissingError, UnsupportedError
from kgfs.knowledge.status import sharing_page
from kgfs.stores.hosts import Host, known_roll, read_roll
from kgfs.stores.hosts import strike_off as strike
from kgfs.stores.snapshots.layout import Manifest


def hosts(config: Config) -> tuple[dict[str, Any], KgfsError | None]:
    """Return the homes that share the bucket, its snapshots and the purges that wait for homes; and the error if the
    bucket could not be asked, else None.

    With an error, the homes and purges are those of the last answer, and no snapshots are listed. If no answer was
    ever stored, raise the error or, without one, MissingError. Raise UnsupportedError if the home's garage is not
    shared.
    """
    config = in_haste(config)
    with open_unheard(config) as stores:
        _refuse_alone(stores.catalog.sharing)
        away = hear(config, stores)
        page = sharing_page(config)
        if page is None:
            raise away or MissingError("No home has told yet that it shares this bucket.")
        return page | {"snapshots": [] if away else [_plain(found) for found in snapshots_in(stores)]}, away


def _plain(found: Manifest) -> dict[str, Any]:
    return {
        "fact": found.position,
        "made_at": found.made_at,
        "bytes": found.size,
        "files": [file.name for file in found.files],
    }


def strike_off(config: Config, host: str, agree: Callable[[Host], bool]) -> None:
    """Stop waiting for a host that will not come back, if ``agree`` returns True.

    If the host comes back all the same, it applies the purges that it missed before it does anything else. Raise
    MissingError for an unknown id, and the bucket's error if the bucket could not be asked.
    """
    with open_unheard(config) as stores:
        _refuse_alone(stores.catalog.sharing)
        away = hear(config, stores)
        if away:
            raise away
        roll = known_roll(config)
        found = next((one for one in roll.hosts if one.id == host), None) if roll else None
        if found is None:
            raise MissingError(f"No host has the id {host}. kgfs hosts lists them.")
        if agree(found):
            strike(stores.garage.objects, found.id)
            read_roll(config, stores)


def _refuse_alone(sharing: bool) -> None:
    if not sharing:
        raise UnsupportedError("No other home shares this garage: garage.shared is not set.")
