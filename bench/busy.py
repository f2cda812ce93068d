"""What reading costs while the worker runs flat out: ``python -m bench.busy DIR``.

Mounts a fresh home, ingests the first documents of DIR and lets the worker end, then reads concept files by ``stat`` and
``read`` while nothing happens (idle), and again while a worker reads the rest of DIR (busy). Prints median and 99th
percentile of both and their ratio; the goal is a ratio of at most 3.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIRST = 10
"""Documents whose concepts are read."""
SECONDS = 20.0
PAUSE = 0.002


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    files = sorted(path for path in parser.parse_args().folder.iterdir() if path.is_file())
    with tempfile.TemporaryDirectory() as scratch:
        home, mount = Path(scratch) / "home", Path(scratch) / "mount"
        mount.mkdir()
        kgfs(home, "mount", str(mount))
        try:
            print(json.dumps(measure(home, mount, files), indent=2))
        finally:
            kgfs(home, "umount", "--lazy", str(mount))


def measure(home: Path, mount: Path, files: list[Path]) -> dict[str, object]:
    documents = mount / "Busy" / "documents"
    (mount / "Busy").mkdir()
    copy(files[:FIRST], documents)
    kgfs(home, "wait", "--timeout", "600")
    pages = sorted((mount / "Busy" / "concepts").glob("*/concept.md"))
    idle = sample(pages)
    copy(files[FIRST:], documents)
    owed = json.loads((mount / ".kgfs" / "status.json").read_text())["owed"]
    busy = sample(pages)
    left = json.loads((mount / ".kgfs" / "status.json").read_text())["owed"]
    if not left:
        raise SystemExit("The worker ended before the busy sample did: give more documents.")
    ratio = percentile(busy, 0.99) / percentile(idle, 0.99)
    return {
        "concept files": len(pages),
        "idle": shown(idle),
        "busy": shown(busy),
        "owed before and after the busy sample": [owed, left],
        "p99 busy / idle (goal: at most 3)": round(ratio, 2),
    }


def sample(pages: list[Path]) -> list[float]:
    """Seconds of stat + open + read + close of random concept files."""
    choose = random.Random(1)
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        page = choose.choice(pages)
        started = time.perf_counter()
        size = page.stat().st_size
        content = page.read_bytes()
        taken.append(time.perf_counter() - started)
        if len(content) != size:
            raise SystemExit(f"{page}: {len(content)} bytes read, {size} said")
        time.sleep(PAUSE)
    return taken


def percentile(taken: list[float], share: float) -> float:
    return sorted(taken)[int(len(taken) * share)]


def shown(taken: list[float]) -> dict[str, float]:
    return {
        "reads": len(taken),
        "p50 µs": round(statistics.median(taken) * 1e6),
        "p99 µs": round(percentile(taken, 0.99) * 1e6),
    }


def copy(files: list[Path], folder: Path) -> None:
    for path in files:
        shutil.copyfile(path, folder / path.name)


def kgfs(home: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "kgfs", *words, "--home", str(home)], check=True)


if __name__ == "__main__":
    main()
