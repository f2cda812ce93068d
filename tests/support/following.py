"""Two homes that share a garage, each with a graph and a worker of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kgfs.app.turns import only_changer, taking_turns
from kgfs.compute.engine import LocalEngine
from kgfs.ingest.lifecycle import forget, forget_plan, rebuild
from kgfs.ingest.lifecycle.rebuild import rebuild_graph
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.settings import Pipeline as Settings
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from tests.fakes.garage import MemoryGarage
from tests.support.hosts import Host, host
from tests.support.knowledge_of import knowledge_in
from tests.support.slow_reading import TEXTS, Slow

LEASE, SHORT = 60.0, 1.5


@dataclass
class Home:
    host: Host
    compute: Slow = field(default_factory=Slow)

    @property
    def stores(self) -> Stores:
        return self.host.stores

    def meet(self, stores: Stores) -> None:
        self.host.exchange.meet()

    def pipeline(self) -> Pipeline:
        engine = LocalEngine(self.compute, self.stores.garage.objects)
        return Pipeline(self.host.config, self.stores, self.compute, StageClock(), engine)

    def work(self, watch: Callable[[], None] = lambda: None) -> int:
        pipeline = self.pipeline()
        with taking_turns(pipeline, self.meet) as turns:
            worker = Worker(pipeline, ErrorLog(self.host.config.errors_log), self.host.exchange, turns)
            worker.run(until_idle=True, watch=watch)
            return worker.finished

    def deposit(self, *stems: str) -> None:
        for stem in stems:
            self.host.file(f"{stem}.txt", TEXTS[stem].encode())
        self.host.settle()
        self.host.exchange()

    def lose_reading(self, path: str) -> None:
        """As a bucket may."""
        doc_id = find_document(self.stores, self.host.config.run, f"Notes/documents/{path}").doc_id
        ((key, _),) = self.stores.garage.objects.keys(f"readings/{doc_id}/")
        self.stores.garage.objects.delete(key)

    def order(self, path: str, cascade: str = "orphans", *, purge: bool = True) -> None:
        target = find_document(self.stores, self.host.config.run, f"Notes/documents/{path}")
        forget.order(self.host.deposits, self.stores, forget_plan.plan(self.stores, [target], cascade, purge=purge))

    def forget(self, path: str) -> None:
        config, stores = self.host.config, self.stores
        self.order(path)
        with only_changer(config, stores, self.meet) as alone:
            assert forget.carry_out(config, alone) == 1


@pytest.fixture
def homes(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Home, Home]]:
    garage, found = MemoryGarage(), []
    for name in ("here", "there"):
        made = host(tmp_path / name, garage)
        made.config = replace(made.config, pipeline=Settings(lease=getattr(request, "param", LEASE)))
        made.config.logs.mkdir(parents=True)
        made.ontology()
        made.exchange()
        found.append(Home(made))
    yield found[0], found[1]
    for one in found:
        one.host.session.close()
        one.stores.close()


def same(homes: tuple[Home, Home]) -> None:
    """They know the same, which a rebuild knows, too."""
    found = [knowledge_in(home.stores) for home in homes]
    assert found[0] == found[1]
    for home, before in zip(homes, found, strict=True):
        assert home.stores.graph.staged() == home.stores.graph.faults() == []
        rebuild_graph(home.stores)
        assert knowledge_in(home.stores) == before


def told_what_is_derived(homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    derived: list[str] = []
    real = rebuild.rebuild_graph

    def noted(stores: Stores) -> int:
        derived.append("here" if stores.graph is homes[0].stores.graph else "there")
        return real(stores)

    monkeypatch.setattr(rebuild, "rebuild_graph", noted)
    return derived
