"""How long close() takes, idle and while a large text is being committed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench.speed.homes import LINE, document
from bench.speed.result import ON_SERVERS, Row, against
from bench.speed.sizes import MB, Bench
from bench.speed.timing import timed
from bench.speed.writing import writable
from kgfs.app.home import open_deposits, open_home
from kgfs.config import load

CLOSINGS = 1000
"""Samples of close() at least, for a 99th percentile."""

TURNS = 3
"""At most: each takes half a minute."""

Taken = tuple[tuple[float, float], tuple[float, float]]
"""Two 99th percentiles, of close() and of fsync(), idle; and the same while a text is committed."""


def close(bench: Bench) -> Iterator[Row]:
    """The 99th percentile of close() of a small file, idle and while a large text is being committed; and that of
    fsync() of a file beside the mount, which shows what the disk itself makes of such company."""
    found: dict[str, list[Taken]] = {side: [] for side in bench.homes}
    for _ in range(min(bench.samples, TURNS)):
        for side, taken in found.items():
            taken.append(_idle_and_busy(bench, side))
    work = f"p99 of close() while a {bench.text // MB} MB text is committed"
    if bench.servers:
        yield against(work, ON_SERVERS, {side: [busy[0] for _, busy in taken] for side, taken in found.items()})
    taken = found[bench.sides[0]]
    idle, busy = ([median(kind) for kind in zip(*part, strict=True)] for part in zip(*taken, strict=True))
    yield Row(
        f"{work}, against idle",
        median(busy[0] / idle[0] for idle, busy in taken),
        3.0,
        note=f"idle {idle[0] * 1e3:.2f} ms, busy {busy[0] * 1e3:.2f} ms; fsync beside the mount"
        f" {idle[1] * 1e3:.2f} ms, {busy[1] * 1e3:.2f} ms",
    )


def _idle_and_busy(bench: Bench, side: str) -> Taken:
    with bench.mounted(side, None) as mount:
        folders = writable(mount), mount.path.with_name("plain")
        folders[1].mkdir()
        home = mount.path.with_name("home")
        _closings(folders, "warm", lambda: False)
        idle = _closings(folders, "idle", lambda: False)
        writer = subprocess.Popen(
            [sys.executable, "-m", "bench.speed.closing", str(home), str(bench.text)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        busy = _closings(folders, "busy", lambda: writer.poll() is None)
        writer.terminate()
        writer.wait()
    return (
        (_percentile(idle[0], 0.99), _percentile(idle[1], 0.99)),
        (_percentile(busy[0], 0.99), _percentile(busy[1], 0.99)),
    )


def _closings(folders: tuple[Path, Path], name: str, go_on: Callable[[], bool]) -> tuple[list[float], list[float]]:
    """Seconds of each close() in the first folder, and of each fsync() in the second, in turns."""
    closed: list[float] = []
    synced: list[float] = []
    while len(closed) < CLOSINGS or (go_on() and len(closed) < 5 * CLOSINGS):
        for folder, taken in zip(folders, (closed, synced), strict=True):
            file = (folder / f"{name}-{len(taken)}.txt").open("wb", buffering=0)
            file.write(b"x" * 2048)
            taken.append(timed(file.close if taken is closed else partial(os.fsync, file.fileno())))
            file.close()
        time.sleep(0.001)
    return closed, synced


def _percentile(samples: Sequence[float], share: float) -> float:
    return sorted(samples)[int(len(samples) * share)]


def commit_texts(home: Path, size: int) -> None:
    """Commit a large text to the graph of a home, again and again until this process is ended."""
    with open_home(load(home)) as stores, open_deposits(load(home), stores) as (deposits, _):
        ontology = deposits.make_ontology("Committed", 0o755, 0, 0)
        count = size // (len(LINE.format(0)) * 20)
        labels = [f"committed {n:07d}" for n in range(count)]
        print("ready", flush=True)
        for turn in range(100):
            lines = [LINE.format(turn * 1_000_000 + n) for n in range(count * 20)]
            document(stores, deposits, ontology, f"large-{turn}.txt", lines, labels, 3 if turn == 0 else 0)


if __name__ == "__main__":
    commit_texts(Path(sys.argv[1]), int(sys.argv[2]))
