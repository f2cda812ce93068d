"""How soon a file that was written is found by its words, and has its concepts: ``python -m bench.first_words DIR``.

A worker is started on a new home. Then texts of 500 bytes, 100 KB and 1 MB, cut from the texts of the folder DIR, are
deposited one after the other, and a note while the last one is being read. Another home gets a log of 6 MB, and, while that is
being read, a note of 548 bytes; a third one the same with a text of 6 MB in place of the log. Times are in seconds from the deposit on; a
mount adds the ``settle`` seconds for which a file must be quiet. Behind each line stand the processor seconds of the worker
and of all processes of the machine meanwhile: what is between the two, others took. The machine should do
nothing else.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.processes import Busy
from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from kgfs.domain.documents import State
from kgfs.ingest.writing.deposit import Deposits
from kgfs.stores.stores import Stores

NOTE = (
    "Blossom end rot is a disorder of tomato fruit that is caused by a lack of calcium. Uneven watering makes the lack of"
    " calcium worse. Mulch keeps the soil moist, and an even soil moisture lets the plant take up calcium.\n"
)
PATIENCE = 1200.0
LARGE = 6_000_000
SMALL = 548
WORKER = [sys.executable, "-m", "kgfs", "worker"]


def texts_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".txt", ".md", ".rst"))


def until(true: Callable[[], bool]) -> float:
    begun = time.monotonic()
    while not true():
        if time.monotonic() - begun > PATIENCE:
            raise SystemExit("That takes too long.")
        time.sleep(0.01)
    return time.monotonic() - begun


def latencies(home: Path, folder: Path, material: str) -> None:
    with open_home(load(home)) as stores, open_deposits(load(home), stores) as (deposits, _):
        deposits.ingest_file(_file(folder, "first", NOTE), "Bench")
        with subprocess.Popen(WORKER, env={**os.environ, "KGFS_HOME": str(home)}) as worker:
            try:
                busy = Busy(worker.pid)
                fresh = until(lambda: stores.graph.counts()["concepts"] > 0)
                print(f"first concept on a worker that has just been started: {fresh:.2f} s {busy}", flush=True)
                for stem, size in (("small", 500), ("hundred", 100_000), ("million", 1_000_000)):
                    words = _file(folder, stem, material[7000 : 7000 + size])
                    _show(stores, deposits, words, worker.pid, read=size < 1_000_000)
                _show(stores, deposits, _file(folder, "note", NOTE * 2), worker.pid, read=True)
            finally:
                worker.terminate()


def behind(home: Path, folder: Path, kind: str, large: str) -> None:
    """Deposit a note behind a large file that a warm worker has begun to read."""
    with open_home(load(home)) as stores, open_deposits(load(home), stores) as (deposits, _):
        deposits.ingest_file(_file(folder, "first", NOTE), "Bench")
        with subprocess.Popen(WORKER, env={**os.environ, "KGFS_HOME": str(home)}) as worker:
            try:
                until(lambda: not stores.catalog.jobs.owed())
                doc_id = deposits.ingest_file(_file(folder, f"large{kind}", large), "Bench").doc_id
                until(lambda: any(job.doc_id == doc_id and job.stage for job in stores.catalog.jobs.all()))
                print(f"while a {kind} of {len(large)} bytes that came first is read:", flush=True)
                note = NOTE * 3 + f"This note came behind a {kind}. "
                _show(stores, deposits, _file(folder, f"behind{kind}", note, SMALL), worker.pid, read=True)
            finally:
                worker.terminate()


def log_of(material: str) -> str:
    """Return a log of LARGE characters, whose lines say what the lines of the material say."""
    lines: list[str] = []
    length = 0
    while length < LARGE:
        for line in material.splitlines():
            if words := line.strip():
                at = len(lines)
                stamp = f"2026-11-{at // 86400 % 28 + 1:02}T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z"
                lines.append(f"{stamp} INFO worker[{at % 7}]: {words}")
                length += len(lines[-1]) + 1
                if length >= LARGE:
                    break
    return "\n".join(lines) + "\n"


def _file(folder: Path, stem: str, text: str, size: int = 0) -> Path:
    """Write a text with a word of its own at its end, of ``size`` bytes where that is given."""
    path = folder / f"{stem}.txt"
    end = f"\n\nThe word uniqueword{stem} stands at the end of this text, and nowhere else.\n"
    path.write_text((text[: size - len(end)] if size else text) + end)
    return path


def _show(stores: Stores, deposits: Deposits, path: Path, worker: int, *, read: bool) -> None:
    busy = Busy(worker)
    doc_id = deposits.ingest_file(path, "Bench").doc_id
    found = until(lambda: bool(stores.graph.find_text(f"uniqueword{path.stem}")))
    told = f"{path.stem}: {path.stat().st_size} bytes, found by its words after {found:.2f} s {busy}"
    if read:

        def is_read() -> bool:
            document = stores.catalog.names.document(doc_id)
            return document is not None and document.state is State.DONE

        told += f", concepts after {found + until(is_read):.2f} s {busy}"
    print(told, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    asked = parser.parse_args()
    material = "".join(path.read_text(errors="replace") for path in texts_of(asked.folder))
    with tempfile.TemporaryDirectory() as top:
        latencies(Path(top) / "home", Path(top), material)
        for kind, large in (("log", log_of(material)), ("text", material[:LARGE])):
            behind(Path(top) / kind, Path(top), kind, large)


if __name__ == "__main__":
    main()
