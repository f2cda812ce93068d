"""What verbs cost as whole processes: ``python -m bench.verbs HOME [--runs 20] [--beside CHECKOUT]``.

Runs each verb that reads on a home, by turns with another checkout where one is given, and prints medians of wall
milliseconds and of CPU milliseconds (user and system, of the process alone: what a worker does for it is not counted). Start a
worker on the home before (``kgfs worker``), else a search ranks by itself. The first round is not counted, so files are
cached. Modules are compiled as they are imported, unless PYTHONDONTWRITEBYTECODE is set: unset it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

QUESTIONS = ("garbage collection", "weak references", "how are decorators applied", "steering council", "import hooks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--beside", type=Path, help="another checkout, run with this interpreter")
    arguments = parser.parse_args()
    here = Path(__file__).parents[1]
    checkouts = [arguments.beside.absolute(), here] if arguments.beside else [here]
    home = str(arguments.home.absolute())
    found = json.loads(kgfs(here, "search", QUESTIONS[0], "--json", "--home", home)[2])
    chunk = found["results"][0]["chunks"][0]["chunk_id"]
    for words in (
        *(("search", question, "--home", home) for question in QUESTIONS),
        ("status", "--home", home),
        ("cite", chunk, "--home", home),
        ("ask", "What is a weak reference?", "--home", home),
        ("--help",),
    ):
        taken: dict[Path, list[tuple[float, float]]] = {checkout: [] for checkout in checkouts}
        for run in range(arguments.runs + 1):
            for checkout in checkouts:
                wall, cpu, _ = kgfs(checkout, *words)
                if run:
                    taken[checkout].append((wall, cpu))
        shown = " ".join(word for word in words if word not in ("--home", home))
        for checkout, times in taken.items():
            walls, cpus = zip(*times, strict=True)
            figures = f"wall {statistics.median(walls):4.0f} ms, CPU {statistics.median(cpus):4.0f} ms"
            print(f"{shown:40} {figures}{f'  {checkout}' if len(checkouts) > 1 else ''}", flush=True)


def kgfs(checkout: Path, *words: str) -> tuple[float, float, bytes]:
    """Run a verb; return wall and CPU milliseconds, and what it printed."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "kgfs", *words], cwd=checkout, env=environ, capture_output=True, check=True
    )
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * wall, 1000 * cpu, done.stdout


if __name__ == "__main__":
    main()
