"""How reading spreads over a Ray cluster: ``python -m bench.spread [--places 1 4 16]``.

The extractor waits half a second a Source, as a language model over a network does, so what is measured is what kgfs and
Ray add. Each place is given the same work; efficiency is the time that the waiting alone would take, divided by the time
from the first claim to the last publication.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kgfs.app.home import open_deposits, open_stores
from kgfs.compute.cluster import RayEngine, about
from kgfs.compute.engine import Place, Progress
from kgfs.compute.local import LocalCompute
from kgfs.config import Cluster, Config, Models
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.models.contract import Passage
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import open_garage

SECONDS = 0.5
SOURCES = 10
DOCUMENTS = 4
"""For each place."""
CPUS_EACH = 0.05
"""They wait; so many fit on a small machine."""


class Waiting(LocalCompute):
    def __init__(self) -> None:
        super().__init__(Models(embedder="none", extractor="statistics"))

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        time.sleep(SECONDS * len(passages))
        return super().extract(passages, known)


def place(config: Config) -> Place:
    return Place(Waiting(), open_garage(config).objects)


@dataclass(frozen=True)
class Warm:
    def __call__(self, place: Place, progress: Progress) -> None:
        time.sleep(1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--places", type=int, nargs="+", default=[1, 4, 16])
    for places in parser.parse_args().places:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(measured(Config(home=Path(scratch) / "home"), Path(scratch), places)), flush=True)


def measured(config: Config, folder: Path, places: int) -> dict[str, float]:
    with open_stores(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            for number in range(places * DOCUMENTS):
                path = folder / f"{number}.txt"
                path.write_text("\n\n".join(paragraph(number, n) for n in range(SOURCES)))
                deposits.ingest_file(path, "Spread")
        started = time.perf_counter()
        settings = Cluster(engine="ray", places=places, cpus_each=CPUS_EACH)
        engine = RayEngine(settings, partial(place, config), about(place(config)))
        try:
            _all_ready(engine, places)
            ready = time.perf_counter()
            pipeline = Pipeline(config, stores, Waiting(), StageClock(), engine)
            Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True)
            ended = time.perf_counter()
        finally:
            engine.close()
        sources = stores.graph.counts()["sources"]
    waiting = sources * SECONDS / places
    return {
        "places": places,
        "documents": places * DOCUMENTS,
        "sources": sources,
        "seconds until all places are ready": round(ready - started, 2),
        "seconds": round(ended - ready, 2),
        "efficiency": round(waiting / (ended - ready), 3),
    }


def _all_ready(engine: RayEngine, places: int) -> None:
    """Each place has work at the same time, so each has loaded what it needs."""
    with ThreadPoolExecutor(places) as pool:
        list(pool.map(lambda _: engine.run(Warm(), lambda stage, share: None), range(places)))


def paragraph(document: int, number: int) -> str:
    words = f"Reference counting {document} number {number} is a form of garbage collection that reclaims memory cells."
    return f"# Part {number}\n\n" + " ".join(
        f"{words} Cell {n} of {number} is visited by the algorithm." for n in range(14)
    )


if __name__ == "__main__":
    main()
