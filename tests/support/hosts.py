"""Homes of one garage: what each does, and what it sees of the others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kgfs.app.shipping import with_exchange
from kgfs.config import Config
from kgfs.ingest.storing.sessions import open_session
from kgfs.ingest.writing.deposit import Deposits
from kgfs.settings import Garage as GarageSettings
from kgfs.sharing.exchange import Exchange
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import Garage
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.stores import Stores
from tests.fakes.garage import MemoryGarage
from tests.support.depositing import Desk

LARGE = bytes(random.Random(4).randbytes(300_000))


@dataclass
class Host(Desk):
    exchange: Exchange

    def read_at(self, path: str) -> bytes:
        name = self.catalog.names.resolve(self.ontology().id, path)
        assert name is not None, path
        return self.read(name.id)

    def key_at(self, path: str) -> str:
        name = self.catalog.names.resolve(self.ontology().id, path)
        assert name is not None, path
        return name.key

    def settle(self) -> None:
        self.deposits.settler.settle_now()

    def history(self, path: str) -> list[tuple[str, bytes]]:
        name = self.catalog.names.resolve(self.ontology().id, path)
        assert name is not None
        found = self.catalog.names.versions(name.id)
        return [(version.decision, self.stores.garage.objects.get(version.key)) for version in found]


def host(home: Path, garage: Garage, durability: str = "local") -> Host:
    settings = GarageSettings(store="s3", endpoint="http://localhost", shared=True, durability=durability)
    config = Config(home=home, garage_store=settings)
    for folder in (config.home, config.spool, config.run):
        folder.mkdir(parents=True, exist_ok=True)
    stores = Stores(garage, Catalog(config.catalog_db), Graph(config.graph_db))
    stores.catalog.share()
    stores = with_exchange(config, stores)
    assert stores.exchange is not None
    stores.exchange.uploads.end_grace()
    session = open_session(config.run)
    return Host(config, stores, session, Deposits(config, stores, session.id), Exchange(config, stores))


@pytest.fixture
def garage() -> MemoryGarage:
    return MemoryGarage()


@pytest.fixture
def here(tmp_path: Path, garage: MemoryGarage) -> Iterator[Host]:
    made = host(tmp_path / "here", garage)
    made.ontology()
    made.exchange()
    yield made
    made.close()


@pytest.fixture
def there(tmp_path: Path, garage: MemoryGarage, here: Host) -> Iterator[Host]:
    yield from joining(tmp_path / "there", garage)


def joining(folder: Path, garage: MemoryGarage) -> Iterator[Host]:
    """A home that shares what another one made."""
    made = host(folder, garage)
    made.exchange()
    yield made
    made.close()
