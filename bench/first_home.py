"""How soon a new home on a bucket that others use shows everything: ``python -m bench.first_home FOLDER make [--documents 1000]``
and ``… FOLDER measure [--derive]``.

``make`` starts a SeaweedFS in FOLDER, and fills a bucket and a home with so many documents, each of 100 Sources, 1,000 concepts
with three quotes each, and 500 relationships (:mod:`bench.generated_library`); then it puts a snapshot. ``measure`` has a new home begin there, mounts it
without a worker, and prints seconds since ``kgfs mount`` was called until it returned, until ``ls`` has listed all concepts, until one
``concept.md`` was read, and until a search was answered; and the highest memory of both processes. With ``--derive`` snapshots are deleted before that, and one is put afterwards.
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
from contextlib import closing, contextmanager
from pathlib import Path

from bench.generated_library import CONCEPTS, ONTOLOGY, QUOTES, SOURCES, label, make
from kgfs.app.snapshots import put_snapshot
from kgfs.config import load
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.snapshots import layout
from scripts.servers import process, seaweedfs

NUMBER = 511
"""Of the concept that is looked at and searched for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda given: Path(given).resolve())
    parser.add_argument("what", choices=("make", "measure"))
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--derive", action="store_true")
    options = parser.parse_args()
    with bucket(options.folder / "bucket") as settings:
        if options.what == "make":
            measure_making(options.folder, settings, options.documents)
        else:
            measure_first_home(options.folder, settings, derive=options.derive)


@contextmanager
def bucket(folder: Path) -> Iterator[str]:
    """The settings of homes that share it. The server has what it had the last time."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    process.end(folder)  # which a bench that was killed has left
    found = seaweedfs.start(folder, process.ports_before(folder))
    try:
        shared = "[garage]\nshared = true\ntimeout = 120.0\n"
        yield seaweedfs.settings(folder, found.ports).replace("[garage]\n", shared, 1) + '[models]\nembedder = "none"\n'
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
    told(
        "library",
        begun,
        documents=documents,
        sources=documents * SOURCES,
        quotes=documents * SOURCES * CONCEPTS * QUOTES,
    )
    begun = time.perf_counter()
    made = put_snapshot(config)
    stored = {file.name: file.size >> 20 for file in made.files}
    told("snapshot", begun, mib=stored, fact=made.position, memory_mib=highest(resource.RUSAGE_SELF))


def measure_first_home(folder: Path, settings: str, *, derive: bool) -> None:
    home, mountpoint = folder / "new", folder / "mnt"
    shutil.rmtree(home, ignore_errors=True)
    mountpoint.mkdir(exist_ok=True)
    new_home(home, settings)
    if derive:
        with closing(open_garage(load(home), cached=False)) as garage:
            layout.delete_before(garage.objects, 1 << 62)
    begun = time.perf_counter()
    kgfs(home, "mount", str(mountpoint), "--no-worker")
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
    if derive:
        put_snapshot(load(folder / "maker"))


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
