"""Rows of vectors whose documents and concepts left the graph: none is left, whoever was killed, stood still or was late."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.rebuild import rebuild_vectors
from kgfs.ingest.matching import naming
from kgfs.ingest.reading import embeddings
from kgfs.ingest.working import pipeline as pipeline_module
from kgfs.stores import timing
from kgfs.stores.garage.listing import OWN
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, unindex
from tests.fakes.vectors import MemoryVectors
from tests.support.working import OTHER, TEXT, Counting, KilledError, deposit, remove, throw, work

MODEL = "hashes/1"


class Embedding(Counting):
    """With vectors that mean nothing, and are never near each other."""

    @property
    def embedding_model(self) -> str:
        return MODEL

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
        return [np.frombuffer(digest, np.uint8).astype(np.float32)[None, :] - 127.5 for digest in hashes]


@pytest.fixture
def config(home: Path) -> Config:
    return Config(home=home)


@pytest.fixture
def stores(config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    monkeypatch.setattr(timing, "FORGET_AFTER_NS", 0)
    with open_home(config) as stores:
        yield replace(stores, vectors=MemoryVectors(MODEL))


def rows(stores: Stores) -> tuple[set[str], set[str]]:
    """Documents and concepts that have some."""
    assert stores.vectors is not None
    found = stores.vectors.fetch(Filter())
    return {row.doc_id for row in found} - {""}, {row.item for row in found if row.kind == "concept"}


def shown(stores: Stores) -> tuple[set[str], set[str]]:
    """Those that the graph has."""
    [ontology] = stores.catalog.names.ontologies()
    documents = {row.doc_id for row in stores.graph.documents(ontology.id)}
    return documents, {concept.concept_id for concept in stores.graph.concepts(ontology.id)}


@pytest.mark.parametrize("left", ["removed", "written anew"])
def test_concepts_that_died_with_a_document_whose_worker_was_killed_behind_the_commit(
    config: Config, stores: Stores, tmp_path: Path, left: str
) -> None:
    for documents in ({"a": TEXT}, {"b": OTHER}):  # in this order, though the second is smaller
        deposit(config, stores, tmp_path, **documents)
        work(config, stores, Embedding())
    assert rows(stores) == shown(stores)
    before = shown(stores)
    if left == "removed":
        remove(config, stores, "a.txt")
    else:
        deposit(
            config,
            stores,
            tmp_path,
            a="Zen is a school of Buddhism. A koan is a riddle that a school of Buddhism uses.",
        )
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
        for module in (pipeline_module, naming):
            patch.setattr(module, "unindex", lambda *_: throw(KilledError()))
        work(config, stores, Embedding())
    work(config, stores, Embedding())
    assert before[1] - shown(stores)[1], "some have died"
    assert rows(stores) == shown(stores)


def document_at(stores: Stores, path: str) -> str:
    [ontology] = stores.catalog.names.ontologies()
    name = stores.catalog.names.resolve(ontology.id, path)
    assert name is not None
    return name.doc_id


def leave(stores: Stores, doc_id: str) -> None:
    """As another machine has it forgotten, of which nothing is known here."""
    touched = [concept.concept_id for concept in stores.graph.concepts_of(doc_id)]
    stores.graph.forget(f"forgotten-{doc_id}", [doc_id], time.time_ns())
    unindex(stores, [doc_id], touched)


@pytest.mark.claim("VEC-5")
def test_documents_that_another_machine_takes_out_while_all_rows_are_made_anew(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is forgotten; one is purged, as is not known here yet; one is purged, as was just heard."""
    zen = "Zen is a school of Buddhism. A koan is a riddle that a school of Buddhism uses."
    deposit(
        config, stores, tmp_path, forgotten=TEXT, purged=OTHER, heard=zen, stays=TEXT + " A weak reference is weak."
    )
    work(config, stores, Embedding())
    done: list[str] = []
    load = embeddings.load

    def late(*about: Any) -> embeddings.Embeddings | None:
        if not done:
            done.append("meanwhile")
            leave(stores, document_at(stores, "forgotten.txt"))
            leave(stores, purged := document_at(stores, "purged.txt"))
            for key in [key for kind in OWN for key, _ in stores.garage.objects.keys(f"{kind}/{purged}/")]:
                stores.garage.objects.delete(key)
            with open_deposits(config, stores) as (deposits, _):
                target = find_document(stores, config.run, "Test/documents/heard.txt")
                forget.order(deposits, stores, forget_plan.plan(stores, [target], "orphans", purge=True))
            assert forget.carry_out(config, stores) == 1
        return load(*about)

    monkeypatch.setattr(embeddings, "load", late)
    rebuild_vectors(stores)
    assert done and len(shown(stores)[0]) == 1
    assert rows(stores) == shown(stores)
