"""A home with real names and a real garage, for tests of depositing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from kgfs.config import Config, load
from kgfs.domain.documents import Name, Ontology
from kgfs.ingest.storing.settle import Session, open_session
from kgfs.ingest.writing.deposit import Deposits
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.stores import Stores


@dataclass
class Desk:
    """One process's view of a home."""

    config: Config
    stores: Stores
    session: Session
    deposits: Deposits

    @property
    def catalog(self) -> Catalog:
        return self.stores.catalog

    def ontology(self, name: str = "Notes") -> Ontology:
        return self.catalog.names.ontology_named(name) or self.deposits.make_ontology(name, 0o755, 0, 0)

    def file(self, name: str = "a.txt", content: bytes | None = None, parent: int = 0) -> Name:
        """A file made and, with ``content``, written and closed."""
        made = self.deposits.make_file(parent or self.ontology().root, name, 0o644, 0, 0)
        if content is not None:
            self.write(made.id, content)
        return self.row(made.id)

    def write(self, name_id: int, content: bytes, piece: int = 131072) -> None:
        """As ``cat > file`` does."""
        file = self.deposits.open(name_id, write=True, truncate=True)
        try:
            for start in range(0, len(content), piece):
                assert file.write(start, content[start : start + piece]) == len(content[start : start + piece])
            file.flush()
        finally:
            file.release()

    def read(self, name_id: int) -> bytes:
        """As ``cat file`` does."""
        file = self.deposits.open(name_id)
        content = bytearray()
        try:
            while piece := file.read(len(content), 131072):
                content += piece
            file.flush()
        finally:
            file.release()
        return bytes(content)

    def row(self, name_id: int) -> Name:
        found = self.catalog.names.name(name_id)
        assert found is not None
        return found

    def settle(self) -> int:
        return self.deposits.settler.settle_now()

    def spool_files(self) -> list[str]:
        return sorted(path.name for path in self.config.spool.glob("*"))

    def close(self) -> None:
        self.session.close()
        self.stores.close()


def open_desk(home: Path, config: Config | None = None) -> Desk:
    config = config or load(home)
    for folder in (config.garage, config.spool, config.run, config.logs):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    graph = cast(Any, None)  # depositing never looks at the graph
    stores = Stores(open_garage(config), Catalog(config.catalog_db), graph)
    session = open_session(config.run)
    return Desk(config, stores, session, Deposits(config, stores, session.id))


@contextmanager
def desk_at(home: Path, config: Config | None = None) -> Iterator[Desk]:
    desk = open_desk(home, config)
    try:
        yield desk
    finally:
        desk.close()


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    """A home without a worker, for a test that has one process."""
    with desk_at(home) as desk:
        yield desk
