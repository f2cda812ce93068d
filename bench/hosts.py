"""How soon a host sees what another did: ``python -m bench.hosts [--changes 30] [--lull 0] [--server seaweedfs]``.

Two homes share one bucket on a server that is started here, and both are mounted. Files are written and
renamed in the mount of one, and looked for in the mount of the other without a pause; each is counted from when ``close()``
or ``rename()`` returned until the other mount has the name and, of a written one, its bytes. Prints milliseconds. Before each
change nothing happens for ``--lull`` seconds. Before all of them it is counted what a mount asks of the servers while nothing happens.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from scripts.servers import minio, process, seaweedfs

SERVERS = {"seaweedfs": seaweedfs, "minio": minio}
LOOK = 0.005
SETTLED = 15.0
"""Seconds after which nothing happens any more."""
SECONDS = 60.0
"""A change that takes longer is an error."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=30)
    parser.add_argument("--lull", type=float, default=0.0)
    parser.add_argument("--server", choices=SERVERS, default="seaweedfs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgfs-bench-hosts-") as scratch, ExitStack() as stack:
        settings = started(Path(scratch), options.server, stack)
        here, there = (mounted(Path(scratch) / name, settings, stack) for name in ("here", "there"))
        (here / "Bench").mkdir()
        soon(here / "Bench/documents", there / "Bench/documents", b"")
        print(json.dumps({"what": "requests a minute of an idle mount", **idle(there)}), flush=True)
        documents = here / "Bench/documents", there / "Bench/documents"
        for what, late in measured(*documents, options.changes, options.lull).items():
            cuts = statistics.quantiles(late, n=100, method="inclusive")
            figures = {"p50_ms": round(cuts[49]), "p99_ms": round(cuts[98]), "max_ms": round(max(late))}
            print(json.dumps({"what": what, "changes": len(late), "lull_s": options.lull, **figures}), flush=True)


def started(scratch: Path, server: str, stack: ExitStack) -> str:
    """The settings of a home on a server of its own."""
    module, folder = SERVERS[server], scratch / server
    folder.mkdir(mode=0o700)
    stack.callback(process.end, folder)
    found = module.start(folder, ())
    return module.settings(folder, found.ports).replace("[garage]", "[garage]\nshared = true", 1)


def mounted(folder: Path, settings: str, stack: ExitStack) -> Path:
    home, mountpoint = folder / "home", folder / "mnt"
    home.mkdir(parents=True)
    mountpoint.mkdir()
    (home / "config.toml").write_text(settings)
    kgfs(home, "doctor", "--quiet", "--create")
    kgfs(home, "mount", str(mountpoint), "--no-worker")
    stack.callback(kgfs, home, "umount", str(mountpoint))
    return mountpoint


def kgfs(home: Path, *words: str) -> None:
    environment = {**os.environ, "KGFS_HOME": str(home), "KGFS_MODELS_EMBEDDER": "none"}
    subprocess.run([sys.executable, "-m", "kgfs", *words], env=environment, check=True)


def idle(mountpoint: Path) -> dict[str, int]:
    """What it asks of each server in a minute, by its own count."""
    time.sleep(SETTLED)
    before = requests(mountpoint)
    time.sleep(60)
    return {store: count - before[store] for store, count in requests(mountpoint).items()}


def requests(mountpoint: Path) -> dict[str, int]:
    lines = (mountpoint / ".kgfs/metrics.prom").read_text().splitlines()
    counts = [line for line in lines if line.startswith("kgfs_server_requests_total")]
    return {line.split('"')[1]: int(line.split()[-1]) for line in counts}


def measured(here: Path, there: Path, changes: int, lull: float) -> dict[str, list[float]]:
    late: dict[str, list[float]] = {"written": [], "renamed": []}
    for number in range(changes):
        content = f"change {number}".encode()
        time.sleep(lull)
        (here / f"{number}.txt").write_bytes(content)
        late["written"].append(soon(here / f"{number}.txt", there / f"{number}.txt", content))
        time.sleep(lull + 0.07 * (number % 7))  # so that looks do not fall into step with changes
        (here / f"{number}.txt").rename(here / f"{number}-renamed.txt")
        late["renamed"].append(soon(here, there / f"{number}-renamed.txt", b""))
    return late


def soon(done: Path, seen: Path, content: bytes) -> float:
    """Milliseconds until the other mount shows it."""
    started, shown = time.perf_counter(), False
    while not shown:
        if time.perf_counter() - started > SECONDS:
            raise SystemExit(f"{seen} did not show what was done to {done} within {SECONDS:.0f} s.")
        try:
            shown = not content or seen.read_bytes() == content
            shown = shown and seen.exists()
        except FileNotFoundError:
            pass
        if not shown:
            time.sleep(LOOK)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
