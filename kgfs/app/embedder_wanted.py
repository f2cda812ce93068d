"""The embedding model that ``kgfs reprocess`` asks for in a home whose setting is ``auto``."""

from __future__ import annotations

import json

from kgfs.config import Config
from kgfs.stores.run_files import write_note
from kgfs.stores.worker_lock import worker_note

NEWEST = "minilm-int8"
"""What new homes have."""


def newer_embedder(config: Config) -> str:
    """Return the setting of the model that new homes have, if this home keeps an earlier one by ``auto``; else ''."""
    from kgfs.models.selection import SETTINGS

    if config.models.embedder != "auto":
        return ""
    return NEWEST if SETTINGS.get(str(worker_note(config.run).get("embedder", "")), NEWEST) != NEWEST else ""


def want(config: Config, setting: str) -> None:
    """Ask the worker, also a running one, to change over to this model. Durable."""
    write_note(config.run / "embedder.wanted", setting, durable=True)


def follow(config: Config, model: str) -> None:
    """Ask for the model that another home reads with by now, if it is that of new homes and this home's setting is ``auto``."""
    from kgfs.models.selection import setting_of

    if config.models.embedder == "auto" and setting_of(model) == NEWEST != wanted(config):
        want(config, NEWEST)


def wanted(config: Config) -> str:
    """Return the setting that was asked for last, or that the configuration names; ``auto`` if neither names a model."""
    if config.models.embedder != "auto":
        return config.models.embedder
    try:
        found = json.loads((config.run / "embedder.wanted").read_text())
    except FileNotFoundError:
        return "auto"
    return found if found == NEWEST else "auto"
