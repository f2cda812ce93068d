"""``python -m bench.speed [--quick] [--only NAME …]``: the table of speed budgets, kgfs beside the floor in one run.

With ``--config FILE`` (``make servers`` writes one) it is the table of a home on these servers beside one in files: the same
works, metadata and cached content, and how often the mount asked the servers meanwhile.

Samples are taken in turns; figures are medians. "First" is the first time after mounting, "second" right after it.
Homes are kept for the next run (``--homes``). Writes JSON to ``bench-results/``. Dropping the kernel's caches (the work
``memory``) needs root. Ends with 1 if something is over its budget.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.speed.result import Row, header_of, line_of, write_json
from bench.speed.sizes import FULL, MB, QUICK, Bench
from bench.speed.works import WORKS

RESULTS = Path("bench-results")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller trees, three samples")
    parser.add_argument("--only", action="append", choices=list(WORKS), help="this work; may be repeated")
    parser.add_argument("--samples", type=int, help="instead of 5 (quick: 3)")
    parser.add_argument("--homes", type=Path, default=RESULTS / "scratch", help="where homes are made and kept")
    parser.add_argument("--config", type=Path, metavar="FILE", help="servers, to be measured beside files")
    arguments = parser.parse_args()
    scratch: Path = arguments.homes.absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    chosen = {**(QUICK if arguments.quick else FULL), "text": 20 * MB if arguments.quick else 200 * MB}
    if arguments.samples:
        chosen["samples"] = arguments.samples
    bench = Bench(scratch, **chosen, servers=arguments.config)
    rows: list[Row] = []
    print(header_of(bench.sides), flush=True)
    for name in arguments.only or WORKS:
        for row in WORKS[name](bench):
            print(line_of(row), flush=True)
            rows.append(row)
    print(f"written to {write_json(RESULTS, rows, quick=arguments.quick)}")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
