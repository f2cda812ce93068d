"""Migrate a home to other stores."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgfs.app.home import UNFINISHED, open_home, open_to_read
from kgfs.config import Config, load
from kgfs.errors import BadInputError, ExistsError, MissingError
from kgfs.failpoints import border
from kgfs.stores.backup.layout import copy, write
from kgfs.stores.garage.contract import Garage
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.sqlite import open_graph
from kgfs.stores.locks import alone
from kgfs.stores.ship import embedding_model_of, entries
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import open_vectors
from kgfs.stores.worker_lock import in_place_of_worker

if TYPE_CHECKING:  # numpy, which other commands do not need
    from kgfs.ingest.repair.migrate import Goal, Plan, Progress

PLACES = ("garage", "graph", "vectors")
"""Sections of the settings that name the places of the stores."""


@dataclass(slots=True)
class Note:
    """A file in the new home until its migration is complete. No other command uses the home meanwhile."""

    path: Path
    home: str
    """Identity of the source home: the hash of its first fact."""
    places: dict[str, Any]
    erased: str = ""

    def keep(self) -> None:
        write(self.path, json.dumps({"home": self.home, "places": self.places, "erased": self.erased}).encode())


def plan_migration(config: Config, goal: Config) -> Plan:
    """Return what is to be copied. Raise ExistsError if something else is at the target.

    The target's servers are asked. Nothing is stored there, except that a graph server gets its constraints.
    """
    from kgfs.ingest.repair.migrate import plan

    with open_to_read(config) as stores:
        if _begun(goal, stores) is None:
            _check_empty(goal, embedding_model_of(stores))
        return plan(stores)


def migrate_home(config: Config, goal: Config, planned: Plan, progress: Progress) -> None:
    """Copy the home to the stores of ``goal`` and verify the copy.

    Raise ExistsError unless the home of ``goal`` is empty or holds an earlier attempt of the same migration. The note
    is removed last: after a kill, the next attempt continues.
    """
    from kgfs.ingest.repair.migrate import Migration

    with ExitStack() as stack:
        source = stack.enter_context(open_home(config, make=False))
        note = _begun(goal, source)
        model = embedding_model_of(source)
        if note is None:
            _check_empty(goal, model)
        for folder in (goal.home, goal.run, goal.logs, goal.spool, goal.garage):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stack.enter_context(alone(goal.run / "migrate.lock", f"{goal.home}: another kgfs migrate is at it."))
        if note is None:
            note = Note(goal.home / UNFINISHED, _identity(source), _places(goal))
            note.keep()
        border("migrate-begun")
        migration = Migration(config, source, stack.enter_context(_opened(goal, model)), note, progress)
        migration.copy_most(planned.objects)
        with in_place_of_worker(config.run):
            migration.finish()
    if goal.file is not None:
        copy(goal.file, goal.home / "config.toml")
    border("migrate-proved")
    note.path.unlink()


def goal_of(config: Config, file: Path, home: Path | None) -> Config:
    """Return the settings of the new home: those of ``file`` alone, independent of the environment.

    Without ``home``, the new home is beside the present one, named after that and the file. Raise BadInputError if
    the file, which is copied to the new home, names other files by relative paths.
    """
    beside = config.home.with_name(f"{config.home.name}-{file.stem}")
    goal = load(home or beside, file, environ={})
    for section, settings in tomllib.loads(file.read_text("utf-8")).items():
        for key, named in settings.items():
            if key.endswith("_file") and named and not named.startswith(("/", "~")):
                raise BadInputError(
                    f"{file}: {section}.{key} is '{named}', which means another file once these settings stand in"
                    f" {goal.home}. Name it from the root."
                )
    return goal


def changed_settings(config: Config, goal: Config) -> list[str]:
    """Return the settings, other than places of stores, that differ in the new home, as ``section.key``."""
    before, after = config.shown(), goal.shown()
    return [
        f"{section}.{key}"
        for section, values in before.items()
        if isinstance(values, dict) and section not in PLACES
        for key, value in values.items()
        if after[section][key] != value
    ]


@contextmanager
def _opened(goal: Config, model: str) -> Iterator[Goal]:
    from kgfs.ingest.repair.migrate import Goal

    with (
        closing(open_garage(goal, cached=False)) as garage,
        closing(open_graph(goal)) as graph,
        ExitStack() as stack,
    ):
        vectors = stack.enter_context(closing(open_vectors(goal, model))) if model else None
        yield Goal(goal, garage, graph, vectors)


def _begun(goal: Config, source: Stores) -> Note | None:
    """Return the note of an earlier attempt; None if there was none. Raise ExistsError if the home belongs to
    something else.
    """
    path = goal.home / UNFINISHED
    try:
        note = Note(path, **json.loads(path.read_text()))
    except FileNotFoundError:
        if goal.home.exists() and any(goal.home.iterdir()):
            raise ExistsError(f"{goal.home} is not empty. Give another folder with --into, or move it away.") from None
        return None
    if (note.home, note.places) != (_identity(source), _places(goal)):
        raise ExistsError(
            f"{goal.home} is a migration that was begun of another home or to other stores. Remove it, and what it brought"
            " to the servers, or give another folder with --into."
        )
    return note


def _check_empty(goal: Config, model: str) -> None:
    """Raise ExistsError if a server already has data at the place that the settings name."""
    if goal.garage_store.store != "files":
        with closing(open_garage(goal, cached=False)) as garage:
            _refuse(f"The bucket {goal.garage_store.bucket}", "garage.prefix", _is_used(garage))
    if goal.vectors.store != "sqlite" and model:
        with closing(open_vectors(goal, model)) as vectors:
            _refuse(f"{goal.vectors.url}", "vectors.prefix", vectors.count() > 0)


def _refuse(what: str, setting: str, taken: bool) -> None:
    if taken:
        raise ExistsError(f"{what} is not empty: another home's. Name another place ({setting}), or clear it.")


def _is_used(garage: Garage) -> bool:
    return garage.ledger.last_seq() > 0 or next(garage.objects.keys(""), None) is not None


def _identity(stores: Stores) -> str:
    first = next(entries(stores.catalog, stores.garage.ledger), None)
    if first is None:
        raise MissingError(
            "Nothing was ever kept in this home: there is nothing to migrate. Remove it, and use the new settings at once."
        )
    return hashlib.sha256(first).hexdigest()


def _places(config: Config) -> dict[str, Any]:
    """Return the settings that name places, without secrets."""
    shown = config.shown()
    return {section: shown[section] for section in PLACES}
