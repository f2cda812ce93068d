"""Whatever happened: a home that moved to other stores shows the same tree, what was not settled or read yet included."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from kgfs.app.home import open_deposits, open_home
from kgfs.app.moving import migrate_home, plan_migration
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from tests.support.histories import HISTORIES, ONTOLOGIES, Place, act, compute_with, differences, open_place, seen


def holds(history: list[tuple[str, int]], compute: LocalCompute) -> None:
    with tempfile.TemporaryDirectory() as top:
        home, goal = Config(Path(top) / "home"), Config(Path(top) / "goal")
        model = compute.embedding_model
        with open_home(home, vectors_of=model) as stores, open_deposits(home, stores) as (desk, _):
            place = open_place(home, stores, desk, compute)
            for what, seed in history:
                act(place, what, seed)
            for name in ONTOLOGIES:  # as when it is opened
                place.ontology(name)
            before, owed = seen(place), [(job.kind, job.doc_id) for job in stores.catalog.jobs.all()]
            migrate_home(home, goal, plan_migration(home, goal), lambda done, total, what: None)
            assert differences(before, seen(place)) == {}, "the home stays as it was"
            place.work()
            later = seen(place)
        with open_home(goal, vectors_of=model) as stores, open_deposits(goal, stores) as (desk, _):
            place = Place(goal, stores, desk, compute)
            assert differences(before, seen(place)) == {}
            assert [(job.kind, job.doc_id) for job in stores.catalog.jobs.all()] == owed
            place.work()
            # What is read from now on gets times of its own; names, numbers and words are the same.
            assert worded(seen(place)) == worded(later)


def worded(tree: dict[str, object]) -> list[str]:
    return sorted(path for path in tree if path != "vectors")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES)
def test_migrated_equals_what_it_was(history: list[tuple[str, int]]) -> None:
    holds(history, compute_with("none"))


@pytest.mark.models
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES)
def test_migrated_equals_what_it_was_with_vectors(history: list[tuple[str, int]]) -> None:
    holds(history, compute_with("minilm"))
