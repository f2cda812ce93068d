"""Check a home: find every kind of damage and change nothing (``ingest.repair.repair`` repairs)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kgfs.config import Config
from kgfs.knowledge import timing
from kgfs.knowledge.check.backlog import in_catalog
from kgfs.knowledge.check.derived import in_graph, in_projection, in_vectors
from kgfs.knowledge.check.kept import in_bucket, in_garage, in_ledger
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.database import fault_of
from kgfs.stores.stores import Stores

Progress = Callable[[int, int, str], None]


def check(
    config: Config,
    stores: Stores,
    alive: Sequence[str],
    *,
    worker: bool,
    deep: bool = False,
    progress: Progress = lambda *_: None,
) -> list[Damage]:
    """Return the damages of a home.

    The home may be in use: a damage is reported only if two passes find it. The passes check that what should be
    there is there and that references hold; with ``deep`` they also read and verify every byte. ``alive`` are the ids
    of living sessions, ``worker`` says whether a worker is alive. A damage is reported once for each document that it
    concerns.
    """
    first_pass = _once(config, stores, alive, worker, deep, progress)
    found = list({(damage.kind, damage.what, damage.doc_id): damage for damage in first_pass}.values())
    if not found:
        return []
    time.sleep(timing.CHECK_SECOND_PASS)
    again = {(damage.kind, damage.what) for damage in _once(config, stores, alive, worker, deep, progress)}
    return [damage for damage in found if (damage.kind, damage.what) in again]


def _once(
    config: Config, stores: Stores, alive: Sequence[str], worker: bool, deep: bool, progress: Progress
) -> Iterator[Damage]:
    if deep:
        yield from _databases(config)
    yield from in_ledger(stores)
    yield from in_garage(stores, deep=deep, progress=progress)
    yield from in_bucket(config, stores)
    yield from in_catalog(config, stores, alive, worker=worker)
    yield from in_graph(stores, deep=deep, progress=progress)
    yield from in_vectors(stores)
    yield from in_projection(config, stores)


def _databases(config: Config) -> Iterator[Damage]:
    paths: list[Path] = [config.catalog_db, config.graph_db, config.vectors_db]
    for path in paths:
        if path.exists() and (complaint := fault_of(path, deep=True)):
            yield Damage(Kind.DAMAGED_DATABASE, path.name, complaint)
