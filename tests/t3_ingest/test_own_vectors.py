"""Vectors that a home keeps for itself follow what was published elsewhere: they equal those of who published it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.deciding import carry_out_forgetting
from kgfs.app.home import open_deposits, open_stores
from kgfs.app.working import run_worker
from kgfs.config import Config, Models
from kgfs.ingest.life.forget import order, plan
from kgfs.ingest.working.own_vectors import conclude_vectors, follow_vectors
from kgfs.stores.naming import find_document
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Vectors
from kgfs.stores.vectors.sqlite import SqliteVectors

TEXT = "A {0} is a form of {1}. The {0} uses a {1}."
pytestmark = pytest.mark.models


def rows(vectors: Vectors) -> list[tuple[object, ...]]:
    from kgfs.stores.vectors.contract import Filter

    return [(row.kind, row.item, row.window, row.doc_id, row.vector.tobytes()) for row in vectors.fetch(Filter())]


def ingest(config: Config, folder: Path, **texts: str) -> None:
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
        for stem, text in texts.items():
            (folder / f"{stem}.txt").write_text(text)
            deposits.ingest_file(folder / f"{stem}.txt", "Memory")
    run_worker(config, until_idle=True)


def forget(config: Config, words: str) -> None:
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
        order(deposits, stores, plan(stores, [find_document(stores, config.run, words)], "orphans", purge=False))
    carry_out_forgetting(config)


def test_they_follow_and_are_the_same(home: Path, tmp_path: Path) -> None:
    config = Config(home=home, models=Models(extractor="statistics"))
    other = Config(home=tmp_path / "other")
    other.run.mkdir(parents=True)

    def followed() -> tuple[object, object]:
        with open_stores(config, vectors_of=model) as stores:
            assert stores.vectors is not None
            with closing(SqliteVectors(other.vectors_db, model)) as mine:
                there: Stores = replace(stores, vectors=mine)
                follow_vectors(other, there)
                follow_vectors(other, there)
                conclude_vectors(other, there)
                return rows(mine), rows(stores.vectors)

    ingest(config, tmp_path, a=TEXT.format("garbage collector", "tracing algorithm"))
    with open_stores(config) as stores:
        from kgfs.app.home import model_in_use

        model = model_in_use(config, stores)
    mine, theirs = followed()
    assert mine == theirs != []
    ingest(config, tmp_path, b=TEXT.format("weak reference", "root set"), c=TEXT.format("root set", "memory cell"))
    grown, theirs = followed()
    assert grown == theirs != mine
    forget(config, "Memory/b.txt")
    left, theirs = followed()
    assert left == theirs != grown
