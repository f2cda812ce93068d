"""A worker of an embedded home, in the process of a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.app.working import run_worker
from kgfs.compute.contract import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config, load
from kgfs.domain.documents import Document, State
from kgfs.ingest.lifecycle.runs import Order, all_of, owe
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working import pipeline as pipeline_module
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.models.contract import Passage
from kgfs.settings import Models
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.stores import Stores

TEXT = "Reference counting is a form of garbage collection. Garbage collection reclaims unreachable memory cells."


@dataclass
class Counting(LocalCompute):
    """The statistics extractor, with a count of what it is asked and faults on demand."""

    asked: list[str] = field(default_factory=list)
    poison: str = ""
    garbage: bool = False

    def __post_init__(self) -> None:
        super().__init__(Models(embedder="none", extractor="statistics"))

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        self.asked.extend(passage.text for passage in passages)
        if self.poison and any(self.poison in passage.text for passage in passages):
            raise ZeroDivisionError("a bug of a model")
        return ["not json" for _ in passages] if self.garbage else super().extract(passages, known)


@pytest.fixture
def config(home: Path) -> Config:
    return load(home)


@pytest.fixture
def stores(config: Config) -> Iterator[Stores]:
    with open_home(config) as stores:
        yield stores


def deposit(config: Config, stores: Stores, folder: Path, **texts: str) -> None:
    with open_deposits(config, stores) as (deposits, _):
        for stem, text in texts.items():
            path = folder / f"{stem}.txt"
            path.write_text(text)
            deposits.ingest_file(path, "Test")


def work(config: Config, stores: Stores, compute: LocalCompute) -> Pipeline:
    pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects))
    Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True)
    return pipeline


def states(stores: Stores) -> dict[State, int]:
    return {state: count for state, count in stores.catalog.names.counts().items() if count}


def documents(stores: Stores) -> list:  # type: ignore[type-arg]
    return [d for o in stores.catalog.names.ontologies() for d in stores.catalog.names.documents(o.id)]


@dataclass
class Embedding(Counting):
    """Labels are alike where they share letters; counts what it is asked."""

    embedded: list[str] = field(default_factory=list)

    @property
    def embedding_model(self) -> str:
        return "letters/1"

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        self.embedded.extend(texts)
        return [np.stack([_letters(part) for part in (text[:60], text[60:]) if part or not text]) for text in texts]


def _letters(text: str) -> npt.NDArray[np.float32]:
    vector = np.full(26, 0.01, np.float32)
    for char in text.casefold():
        if "a" <= char <= "z":
            vector[ord(char) - 97] += 1
    unit: npt.NDArray[np.float32] = vector / np.linalg.norm(vector)
    return unit


def ingest(config: Config, folder: Path, **texts: str) -> None:
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        for stem, text in texts.items():
            (folder / f"{stem}.txt").write_text(text)
            deposits.ingest_file(folder / f"{stem}.txt", "Memory")
    run_worker(config, until_idle=True)


TEXTS = {
    "a": TEXT,
    "b": "Garbage Collection (GC) reclaims memory. A tracing collector visits reachable objects.",
    "c": "Reference counting cannot reclaim a reference cycle. A tracing collector can reclaim cycles.",
}


def regenerate(stores: Stores, **asked: Any) -> list[Document]:
    [ontology] = stores.catalog.names.ontologies()
    order = Order("asked for", **{"anew": True, **asked})
    return owe(stores.catalog, lambda: all_of(stores.catalog.names, ontology), order)


OTHER = "Tracing collectors find cycles. A tracing collector visits every reachable object from its roots."


def remove(config: Config, stores: Stores, path: str) -> None:
    [ontology] = stores.catalog.names.ontologies()
    name = stores.catalog.names.resolve(ontology.id, path)
    assert name is not None
    with open_deposits(config, stores) as (deposits, _):
        deposits.remove(name.id)


def throw(error: BaseException) -> None:
    raise error


class KilledError(BaseException):
    """Stands for the end of the process: nothing catches it."""


def work_until(border: str, config: Config, stores: Stores) -> None:
    """Work, as a process that is killed at this border of the pipeline does."""

    def kill(name: str) -> None:
        if name == border:
            raise KilledError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(pipeline_module, "border", kill)
        work(config, stores, Counting())
