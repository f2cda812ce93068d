"""How reading spreads over a Ray cluster of this machine.

``python -m bench.spread [--places 1 4 16]``: the extractor waits half a second a Source, as a language model over a network
does, so what is measured is what kgfs and Ray add. Each place has the same number of documents, which are of three to seven
Sources; efficiency is the time that the waiting alone would take, divided by the time from the first claim to the last
publication. Until all places have loaded what they need is told apart.

``python -m bench.spread --corpus DIR [--take N] [--rounds N]``: workers read the files of DIR (or N of them, evenly chosen) with
the models of this machine, by the local engine and by Ray in turns. Counted from the start of the worker's process to its
end, Ray's start and the loading of models with it; CPU seconds are those of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.spread_processes import pss, watched
from kgfs.app.home import open_deposits, open_stores
from kgfs.compute.cluster import RayEngine, about
from kgfs.compute.engine import Progress, WorkerSlot
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.models.contract import Passage
from kgfs.settings import Cluster, Models
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.worker_lock import worker_note

SECONDS = 0.5
SOURCES = (5, 3, 7, 4, 6)
"""Of documents in turn: places that all end at once would wait for each other."""
DOCUMENTS = 12
"""For each place; the last of them, where some places have nothing to do any more, take a twelfth of the time."""
CPUS_EACH = 0.05
"""They wait; so many fit on a small machine."""
MIB = 1 << 20


class Waiting(LocalCompute):
    def __init__(self) -> None:
        super().__init__(Models(embedder="none", extractor="statistics"))

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        time.sleep(SECONDS * len(passages))
        return super().extract(passages, known)


def place(config: Config) -> WorkerSlot:
    return WorkerSlot(Waiting(), open_garage(config).objects)


@dataclass(frozen=True)
class Weighed:
    """Bytes of memory that a place has for itself, its part of what processes share included."""

    def __call__(self, place: WorkerSlot, progress: Progress) -> int:
        time.sleep(1.0)  # so that each place has work at the same time
        return pss(os.getpid())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--corpus", type=Path, metavar="DIR")
    parser.add_argument("--take", type=int, metavar="N", help="files of the corpus [all]")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="of both engines [%(default)s]")
    options = parser.parse_args()
    if options.corpus:
        side_by_side(taken(options.corpus, options.take), options.rounds)
        return
    for places in options.places:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(measured(Config(home=Path(scratch) / "home"), Path(scratch), places)), flush=True)


def measured(config: Config, folder: Path, places: int) -> dict[str, float]:
    with open_stores(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            for number in range(places * DOCUMENTS):
                path = folder / f"{number}.txt"
                parts = range(SOURCES[number % len(SOURCES)])
                path.write_text("\n\n".join(paragraph(number, n) for n in parts))
                deposits.ingest_file(path, "Spread")
        started = time.perf_counter()
        settings = Cluster(engine="ray", places=places, cpus_each=CPUS_EACH)
        engine = RayEngine(settings, partial(place, config), about(place(config)))
        clock = StageClock()
        try:
            weights = _all_weighed(engine, places)
            ready, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
            Worker(Pipeline(config, stores, Waiting(), clock, engine), ErrorLog(config.errors_log), lambda: None).run(
                until_idle=True
            )
            ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        finally:
            engine.close()
        sources = stores.graph.counts()["sources"]
    spent = clock.seconds()
    return {
        "places": places,
        "documents": places * DOCUMENTS,
        "sources": sources,
        "seconds until all places are ready": round(ready - started, 2),
        "MiB of a place": round(statistics.median(weights) / MIB),
        "seconds": round(ended - ready, 2),
        "match and commit, seconds": round(spent.get("match", 0.0) + spent.get("commit", 0.0), 2),
        "CPU seconds of the worker": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            2,
        ),
        "efficiency": round(sources * SECONDS / places / (ended - ready), 3),
    }


def _all_weighed(engine: RayEngine, places: int) -> list[int]:
    """Each place has work at the same time, so each has loaded what it needs."""
    with ThreadPoolExecutor(places) as pool:
        return list(pool.map(lambda _: engine.run(Weighed(), lambda stage, share: None), range(places)))


def paragraph(document: int, number: int) -> str:
    words = f"Reference counting {document} number {number} is a form of garbage collection that reclaims memory cells."
    return f"# Part {number}\n\n" + " ".join(
        f"{words} Cell {n} of {number} is visited by the algorithm." for n in range(14)
    )


def taken(folder: Path, number: int | None) -> list[Path]:
    """So many of its files, spread evenly over their names."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    wanted = min(number or len(files), len(files))
    return [files[n * len(files) // wanted] for n in range(wanted)]


def side_by_side(files: list[Path], rounds: int) -> None:
    taken: dict[str, list[dict[str, float]]] = {"local": [], "ray": []}
    for _ in range(rounds):
        for engine, figures in taken.items():
            with tempfile.TemporaryDirectory(prefix="kgfs-spread-") as scratch:
                found = read_by(engine, Config(home=Path(scratch) / "home"), files)
            print(json.dumps({"engine": engine, "documents": len(files), **found}), flush=True)
            figures.append({what: found[what] for what in ("seconds", "CPU seconds", "MiB")})
    print("| | local | ray | ratio |\n| --- | --- | --- | --- |")
    for what in ("seconds", "CPU seconds", "MiB"):
        local, ray = (statistics.median(row[what] for row in figures) for figures in taken.values())
        print(f"| {what} | {local:.1f} | {ray:.1f} | {ray / local:.2f} |")


def read_by(engine: str, config: Config, files: list[Path]) -> dict[str, float]:
    """What a worker took, and what it says of its stages."""
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
        for path in files:
            deposits.ingest_file(path, "Corpus")
    spent = watched(["worker", "--until-idle", "--home", str(config.home)], {"KGFS_COMPUTE_ENGINE": engine})
    with open_stores(config) as stores:
        counts = {what: stores.graph.counts()[what] for what in ("documents", "concepts", "instances")}
    return {
        "seconds": round(spent.seconds, 1),
        "CPU seconds": round(spent.cpu, 1),
        "MiB": round(spent.memory / MIB),
        **counts,
        **{f"{stage}, seconds": taken for stage, taken in worker_note(config.run)["seconds"].items()},
    }


if __name__ == "__main__":
    main()
