"""The domains of an ontology: show and set them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config
from kgfs.domain.domains import PRESETS, SETTING, Domains, domains_of, from_line, serialised
from kgfs.errors import BadInputError, MissingError
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.stores.resolve import ontology_called


def domains(config: Config, ontology: str) -> Domains:
    """Return the domains of an ontology."""
    with open_home(config, make=False) as stores:
        return domains_of(ontology_called(stores, ontology).settings)


def set_domains(
    config: Config, ontology: str, lines: Sequence[str] = (), without: Sequence[str] = (), preset: str = ""
) -> Domains:
    """Change the domains of an ontology and return them: add those of a preset, then set those of ``lines``, each like
    ``SEO: ranking, keyword``, then take out those named in ``without``.

    Raise BadInputError for an unknown preset or another line, MissingError for a domain that is to go and is not there.
    """
    if preset and preset not in PRESETS:
        raise BadInputError(f"There is no preset '{preset}'; known are {', '.join(PRESETS)}.")
    with open_home(config, make=False) as stores, open_deposits(config, stores) as (deposits, _):
        found = ontology_called(stores, ontology)
        before = domains_of(found.settings)
        after = {**before, **PRESETS.get(preset, {}), **dict(map(from_line, lines))}
        for name in without:
            if after.pop(name, None) is None:
                raise MissingError(f"{ontology} has no domain '{name}'. kgfs ontology show {ontology} lists them.")
        if after != before:
            deposits.record(SettingChanged(found.id, SETTING, serialised(after), time.time_ns()))
        return after
