"""The whole pipeline on a folder of documents, with figures: ``python -m bench.corpus DIR [--every N] [--alone N] [--keep HOME]``.

Deposits every file, or each N-th one, runs a worker process until nothing is owed, and prints: wall seconds end to end and
by stage, documents a minute, peak memory of the worker, concepts, instances, relationships, and the share of instances whose
quote stands in the Text exactly where they say (which must be all). Processor seconds are those of the worker and its reading
processes: until all documents were read, and for looking for concepts in earlier documents afterwards. With ``--alone`` each
N-th Source that passed the gate is then given to the grammar and the embedder alone, in this process; the words in a processor
second of both, and the ratio of the worker's to these, are printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.processes import Busy
from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config, load
from kgfs.stores.batched import batched
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import worker_note

MODEL_STAGES = ("extract", "embed")
"""What the grammar and embedding models do; everything else is the pipeline's own work."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="use this home and leave it")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th file only")
    parser.add_argument("--alone", type=int, default=0, metavar="N", help="each N-th Source by the models alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        config = load(arguments.keep or Path(scratch) / "home")
        files = sorted(p for p in arguments.folder.iterdir() if p.is_file())[:: arguments.every]
        print(json.dumps(run(config, files, arguments.alone), indent=2))


def worked(config: Config, stores: Stores) -> tuple[float, float]:
    """Run a worker until nothing is owed. Return its processor seconds until all documents were read, and afterwards."""
    words = [sys.executable, "-m", "kgfs", "worker", "--until-idle", "--home", str(config.home)]
    read = 0.0
    with subprocess.Popen(words) as worker:
        busy = Busy(worker.pid)
        while worker.poll() is None:
            if not read and not stores.catalog.jobs.owed():
                read = busy.worker
            time.sleep(0.02)
        if worker.returncode:
            raise SystemExit(f"The worker ended with {worker.returncode}.")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return read, used.ru_utime + used.ru_stime - read


def alone(stores: Stores, every: int) -> float:
    """Return the words in a processor second of this process that grammar and embedder read, without anything else."""
    from kgfs.models.embedder import MiniLM
    from kgfs.models.grammar import English

    grammar, embedder = English(), MiniLM(threads=1, quantised=True)
    rows = (row for o in stores.catalog.names.ontologies() for row in stores.graph.documents(o.id, limit=1_000_000))
    sources = [
        one.full_text for row in rows for one in stores.graph.sources(row.doc_id, limit=1_000_000) if not one.gated
    ]
    chosen = sources[::every]
    begun = time.process_time()
    for some in batched(chosen, 16):
        grammar.read(some)
        embedder.embed(some)
    return sum(len(text.split()) for text in chosen) / (time.process_time() - begun)


def run(config: Config, files: list[Path], every: int = 0) -> dict[str, object]:
    started = time.perf_counter()
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        for path in files:
            deposits.ingest_file(path, "Corpus", None, lambda size: None)
        deposited = time.perf_counter()
        read, looked_back = worked(config, stores)
        ended = time.perf_counter()
        seconds = worker_note(config.run)["seconds"]
        models = sum(seconds.get(stage, 0.0) for stage in MODEL_STAGES)
        counts = stores.graph.counts()
        text = sum(len(path.read_text(errors="replace").split()) for path in files)
        rate = text / (read + looked_back)
        by_models = alone(stores, every) if every else 0.0
        return {
            "documents": len(files),
            "words": text,
            "processor seconds": {"reading": round(read, 1), "earlier documents": round(looked_back, 1)},
            "words a processor second": round(rate),
            **(
                {"of grammar and embedder alone": round(by_models), "ratio": round(rate / by_models, 2)}
                if every
                else {}
            ),
            "bytes": sum(path.stat().st_size for path in files),
            "seconds": {
                "deposit": round(deposited - started, 2),
                "worker": round(ended - deposited, 2),
                "end to end": round(ended - started, 2),
            },
            "seconds by stage (threads add up)": seconds,
            "share that is not the models": round(1 - models / sum(seconds.values()), 3),
            "documents a minute": round(60 * len(files) / (ended - started), 1),
            "peak memory of the worker, MiB": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
            "graph": dict(counts),
            "states": {state.value: count for state, count in stores.catalog.names.counts().items()},
            "instances with text[start:end] == quote": exact(stores),
        }


def exact(stores: Stores) -> str:
    """Checked against the original's decoding, not against what the graph says of itself."""
    right = total = 0
    for ontology in stores.catalog.names.ontologies():
        for row in stores.graph.documents(ontology.id, limit=1_000_000):
            document = stores.catalog.names.document(row.doc_id)
            assert document is not None
            text = stores.garage.objects.get(document.key).decode("utf-8")
            for instance in stores.graph.instances_of(row.doc_id):
                total += 1
                right += text[instance.char_start : instance.char_end] == instance.quote
    return f"{right} of {total}"


if __name__ == "__main__":
    main()
