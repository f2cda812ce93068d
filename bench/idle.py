"""What a mount, its worker and its watcher cost while nothing happens: ``python -m bench.idle [--seconds 600] [--server seaweedfs]``.

A home with one document, in files or on a server that is started here, is mounted in a process of its own, which starts a worker and a
watcher. When all is settled and read, the CPU time that each process used is taken from /proc before and after. Prints percents of one
core.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from scripts.servers import minio, process, seaweedfs

SERVERS = {"seaweedfs": seaweedfs, "minio": minio}
SETTLED = 15.0
"""Seconds after which nothing happens any more."""
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--server", choices=SERVERS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgfs-bench-idle-") as scratch, ExitStack() as stack:
        home, where = Path(scratch) / "home", Path(scratch) / "mnt"
        for folder in (home, where):
            folder.mkdir(mode=0o700)
        if options.server:
            (home / "config.toml").write_text(started(Path(scratch), options.server, stack))
        environ = {**os.environ, "KGFS_HOME": str(home)}
        if options.server:
            subprocess.run([sys.executable, "-m", "kgfs", "doctor", "--quiet", "--create"], env=environ, check=True)
        mount = subprocess.Popen([sys.executable, "-m", "kgfs", "mount", "--foreground", str(where)], env=environ)
        try:
            while not os.path.ismount(where):
                time.sleep(0.1)
            (where / "Bench").mkdir()
            (where / "Bench/documents/one.txt").write_text("A garbage collector frees memory that nothing refers to.\n")
            subprocess.run([sys.executable, "-m", "kgfs", "wait"], env=environ, check=True)
            time.sleep(SETTLED)
            before, begun = spent(home, mount.pid), time.monotonic()
            time.sleep(options.seconds)
            after, took = spent(home, mount.pid), time.monotonic() - begun
            shares = {name: round(100 * (after[name] - before[name]) / took, 3) for name in before}
            print(
                json.dumps(
                    {
                        "what": "percent of a core",
                        "seconds": round(took),
                        **shares,
                        "all": round(sum(shares.values()), 3),
                    }
                )
            )
        finally:
            mount.terminate()
            mount.wait()


def started(scratch: Path, server: str, stack: ExitStack) -> str:
    """Start a server, and return the settings of a home on it."""
    module, folder = SERVERS[server], scratch / server
    folder.mkdir(mode=0o700)
    stack.callback(process.end, folder)
    found = module.start(folder, ())
    return module.settings(folder, found.ports)


def spent(home: Path, mount: int) -> dict[str, float]:
    """Return the CPU seconds of the mount, its worker and its watcher so far."""
    worker = json.loads((home / "run/worker.json").read_text())["pid"]
    found = {"mount": seconds(mount), "worker": seconds(worker)}
    for child in Path(f"/proc/{mount}/task/{mount}/children").read_text().split():
        if int(child) != worker:
            found[f"watcher-{child}"] = seconds(int(child))
    return found


def seconds(pid: int) -> float:
    """Return the CPU seconds, of user and system, of all threads of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


if __name__ == "__main__":
    main()
