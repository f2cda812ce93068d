"""Whatever happened in homes with a graph each that share a garage, and wherever a worker was killed: when all are quiet each
shows the same, which is what a rebuild makes of it; so does one that joins with a snapshot made at any time in between."""

from __future__ import annotations

import random
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs import failpoints
from kgfs.app import beginning
from kgfs.app.shipping import with_exchange
from kgfs.compute.contract import Compute
from kgfs.config import Config
from kgfs.errors import BusyError, UnavailableError
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.storing.sessions import open_session
from kgfs.ingest.writing.deposit import Deposits
from kgfs.settings import Garage as GarageSettings
from kgfs.sharing.exchange import Exchange
from kgfs.sharing.snapshots import make_snapshot
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import Garage
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.snapshots import layout
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.sqlite import SqliteVectors
from tests.fakes.garage import MemoryGarage
from tests.support.histories import ONTOLOGIES, OPERATIONS, Place, act, compute_with, differences, seen

HOMES = 2
BORDERS = ("decided", "staged", "published", "indexed", "noted", "forgotten", "forgetting-committed", "redacted")
BORDERS += (
    "parts-found",
    "word-recorded",
    "publication-recorded",
    "publication-delivered",
    "followed-in-graph",
    "built-aside",
    "delivered",
    "followed",
    "forgetting-owed",
    "erased",
)


class Killed(BaseException):
    pass


@dataclass
class Sharing(Place):
    dead: bool = False
    """Nothing more leaves it."""

    def meet(self, stores: Stores) -> None:
        if self.dead:
            raise UnavailableError("It was killed.")
        Exchange(self.config, stores).meet()


@contextmanager
def killed_at(place: Sharing, border: str, times: int) -> Iterator[None]:
    """Who passes the border the n-th time ends there; what it had not delivered stays."""

    def kill(thread: int, number: int) -> None:
        if number == signal.SIGKILL:
            place.dead = True
            raise Killed
        real(thread, number)

    real = signal.pthread_kill
    ways = {border: [failpoints._Way(signal.SIGKILL, times)]}
    with mock.patch.object(signal, "pthread_kill", kill), mock.patch.object(failpoints, "_ways", ways):
        try:
            with suppress(Killed):
                yield
        finally:
            place.dead = False


def sharing(folder: Path) -> Config:
    config = Config(home=folder, garage_store=GarageSettings(store="s3", endpoint="http://localhost", shared=True))
    for needed in (config.home, config.spool, config.run, config.logs):
        needed.mkdir(parents=True, exist_ok=True)
    return config


def home(folder: Path, garage: Garage, compute: Compute, stack: ExitStack) -> Sharing:
    config = sharing(folder)
    vectors = SqliteVectors(config.vectors_db, compute.embedding_model) if compute.embedding_model else None
    stores = Stores(garage, Catalog(config.catalog_db), Graph(config.graph_db), vectors)
    stack.enter_context(closing(stores))
    stores.catalog.share()
    stores = with_exchange(config, stores)
    session = open_session(config.run)
    stack.callback(session.close)
    place = Sharing(config, stores, Deposits(config, stores, session.id), compute)
    place.exchange = place.meet
    place.meet(stores)
    return place


def joining(folder: Path, garage: Garage, compute: Compute, stack: ExitStack) -> Sharing:
    """A home that begins with the newest snapshot, if there is any."""
    config = sharing(folder)
    with mock.patch.object(beginning, "open_garage", lambda *_, **__: garage):
        begins = layout.complete(garage.objects) != []
        assert beginning.begin_with_snapshot(config) == begins
    return home(folder, garage, compute, stack)


def quiet(places: list[Sharing]) -> None:
    for _ in range(HOMES):
        for place in places:
            for name in ONTOLOGIES:
                place.ontology(name)
            place.settle()
            place.meet(place.stores)
            place.work()
    for place in places:
        place.meet(place.stores)
        place.work()
        assert place.stores.catalog.jobs.owed() == 0
        assert place.stores.graph.staged() == place.stores.graph.faults() == []


def holds(history: list[tuple[int, str, int]], compute: Compute) -> None:
    with tempfile.TemporaryDirectory() as top, ExitStack() as stack:
        garage = MemoryGarage()
        places = [home(Path(top) / str(n), garage, compute, stack) for n in range(HOMES)]
        for which, what, seed in history:
            chance = random.Random(seed)
            place = places[which % HOMES]
            if what == "meet":
                place.meet(place.stores)
            elif what == "snapshot":
                with suppress(BusyError):  # its graph is still to be derived, or has purged documents still to leave
                    make_snapshot(place.config, place.stores, garage.objects, compute.embedding_model)
            elif what == "killed":
                act(place, "write", seed)
                with killed_at(place, chance.choice(BORDERS), chance.randint(1, 3)):
                    act(place, chance.choice(["work", "merge_concepts", "forget_some", "forget_known"]), seed)
                    act(place, "work", seed)
            else:
                act(place, what, seed)
        places.append(joining(Path(top) / "late", garage, compute, stack))
        quiet(places)
        shown = [seen(place) for place in places]
        for other in shown[1:]:
            assert differences(shown[0], other) == {}, "the homes"
        for place, before in zip(places, shown, strict=True):
            rebuild(place.stores)
            assert differences(before, seen(place)) == {}, "rebuilt"


STEPS = [*OPERATIONS, *["write", "killed"] * 6, *["work", "meet", "merge_concepts", "forget_some", "snapshot"] * 3]
HISTORIES = st.lists(
    st.tuples(st.integers(0, HOMES - 1), st.sampled_from(STEPS), st.integers(0, 1 << 16)), min_size=6, max_size=20
)


@pytest.mark.claim("SHARE-10", "SHARE-11")
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES)
def test_own_graphs_are_the_same(history: list[tuple[int, str, int]]) -> None:
    holds(history, compute_with("none"))


@pytest.mark.models
@settings(max_examples=1, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES)
def test_own_graphs_and_vectors_are_the_same(history: list[tuple[int, str, int]]) -> None:
    holds(history, compute_with("minilm"))
