"""A home on this machine alone: nothing of servers is loaded, and nothing is polled often."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.running import until

SERVERS = ("minio", "neo4j", "qdrant_client", "ray")
ROOMS = (
    *("kgfs.stores.garage.s3", "kgfs.stores.projection", "kgfs.stores.vectors.qdrant", "kgfs.compute.cluster"),
    "kgfs.ingest.working.projecting",
)
TOLD = """
import atexit, json, pathlib, sys
_, told, *words = sys.argv
atexit.register(lambda: pathlib.Path(told).write_text(json.dumps(sorted(sys.modules))))
from kgfs.cli import main
main(words)
"""


def started(home: Path, told: Path, *words: str) -> subprocess.Popen[bytes]:
    """``kgfs`` with these words, which tells at its end what it has loaded."""
    environ = {**os.environ, "KGFS_HOME": str(home)}
    return subprocess.Popen([sys.executable, "-c", TOLD, str(told), *words], env=environ, stdout=subprocess.DEVNULL)


def of_others(told: Path) -> list[str]:
    loaded = json.loads(told.read_text())
    assert "kgfs.app.home" in loaded
    return [name for name in loaded if name.startswith(ROOMS) or name.partition(".")[0] in SERVERS]


@pytest.mark.mounted
@pytest.mark.models
def test_nothing_of_servers_is_loaded(tmp_path: Path) -> None:
    home, where = tmp_path / "home", tmp_path / "mnt"
    where.mkdir()
    running = {"mount": started(home, tmp_path / "mount", "mount", "--foreground", "--no-worker", str(where))}
    try:
        until(where.is_mount)
        running["worker"] = started(home, tmp_path / "worker", "worker")
        (where / "Notes").mkdir()
        (where / "Notes/one.txt").write_text("A garbage collector frees memory that nothing refers to.\n")
        for verb in (["wait"], ["search", "garbage"], ["status"], ["history", "Notes/one.txt"], ["check"]):
            told = tmp_path / verb[0]
            assert started(home, told, *verb).wait() == 0, verb
            assert of_others(told) == [], verb
        assert (where / "Notes/concepts").is_dir()
    finally:
        for process in reversed(running.values()):
            process.send_signal(signal.SIGTERM)
            process.wait()
    for name in running:
        assert of_others(tmp_path / name) == [], name


def waits(pid: int) -> int:
    """How often the threads of a process went to sleep so far."""
    reported = "".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(map(int, re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", reported, re.MULTILINE)))


@pytest.mark.mounted
@pytest.mark.models
def test_what_rests_polls_seldom_and_sees_at_once_what_others_do(tmp_path: Path) -> None:
    home, where = tmp_path / "home", tmp_path / "mnt"
    where.mkdir()
    environ = {**os.environ, "KGFS_HOME": str(home)}
    mount = subprocess.Popen([sys.executable, "-m", "kgfs", "mount", "--foreground", str(where)], env=environ)
    try:
        until(where.is_mount)
        (where / "Notes").mkdir()
        (where / "Notes/one.txt").write_text("A garbage collector frees memory that nothing refers to.\n")
        subprocess.run([sys.executable, "-m", "kgfs", "wait"], env=environ, check=True)
        assert (where / "Notes/documents").is_dir() and not (where / "Notes/documents/two.txt").exists()
        time.sleep(8)
        worker = json.loads((home / "run/worker.json").read_text())["pid"]
        before = {pid: waits(pid) for pid in (mount.pid, worker)}
        time.sleep(10)
        assert all(waits(pid) - count < 60 for pid, count in before.items()), "ten polls a second are 100, or more"
        (tmp_path / "two.txt").write_text("Reference counting frees memory, too.\n")
        given = [sys.executable, "-m", "kgfs", "ingest", str(tmp_path / "two.txt"), "--ontology", "Notes", "--no-wait"]
        subprocess.run(given, env=environ, check=True)
        begun = time.monotonic()
        until((where / "Notes/documents/two.txt").exists)
        assert time.monotonic() - begun < 1.0
        asked = time.monotonic()
        subprocess.run([sys.executable, "-m", "kgfs", "wait", "--timeout", "30"], env=environ, check=True)
        assert time.monotonic() - asked < 25
    finally:
        mount.send_signal(signal.SIGTERM)
        mount.wait()
