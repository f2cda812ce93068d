"""Whatever happened: what is derived anew equals what was built step by step, the whole tree as bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.app.home import derive_vectors, open_deposits, open_home
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.storing.settle import alive_sessions
from kgfs.knowledge.check import check
from kgfs.stores.database import remove_database
from tests.support.claims import claimed_by_rule
from tests.support.histories import (
    HISTORIES,
    Place,
    act,
    compute_with,
    differences,
    open_place,
    put_away,
    seen,
)

LOSSES = st.sampled_from([lost for size in (1, 2, 3) for lost in combinations(("front", "graph", "vectors"), size)])


@contextmanager
def opened(home: Path, compute: LocalCompute) -> Iterator[Place]:
    config = Config(home)
    with open_home(config, vectors_of=compute.embedding_model) as stores, open_deposits(config, stores) as (desk, _):
        derive_vectors(config, stores)
        yield open_place(config, stores, desk, compute)


def holds(history: list[tuple[str, int]], lost: tuple[str, ...], compute: LocalCompute) -> None:
    with tempfile.TemporaryDirectory() as top:
        home = Path(top) / "home"
        with opened(home, compute) as place:
            for what, seed in history:
                act(place, what, seed)
            put_away(place)
            whole = check(place.config, place.stores, alive_sessions(place.config.run), worker=False, deep=True)
            assert whole == [], "nothing that can happen looks like damage"
            before = seen(place)
            rebuild(place.stores)
            assert differences(before, seen(place)) == {}, "rebuilt"
            for ontology in place.stores.catalog.names.ontologies():
                rebuild(place.stores, ontology=ontology.id)
                assert differences(before, seen(place)) == {}, f"{ontology.name} rebuilt"
        for name in lost:
            remove_database(home / f"{name}.sqlite")
        with opened(home, compute) as place:
            assert differences(before, seen(place)) == {}, f"without {lost}"
            # And work goes on as if nothing had been: new words get the same names and numbers in both worlds.
            act(place, "write", 1)
            place.work()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES, LOSSES)
def test_rebuilt_equals_step_by_step(history: list[tuple[str, int]], lost: tuple[str, ...]) -> None:
    with claimed_by_rule():
        holds(history, lost, compute_with("none"))


@pytest.mark.models
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES, LOSSES)
def test_rebuilt_equals_step_by_step_with_vectors(history: list[tuple[str, int]], lost: tuple[str, ...]) -> None:
    with claimed_by_rule():
        holds(history, lost, compute_with("minilm"))
