"""The sides of a comparison: a mount in a process of its own, with its requests and its memory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.speed.homes import NAME, Home, empty, place_on_servers
from kgfs.config import load

KGFS, FLOOR, SERVERS = "kgfs", "floor", "servers"
ROOT = Path(__file__).parents[2]
TURNING = 15.0
"""Seconds within which a mount asks its servers, whether it is used or not."""

_COUNT = re.compile(r'^kgfs_fuse_requests_total\{operation="(\w+)"\} (\d+)$', re.MULTILINE)
_ASKED = re.compile(r'^kgfs_server_requests_total\{store="(\w+)"\} (\d+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mounted:
    side: str
    path: Path
    process: subprocess.Popen[bytes]
    seconds: float
    """From the start of the process to its first answer."""

    @property
    def bench(self) -> Path:
        return self.path / NAME

    def requests(self) -> dict[str, int]:
        """So far, by operation. Asking costs some itself, the same on both sides."""
        text = (self.path / ".kgfs" / "metrics.prom").read_text()
        return {name: int(count) for name, count in _COUNT.findall(text)}

    def asked(self) -> dict[str, int]:
        """Requests of the mount to servers so far, by the store they were for."""
        text = (self.path / ".kgfs" / "metrics.prom").read_text()
        return {store: int(count) for store, count in _ASKED.findall(text)}

    def cpu(self) -> float:
        """Seconds the process has computed so far, the kernel's work for it included: steadier than the clock where
        others use the machine, too."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, what: str = "VmRSS") -> float:
        """MiB of the process; ``VmHWM`` is its peak."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"^{what}:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024

    def turn_to_servers(self) -> None:
        """Wait until a mount that nobody uses has asked its servers, for which it loads a client of each."""
        deadline = time.monotonic() + TURNING
        while not self.asked().get("graph") and time.monotonic() < deadline:
            time.sleep(1.0)


@contextmanager
def mounted(side: str, home: Home | None, scratch: Path, servers: Path | None = None) -> Iterator[Mounted]:
    """``home`` on that side, or without one an empty place to write in (a fresh home, on ``servers`` where they are given;
    a fresh folder)."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        base = Path(folder)
        (mountpoint := base / "mnt").mkdir()
        (writes := base / "writes").mkdir()
        plan = base / "plan"
        plan.touch()
        if side == FLOOR:
            words = ["bench.floor", str(mountpoint), str(home.plan if home else plan), "--writes", str(writes)]
        else:
            fresh = partial(place_on_servers, servers=servers) if servers and side == SERVERS else load
            config = home.config if home else fresh(base / "home")
            words = ["kgfs", "mount", str(mountpoint), "--foreground", "--no-worker", "--home", str(config.home)]
        started = time.perf_counter()
        with (base / "log").open("wb") as log:
            process = subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, stdout=log, stderr=log)
        try:
            while not (mountpoint / ".kgfs").exists():
                if process.poll() is not None:
                    raise SystemExit(f"{side} did not mount: {(base / 'log').read_text()}")
                time.sleep(0.002)
            yield Mounted(side, mountpoint, process, time.perf_counter() - started)
        finally:
            unmount = subprocess.run(["fusermount3", "-u", str(mountpoint)], check=False, capture_output=True)
            if unmount.returncode:
                subprocess.run(["fusermount3", "-u", "-z", str(mountpoint)], check=False, capture_output=True)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            shutil.rmtree(writes, ignore_errors=True)
            if side == SERVERS and not home:
                empty(config)
