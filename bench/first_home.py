"""How soon a machine that takes over a bucket shows everything: ``python -m bench.first_home FOLDER make [--documents 1000]``,
then ``python -m bench.first_home FOLDER measure``.

``make`` starts a SeaweedFS in FOLDER, and fills a bucket and a home with so many documents, each of 100 Sources, 1,000 concepts
with three quotes each, and 500 relationships, and puts a snapshot there. ``measure`` has a new home take over, mounts it
without a worker, and prints the seconds from the call of ``kgfs mount --take-over`` until it returned, until ``ls`` had listed all
concepts, until one ``concept.md`` was read, and until a search was answered; and the highest memory of both processes.
What is in FOLDER stays, so that ``measure`` can be repeated; remove it afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.generated import composed, found_concept, reading
from kgfs.app.home import open_deposits, open_home
from kgfs.compute.contract import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config, load
from kgfs.domain.documents import Document
from kgfs.domain.knowledge import FoundRelationship, Quote
from kgfs.domain.text import Chunk
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.settings import Models
from kgfs.stores.readings import Reading
from kgfs.stores.ship import ship_once
from kgfs.stores.snapshots import make_snapshot
from kgfs.stores.worker_lock import WorkerLock
from scripts.servers import process, seaweedfs

ONTOLOGY = "Library"
SOURCES, CONCEPTS = 100, 10
"""Of a document, founded in a Source."""
MATERIALS = ("amber", "basalt", "cobalt", "garnet", "indigo", "jasper", "marble", "ochre", "quartz", "sienna")
THINGS = ("anchor", "bellows", "compass", "furnace", "harness", "kiln", "lantern", "pulley", "ratchet", "spindle")
SENTENCES = (
    "A {one} is kept beside the {other} while the harbour sleeps.",
    "The {one} was repaired twice before the winter of that year.",
    "Nobody who has seen the {one} forgets how it was made.",
)
NUMBER = 511
"""Of the concept that is looked at and searched for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda given: Path(given).resolve())
    parser.add_argument("what", choices=("make", "measure"))
    parser.add_argument("--documents", type=int, default=1000)
    options = parser.parse_args()
    with bucket(options.folder / "bucket") as settings:
        if options.what == "make":
            measure_making(options.folder, settings, options.documents)
        else:
            measure_first_home(options.folder, settings)


@contextmanager
def bucket(folder: Path) -> Iterator[str]:
    """The settings of a home in it. The server has what it had the last time."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    process.end(folder)  # which a bench that was killed has left
    found = seaweedfs.start(folder, process.ports_before(folder))
    try:
        patient = "[garage]\ntimeout = 120.0\n"
        yield (
            seaweedfs.settings(folder, found.ports).replace("[garage]\n", patient, 1) + '[models]\nembedder = "none"\n'
        )
    finally:
        process.end(folder)


def new_home(folder: Path, settings: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(settings)
    return folder


def measure_making(folder: Path, settings: str, documents: int) -> None:
    home = new_home(folder / "maker", settings)
    kgfs(home, "doctor", "--quiet", "--create")
    config = load(home)
    (folder / "texts").mkdir(exist_ok=True)
    begun = time.perf_counter()
    for done in make(config, folder / "texts", documents):
        told("published", begun, documents=done)
    told("library", begun, documents=documents, sources=documents * SOURCES)


def label(number: int) -> str:
    return f"{MATERIALS[number % 10]} {THINGS[number // 10 % 10]} {number // 100:x}"


def composed_for(number: int) -> tuple[str, list[Chunk], list[tuple[str, list[Quote]]]]:
    """Return text, Sources, and concepts with quotes of the document with this number."""
    first = number * SOURCES * CONCEPTS
    subjects = [
        [(label(at + n), label(at + (n + 1) % CONCEPTS)) for n in range(CONCEPTS)]
        for at in range(first, first + SOURCES * CONCEPTS, CONCEPTS)
    ]
    return composed(subjects, SENTENCES, "Stores")


def reading_of(document: Document, number: int) -> Reading:
    text, chunks, found = composed_for(number)
    concepts = [found_concept(one, (one,), quotes) for one, quotes in found]
    pairs = zip(concepts[::2], concepts[1::2], strict=True)
    used = [FoundRelationship(one.norm, "USES", other.norm, one.quotes[0], 0.5) for one, other in pairs]
    return reading(document, text, chunks, concepts, used, title=f"Inventory {number}")


def make(config: Config, scratch: Path, documents: int) -> Iterator[int]:
    """Deposit so many documents and publish what is in them; yield how many are published, now and then. Goes on after a kill."""
    compute = LocalCompute(Models(embedder="none", extractor="statistics"))
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _), WorkerLock(config.run):
        for number in range(documents):
            path = scratch / f"{number:05}.txt"
            if not path.exists():
                path.write_text(composed_for(number)[0])
                deposits.ingest_file(path, ONTOLOGY)
        deposits.settler.settle_now()
        ship_once(stores.catalog, stores.garage.ledger)
        done = 0
        pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects))
        stores.catalog.jobs.free()  # by one that was killed
        while job := stores.catalog.jobs.claim("bench", 3600.0):
            document = stores.catalog.names.document(job.doc_id)
            assert document is not None
            made = reading_of(document, int(Path(document.source_id).stem))
            stores.garage.objects.put(made.key, made.encode())
            pipeline.publish(document, made, lambda: None, job)
            done += 1
            if done % 10 == 0:
                ship_once(stores.catalog, stores.garage.ledger)
                yield done
        ship_once(stores.catalog, stores.garage.ledger)
        yield done
        make_snapshot(config, stores, stores.garage.objects, "")


def measure_first_home(folder: Path, settings: str) -> None:
    home, mountpoint = folder / "new", folder / "mnt"
    shutil.rmtree(home, ignore_errors=True)
    mountpoint.mkdir(exist_ok=True)
    new_home(home, settings)
    begun = time.perf_counter()
    kgfs(home, "mount", str(mountpoint), "--no-worker", "--take-over")
    try:
        told("mounted", begun, memory_mib=highest(resource.RUSAGE_CHILDREN))
        listed = subprocess.run(["ls", mountpoint / ONTOLOGY / "concepts"], check=True, capture_output=True).stdout
        told("listed", begun, concepts=listed.count(b"\n"))
        page = mountpoint / ONTOLOGY / "concepts" / f"{label(NUMBER).replace(' ', '-')}.concept" / "concept.md"
        told("concept.md", begun, bytes=len(page.read_bytes()))
        found = kgfs(home, "search", label(NUMBER), "--ontology", ONTOLOGY)
        told("searched", begun, hits=found.count("\n"))
        told("mount", begun, memory_mib=memory_of_mount(home))
    finally:
        kgfs(home, "umount", str(mountpoint))


def kgfs(home: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kgfs", *words],
        env={**os.environ, "KGFS_HOME": str(home)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def highest(whose: int) -> int:
    return resource.getrusage(whose).ru_maxrss >> 10


def memory_of_mount(home: Path) -> list[int]:
    """Highest memory (MiB) of the processes that serve the home."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            words = (status.parent / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(home) in words and b"mount" in words:
                found.append(int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) >> 10)
        except (OSError, IndexError):
            continue
    return found


def told(what: str, begun: float, **figures: object) -> None:
    print(json.dumps({"what": what, "seconds": round(time.perf_counter() - begun, 1), **figures}), flush=True)


if __name__ == "__main__":
    main()
