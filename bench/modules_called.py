"""Which modules of kgfs work between ``cp`` and published: ``python -m bench.modules_called [--names]``.

A home in files is mounted, and a worker runs beside the mount. From just before a file is copied in until its concepts are
published, it is recorded in both processes of which modules a function is called (``sys.setprofile``). Prints how many there are, by
process and together, of how many that kgfs has; with ``--names``, which.
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
from pathlib import Path
from types import FrameType
from typing import Any

import kgfs

TOP = Path(kgfs.__file__).parent
TEXT = "A garbage collector frees memory. A tracing collector is a garbage collector that starts at the root set.\n"
RESTED = 10.0
"""Seconds after which a mount and a worker that have started do nothing any more."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgfs-bench-modules-") as scratch:
        found = measured(Path(scratch))
    of_all = {str(path.relative_to(TOP)) for path in TOP.rglob("*.py")}
    together = set().union(*found.values())
    counts = {name: len(modules) for name, modules in found.items()}
    print(
        json.dumps({"what": "modules with a function called", **counts, "together": len(together), "of": len(of_all)})
    )
    if options.names:
        print(*sorted(together), sep="\n")


def measured(scratch: Path) -> dict[str, set[str]]:
    """Return the modules with a function called, by process."""
    home, where = scratch / "home", scratch / "mnt"
    where.mkdir()
    (scratch / "one.txt").write_text(TEXT)
    environ = {**os.environ, "KGFS_HOME": str(home)}
    words = {"mount": ["mount", "--foreground", "--no-worker", str(where)], "worker": ["worker"]}
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name in words:
            child = [sys.executable, "-m", "bench.modules_called", str(scratch / name), *words[name]]
            running[name] = subprocess.Popen(child, env={**environ, RECORD: "1"})
            while not (where.is_mount() if name == "mount" else (home / "run/worker.json").exists()):
                time.sleep(0.1)
        (where / "Bench").mkdir()
        time.sleep(RESTED)
        for process in running.values():
            process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        subprocess.run(["cp", scratch / "one.txt", where / "Bench/documents/one.txt"], check=True)
        subprocess.run([sys.executable, "-m", "kgfs", "wait"], env=environ, check=True)
        for process in running.values():
            process.send_signal(signal.SIGUSR2)
        while not all((scratch / name).exists() for name in running):
            time.sleep(0.1)
        return {name: set(json.loads((scratch / name).read_text())) for name in running}
    finally:
        for process in reversed(running.values()):
            process.terminate()
            process.wait()


RECORD = "KGFS_BENCH_RECORD"
"""In the environment of a process that is recorded."""


def record(told: Path, words: list[str]) -> None:
    """Run kgfs with these words. Record from SIGUSR1 on; write the modules to ``told`` at SIGUSR2."""
    called: set[str] = set()
    recording = False

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if (
            recording and event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED
        ):  # not the body of a module or class
            called.add(frame.f_code.co_filename)

    def begin(number: int, frame: FrameType | None) -> None:
        nonlocal recording
        recording = True

    def end(number: int, frame: FrameType | None) -> None:
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

    run(words)


if __name__ == "__main__":
    if os.environ.get(RECORD):
        record(Path(sys.argv[1]), sys.argv[2:])
    else:
        main()
