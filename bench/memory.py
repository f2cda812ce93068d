"""How much memory a worker takes to read one long text: ``python -m bench.memory DIR [--size 10000000]``.

A text of so many bytes is made of the paragraphs of the texts of the folder DIR, in a random but always equal order, so that
it has natural frequencies of words. A worker on a new home reads a text of 2 KB; its memory then is that of an idle one.
Then it reads the long text. Printed are MiB (resident) of the idle worker, the most while the long text was read, and the
most by stage. With ``--beside N`` N texts of 80 KB are deposited before both, so that the worker starts its reading processes;
then the sums over the worker and its processes are printed. ``--extractor`` and ``--embedder`` are settings of ``[models]``.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.processes import processes, resident
from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from kgfs.domain.documents import State
from kgfs.ingest.writing.deposit import Deposits
from kgfs.stores.stores import Stores

SMALL, MIDDLE = 2_000, 80_000
EVERY = 0.02
"""Seconds between two looks at the processes."""
QUIET = 3.0
"""Seconds after which a worker with nothing to do is idle."""
PATIENCE = 3000.0


def paragraphs(folder: Path) -> list[str]:
    """Return the paragraphs of prose of all texts of a folder."""
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".txt", ".md", ".rst"):
            for piece in re.split(r"\n[ \t]*\n", path.read_text(errors="replace")):
                if piece[:1].isalpha() and piece.count("\n") >= 1 and piece.rstrip().endswith("."):
                    found.append(piece.strip())
    return found


def made_of(pieces: list[str], size: int, seed: int) -> str:
    """Return a text of about ``size`` characters."""
    chance = random.Random(seed)
    out: list[str] = []
    length = 0
    while length < size:
        for piece in chance.sample(pieces, len(pieces)):
            out.append(piece)
            length += len(piece) + 2
            if length >= size:
                break
    return "\n\n".join(out) + "\n"


def peak(worker: int) -> float:
    return int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{worker}/status").read_text())[0]) / 1024


def until_read(stores: Stores, worker: int, doc_ids: list[str]) -> dict[str, float]:
    """Wait until these documents are published; return the most MiB by stage."""
    begun = time.monotonic()
    most: dict[str, float] = {}
    while True:
        now = resident(worker)
        jobs = {job.doc_id: job.stage for job in stores.catalog.jobs.all()}
        stage = jobs.get(doc_ids[-1], "") or "publish"
        most[stage] = max(most.get(stage, 0.0), now)
        documents = [stores.catalog.names.document(doc_id) for doc_id in doc_ids]
        if all(one is not None and one.state is State.DONE for one in documents):
            return most
        if time.monotonic() - begun > PATIENCE:
            raise SystemExit("That takes too long.")
        time.sleep(EVERY)


def idle(worker: int, seconds: float = QUIET) -> float:
    """Return the most MiB in these seconds."""
    ends = time.monotonic() + seconds
    most = 0.0
    while time.monotonic() < ends:
        most = max(most, resident(worker))
        time.sleep(EVERY)
    return most


def run(home: Path, folder: Path, pieces: list[str], size: int, beside: int, models: dict[str, str]) -> None:
    def deposit(deposits: Deposits, stem: str, length: int, seed: int) -> str:
        path = folder / f"{stem}.txt"
        path.write_text(made_of(pieces, length, seed))
        return deposits.ingest_file(path, "Bench").doc_id

    with open_home(load(home)) as stores, open_deposits(load(home), stores) as (deposits, _):
        first = [deposit(deposits, f"beside{n}", MIDDLE, n) for n in range(beside)]
        first.append(deposit(deposits, "small", SMALL, 1000))
        environment = {**os.environ, **models, "KGFS_HOME": str(home)}
        with subprocess.Popen([sys.executable, "-m", "kgfs", "worker"], env=environment) as worker:
            try:
                until_read(stores, worker.pid, first)
                before = idle(worker.pid)
                print(f"idle: {before:.0f} MiB in {len([*processes(worker.pid)])} processes", flush=True)
                print(f"most of the worker itself until then: {peak(worker.pid):.0f} MiB", flush=True)
                begun = time.monotonic()
                second = [deposit(deposits, f"again{n}", MIDDLE, 100 + n) for n in range(beside)]
                second.append(deposit(deposits, "long", size, 2000))
                most = until_read(stores, worker.pid, second)
                seconds = time.monotonic() - begun
                most["after"] = idle(worker.pid)
                print(", ".join(f"{stage} {mib:.0f}" for stage, mib in most.items()), flush=True)
                print(
                    f"{size} bytes in {seconds:.0f} s: {max(most.values()):.0f} MiB, {max(most.values()) - before:.0f} above idle"
                )
                print(f"most of the worker itself: {peak(worker.pid):.0f} MiB", flush=True)
            finally:
                worker.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--beside", type=int, default=0, metavar="N")
    parser.add_argument("--extractor", default="auto")
    parser.add_argument("--embedder", default="auto")
    asked = parser.parse_args()
    models = {"KGFS_MODELS_EXTRACTOR": asked.extractor, "KGFS_MODELS_EMBEDDER": asked.embedder}
    with tempfile.TemporaryDirectory() as top:
        run(Path(top) / "home", Path(top), paragraphs(asked.folder), asked.size, asked.beside, models)


if __name__ == "__main__":
    main()
