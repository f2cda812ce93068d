"""A home and a mount point, used as a stranger would: through the command line and the mounted files alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import starting
from tests.support.starting import CONSTANTS, ROOT

KGFS = (sys.executable, "-m", "kgfs")
PATIENCE = 300.0
"""Seconds after which a command hangs, on a machine that does much else."""
LIGHT = {"KGFS_MODELS_EXTRACTOR": "statistics"}
"""The environment of a home that says nothing of its extractor: to load another takes longer than all else that a test does."""
QUICK = LIGHT | {"KGFS_MODELS_EMBEDDER": "none"}
"""The environment of a home that reads without models."""
AUTO = {"KGFS_MODELS_EXTRACTOR": "auto"}
"""The environment of a home that reads as one does where nobody set anything."""

OTHER_HASHES = {"PYTHONHASHSEED": "1"}
"""The environment of a command that meets what is in a set in another order than those whose work is compared with its own."""

LET_GO_SOON = {"KGFS_PIPELINE_LEASE": "10"}
"""The environment of a command that is to be killed on a graph that others may share: who is next waits until its lease has
run out."""

LOOK_AGAIN_AT_ONCE = {CONSTANTS: "kgfs.knowledge.timing.CHECK_SECOND_PASS=0"}
"""The environment of a check of a home that nobody else works at: nothing can be under way there."""

TRY_AGAIN_SOON = {CONSTANTS: "kgfs.ingest.timing.JOB_RETRY=0.5"}
"""The environment of a command that works itself, and tries in vain."""

HEAR_ALL_SERVERS = {CONSTANTS: "kgfs.cli.progress.SERVERS_ANSWER=60"}
"""The environment of a mount that waits for all that its servers say, also where loading their clients takes long."""


@dataclass
class Place:
    """Nothing is mounted before :meth:`mount`; :meth:`close` leaves neither mounts nor processes behind."""

    home: Path
    mountpoint: Path
    environment: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    """Words that run the command as somebody else; those of ``env`` start it as a shell does, and not by :mod:`starting`."""

    def run(
        self, *words: str | bytes | os.PathLike[str], expect: int | None = 0, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """``kgfs WORDS`` on this home. With ``expect`` None any exit code will do."""
        environment = self._environment(env)
        if self.before:
            done = subprocess.run(
                [*self.before, *KGFS, *words],
                env=environment,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                timeout=PATIENCE,
            )
        else:
            done = starting.run(words, environment, PATIENCE)
        if expect is not None:
            assert done.returncode == expect, f"kgfs {words} exited with {done.returncode}: {done.stdout}{done.stderr}"
        return done

    def start(self, *words: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """As :meth:`run`, beside the test, in a process group of its own."""
        return subprocess.Popen(
            [*self.before, *KGFS, *words],
            env=self._environment(env),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        known = {"KGFS_HOME": str(self.home), "KGFS_PIPELINE_SETTLE": "0.5", "PYTHONDONTWRITEBYTECODE": "1"}
        return {**LIGHT, **os.environ, **known, **self.environment, **(more or {})}

    def mount(self, *options: str, env: Mapping[str, str] | None = None) -> Place:
        self.run("mount", self.mountpoint, *options, env=env)
        return self

    def umount(self) -> None:
        self.run("umount", self.mountpoint)

    def wait(self) -> None:
        self.run("wait", "--timeout", "240")

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json").stdout))

    def ontology(self, name: str) -> Path:
        """Made if there is none."""
        path = self.mountpoint / name
        path.mkdir(exist_ok=True)
        return path

    def pids(self) -> list[int]:
        """Of all processes of this home: mounts, workers, and commands that run."""
        found = starting.running(self.home)
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid():
                try:
                    words = (process / "cmdline").read_bytes().split(b"\0")
                    environment = (process / "environ").read_bytes().split(b"\0")
                except OSError:  # it ended, or belongs to somebody else
                    continue
                if b"kgfs" in words and f"KGFS_HOME={self.home}".encode() in environment:
                    found.append(int(process.name))
        return found

    def kill(self) -> None:
        """``kill -9`` of the mount and the worker at once."""
        pids = self.pids()
        assert pids, "nothing to kill"
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not self.pids())

    def close(self) -> None:
        if os.path.ismount(self.mountpoint):
            self.run("umount", self.mountpoint, "--lazy", expect=None)
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not self.pids())
        subprocess.run(["fusermount3", "-u", "-z", "-q", str(self.mountpoint)], check=False, capture_output=True)


def contents(top: Path) -> dict[str, tuple[int, bytes]]:
    """(mtime, bytes) of every file of all ontologies of a mount, kept and derived, each under its path."""
    return {
        str(path.relative_to(top)): (path.stat().st_mtime_ns, path.read_bytes())
        for ontology in top.iterdir()
        if ontology.is_dir() and ontology.name != ".kgfs"
        for path in sorted(ontology.rglob("*"))
        if path.is_file()
    }


def until(true: Callable[[], Any], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def drop_cache(home: Path) -> None:
    """A mount may still be writing into it."""
    cache = home / "cache"

    def dropped() -> bool:
        shutil.rmtree(cache, ignore_errors=True)
        return not cache.exists()

    until(dropped)


def one_line(reported: str) -> str:
    """What an error says: one line of kgfs's own, no traceback."""
    lines = reported.splitlines()
    assert len(lines) == 1, reported
    assert lines[0].startswith("kgfs: "), reported
    return lines[0]


def shell(*words: str | bytes | os.PathLike[str], cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """An ordinary program, in plain English."""
    return subprocess.run(
        words, cwd=cwd, capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=PATIENCE, check=False
    )
