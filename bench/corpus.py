"""The whole pipeline on a folder of documents, with figures: ``python -m bench.corpus DIR [--keep HOME]``.

Deposits every file, runs a worker process until nothing is owed, and prints: wall seconds end to end and by stage,
documents a minute, peak memory of the worker, concepts, instances, relationships, and the share of instances whose
quote stands in the Text exactly where they say (which must be all).
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

from kgfs.app.home import open_deposits, open_stores
from kgfs.config import Config, load
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import worker_note

MODEL_STAGES = ("extract", "embed")
"""What the grammar and embedding models do; everything else is the pipeline's own work."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="use this home and leave it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        config = load(arguments.keep or Path(scratch) / "home")
        print(json.dumps(run(config, sorted(p for p in arguments.folder.iterdir() if p.is_file())), indent=2))


def run(config: Config, files: list[Path]) -> dict[str, object]:
    started = time.perf_counter()
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
        for path in files:
            deposits.ingest_file(path, "Corpus", None, lambda size: None)
        deposited = time.perf_counter()
        subprocess.run([sys.executable, "-m", "kgfs", "worker", "--until-idle", "--home", str(config.home)], check=True)
        ended = time.perf_counter()
        seconds = worker_note(config.run)["seconds"]
        models = sum(seconds.get(stage, 0.0) for stage in MODEL_STAGES)
        counts = stores.graph.counts()
        return {
            "documents": len(files),
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
