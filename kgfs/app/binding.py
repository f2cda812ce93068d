"""What a home is bound to: where its garage stands.

With another garage it would have a second one, and its ledger two halves. A server's address is no part of it, for servers
move.
"""

from __future__ import annotations

import json
from contextlib import closing

from kgfs.config import Config
from kgfs.errors import BadInputError, MissingError, from_os_error
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.sqlite import SqliteJournal
from kgfs.stores.locks import locked
from kgfs.stores.notes import write_note

NOTE = "stores.json"
"""In the run folder: settings, with the values that the home was made with."""
NOTE_BEFORE = "garage.store"
"""There too, of a home that was opened by a version before this note: the kind of its garage and nothing else."""
LOCK = "stores.lock"
REMEDY = (
    "Give the configuration that it was made with (--config or KGFS_CONFIG); kgfs migrate copies it to other stores."
)


def _is_there(config: Config) -> bool:
    """Whether the home was ever opened, or keeps anything. One that could not be opened the first time has folders and empty
    databases, which are no home: what they would be bound to is not known. Asks no server."""
    if _noted(config) or any(path.is_file() for path in config.garage.rglob("*")):
        return True
    if not config.front_db.exists():
        return False
    with closing(SqliteJournal(config.front_db)) as journal:
        return journal.seq() > 0


def refuse_nothing(config: Config) -> None:
    """MissingError where no home is."""
    if not _is_there(config):
        raise MissingError(
            f"{config.home}: no home of kgfs is there yet. kgfs mount and kgfs ingest make one; --home or KGFS_HOME name another."
        )


def refuse_others(config: Config) -> None:
    """BadInputError where the home is known to be bound to another place than the configuration names. Asks no server."""
    noted = _noted(config)
    for setting, said in _named(config).items():
        known = noted.get(setting, said)
        if known != said:
            raise BadInputError(f"{config.home}: {setting} of this home is '{known}', not '{said}'. {REMEDY}")


def refuse_strange(config: Config, journal: Journal, last: int) -> None:
    """Of a home that is not bound yet: BadInputError where the ledger there, with ``last`` its newest fact, has none, and the
    home's is known to."""
    if not last and journal.confirmed() > 0:
        said = f"garage.store is '{config.garage_store.store}', and what this home has done is not in the ledger there"
        raise BadInputError(f"{config.home}: {said}. {REMEDY}")


def is_bound(config: Config) -> bool:
    """Whether all that the configuration names is noted."""
    return _noted(config).items() >= _named(config).items()


def bind(config: Config) -> None:
    """To what the configuration names: once the home could be opened so. As :func:`refuse_others` where another process has just bound it
    to another place."""
    try:
        with locked(config.run / LOCK):
            refuse_others(config)
            write_note(config.run / NOTE, _noted(config) | _named(config))
    except OSError as error:
        raise from_os_error(error, f"{config.run / NOTE}: cannot be written") from error


def _named(config: Config) -> dict[str, str]:
    garage = config.garage_store
    named = {"garage.store": garage.store}
    if garage.store == "s3":
        named |= {"garage.bucket": garage.bucket, "garage.prefix": garage.prefix.strip("/")}
    return named


def _noted(config: Config) -> dict[str, str]:
    """Nothing where the note was lost, or cannot be read; why not, the home's other files say."""
    try:
        return dict(json.loads((config.run / NOTE).read_text()))
    except (OSError, ValueError, TypeError):
        return _noted_before(config)


def _noted_before(config: Config) -> dict[str, str]:
    try:
        kind = (config.run / NOTE_BEFORE).read_text()
    except (OSError, ValueError):
        return {}
    return {"garage.store": kind} if kind else {}
