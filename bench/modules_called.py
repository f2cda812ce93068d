"""Which modules of kgfs work between ``cp`` and published: ``python -m bench.modules_called [--search] [--names]``.

A home in files is mounted, and a worker runs beside the mount. From just before a file is copied in until its concepts are
published, it is recorded in both processes of which modules a function is called (``sys.setprofile``). With ``--search`` the
process that is recorded is a ``kgfs search`` that asks the worker, from its words to the end of its answer. Prints how many
modules there are, by process and together, of how many that kgfs has; with ``--names``, which.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import kgfs

TOP = Path(kgfs.__file__).parent
TEXT = "A garbage collector frees memory. A tracing collector is a garbage collector that starts at the root set.\n"
RESTED = 10.0
"""Seconds after which a mount and a worker that have started do nothing any more."""
RECORD = "KGFS_BENCH_RECORD"
"""In the environment of a process that is recorded: ``signals`` from SIGUSR1 to SIGUSR2, ``whole`` from start to end."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kgfs-bench-modules-") as scratch,
        Served(Path(scratch)).running() as served,
    ):
        found = served.copied()
        if options.search:
            found = served.searched()
    of_all = {str(path.relative_to(TOP)) for path in TOP.rglob("*.py")}
    together = set().union(*found.values())
    counts = {name: len(modules) for name, modules in found.items()}
    print(
        json.dumps({"what": "modules with a function called", **counts, "together": len(together), "of": len(of_all)})
    )
    if options.names:
        print(*sorted(together), sep="\n")


class Served:
    """A home that is mounted, with a worker, both recorded between two signals."""

    def __init__(self, scratch: Path) -> None:
        self._scratch, self._mountpoint = scratch, scratch / "mnt"
        self._environ = {**os.environ, "KGFS_HOME": str(scratch / "home")}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @contextmanager
    def running(self) -> Iterator[Served]:
        self._mountpoint.mkdir()
        try:
            self._start("mount", "mount", "--foreground", "--no-worker", str(self._mountpoint))
            while not self._mountpoint.is_mount():
                time.sleep(0.1)
            self._start("worker", "worker")
            while not (self._scratch / "home/run/worker.json").exists():
                time.sleep(0.1)
            yield self
        finally:
            for process in reversed(self._processes.values()):
                process.terminate()
                process.wait()

    def _start(self, name: str, *words: str, how: str = "signals") -> subprocess.Popen[bytes]:
        child = [sys.executable, "-m", "bench.modules_called", str(self._scratch / name), *words]
        process = subprocess.Popen(child, env={**self._environ, RECORD: how}, stdout=subprocess.DEVNULL)
        if how == "signals":
            self._processes[name] = process
        return process

    def copied(self) -> dict[str, set[str]]:
        """Copy a file in, and return the modules with a function called until its concepts are published, by process."""
        (self._scratch / "one.txt").write_text(TEXT)
        (self._mountpoint / "Bench").mkdir()
        time.sleep(RESTED)
        for process in self._processes.values():
            process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        subprocess.run(["cp", self._scratch / "one.txt", self._mountpoint / "Bench/documents/one.txt"], check=True)
        subprocess.run([sys.executable, "-m", "kgfs", "wait"], env=self._environ, check=True)
        for process in self._processes.values():
            process.send_signal(signal.SIGUSR2)
        while not all((self._scratch / name).exists() for name in self._processes):
            time.sleep(0.1)
        return {name: self._told(name) for name in self._processes}

    def searched(self) -> dict[str, set[str]]:
        """Return the modules of which a function is called by ``kgfs search``."""
        if self._start("search", "search", "tracing", "collector", how="whole").wait():
            raise SystemExit("kgfs search failed.")
        return {"search": self._told("search")}

    def _told(self, name: str) -> set[str]:
        return set(json.loads((self._scratch / name).read_text()))


def record(told: Path, words: list[str], *, whole: bool) -> None:
    """Run kgfs with these words, and write to ``told`` of which modules a function was called."""
    called: set[str] = set()
    recording = whole

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if (
            recording and event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED
        ):  # not the body of a module or class
            called.add(frame.f_code.co_filename)

    def begin(number: int, frame: FrameType | None) -> None:
        nonlocal recording
        recording = True

    def end(*_: object) -> None:
        nonlocal recording
        recording = False
        mine = sorted(str(Path(file).relative_to(TOP)) for file in called if file.startswith(f"{TOP}/"))
        fresh = told.with_suffix(".new")
        fresh.write_text(json.dumps(mine))
        fresh.rename(told)

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, end)
    threading.setprofile(profile)
    sys.setprofile(profile)
    from kgfs.cli import main as run

    try:
        run(words)
    finally:
        if whole:
            end()


if __name__ == "__main__":
    if how := os.environ.get(RECORD):
        record(Path(sys.argv[1]), sys.argv[2:], whole=how == "whole")
    else:
        main()
