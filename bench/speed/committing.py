"""Commits a large text to the graph of a home, again and again until ended: ``python -m bench.speed.committing HOME BYTES``."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.speed.homes import LINE, document
from kgfs.app.home import open_deposits, open_stores
from kgfs.config import load


def main() -> None:
    home, size = Path(sys.argv[1]), int(sys.argv[2])
    with open_stores(load(home)) as stores, open_deposits(load(home), stores) as (deposits, _):
        ontology = deposits.make_ontology("Committed", 0o755, 0, 0)
        count = size // (len(LINE.format(0)) * 20)
        labels = [f"committed {n:07d}" for n in range(count)]
        print("ready", flush=True)
        for turn in range(100):
            lines = [LINE.format(turn * 1_000_000 + n) for n in range(count * 20)]
            document(stores, deposits, ontology, f"large-{turn}.txt", lines, labels, 3 if turn == 0 else 0)


if __name__ == "__main__":
    main()
