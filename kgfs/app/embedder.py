"""Choose the embedding model of a home: the one that the settings name; with ``auto`` the one that the home has vectors
of, until ``kgfs reprocess`` asks for that of new homes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kgfs.app.home import model_in_use, open_home
from kgfs.config import Config
from kgfs.stores.run_files import write_note
from kgfs.stores.worker_lock import worker_note

if TYPE_CHECKING:  # models, which are loaded by the worker alone
    from kgfs.compute.local import LocalCompute

NEWEST = "minilm-int8"
"""The setting of the model that new homes have."""


def load_models(config: Config) -> LocalCompute:
    """Load the models that a worker of the home reads with."""
    from kgfs.compute.local import LocalCompute

    named = wanted(config)
    if named != "auto":
        return LocalCompute.of(config, embedder=named)
    in_use = str(worker_note(config.run).get("embedder", "")) or _model_of_readings(config)
    return LocalCompute.of(config, in_use)


def other_embedder(config: Config) -> str:
    """Return the setting of the model that the home is to have in place of the one that it has vectors of; '' if it has
    vectors of that one, or of none."""
    from kgfs.models.selection import SETTINGS

    named = NEWEST if config.models.embedder == "auto" else config.models.embedder
    former = SETTINGS.get(str(worker_note(config.run).get("embedder", "")), named)
    return named if named not in ("none", former) else ""


def want(config: Config, setting: str) -> None:
    """Ask the worker of a home whose setting is ``auto``, also a running one, for this model. Durable."""
    write_note(config.run / "embedder.wanted", setting, durable=True)


def wanted(config: Config) -> str:
    """Return the setting that the configuration names or that was asked for last; ``auto`` if neither names a model."""
    if config.models.embedder != "auto":
        return config.models.embedder
    try:
        found = json.loads((config.run / "embedder.wanted").read_text())
    except FileNotFoundError:
        return "auto"
    return found if found == NEWEST else "auto"


def _model_of_readings(config: Config) -> str:
    with open_home(config, derive=False) as stores:
        return model_in_use(config, stores)
