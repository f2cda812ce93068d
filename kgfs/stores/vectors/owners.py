"""Whose vectors stand in a place on a server, where homes share a garage: those of two graphs must not share one, since each
home would delete the points of concepts that its own graph does not have.

A home says so in the garage, by the object ``hosts/<id>/vectors-<place>-<graph>``, which goes when it is struck off. A server
that two homes call by different addresses is not noticed.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import closing, suppress
from dataclasses import dataclass

from kgfs.config import Config
from kgfs.errors import AWAY, BadInputError
from kgfs.stores.garage.contract import Objects
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.hosts import HOSTS, host_id

_KEY = re.compile(f"{HOSTS}([0-9a-f]{{12}})/vectors-([0-9a-f]{{16}})-([0-9a-f]{{16}})")


@dataclass(frozen=True, slots=True)
class _Claim:
    host: str
    place: str
    graph: str

    @property
    def key(self) -> str:
        return f"{HOSTS}{self.host}/vectors-{self.place}-{self.graph}"


def take_place(config: Config) -> None:
    """Before vectors are written. BadInputError where another home keeps those of another graph in the place that the settings
    name; of two that take it in the same moment that with the higher id is refused. While the garage is away nobody is."""
    if config.garage_store.shared and config.vectors.store != "sqlite":
        with suppress(*AWAY), closing(open_garage(config, cached=False)) as garage:
            _take(config, garage.objects)


def _take(config: Config, objects: Objects) -> None:
    vectors, own = config.vectors, host_id(config)
    graph = own if config.graph.store == "sqlite" else config.graph.namespace
    ours = _Claim(own, _tag(f"{vectors.url.rstrip('/')} {vectors.prefix}"), _tag(graph))
    claims = _claims(objects)
    for former in [claim for claim in claims if claim.host == own and claim != ours]:
        objects.delete(former.key)
    if ours not in claims and not _rivals(ours, claims):
        objects.put(ours.key, b"")
        claims = _claims(objects)
    rivals = _rivals(ours, claims)
    if ours in claims:
        rivals = [host for host in rivals if host < own]
    if rivals:
        objects.delete(ours.key)
        raise BadInputError(
            f"{vectors.url}: the home {rivals[0]} (kgfs hosts) keeps the vectors of another graph under the prefix"
            f" '{vectors.prefix}'. Give this one a vectors.prefix of its own. If that home is gone for good: kgfs hosts"
            f" --strike-off {rivals[0]}."
        )


def _claims(objects: Objects) -> list[_Claim]:
    return [_Claim(*found.groups()) for key, _ in objects.keys(HOSTS) if (found := _KEY.fullmatch(key))]


def _rivals(ours: _Claim, claims: list[_Claim]) -> list[str]:
    others = (claim for claim in claims if claim.host != ours.host)
    return sorted(claim.host for claim in others if claim.place == ours.place and claim.graph != ours.graph)


def _tag(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:16]
