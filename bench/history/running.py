"""A home and its mount, used as a person would: by ``kgfs`` verbs and the programs of a shell."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgfs.config import load
from kgfs.stores.garage.opening import open_garage

PARTS = {"garage": "garage", "graph": "graph.sqlite*", "vectors": "vectors.sqlite*", "front": "front.sqlite*"}
"""What a home consists of, by pattern."""


@dataclass(slots=True)
class Running:
    home: Path
    mountpoint: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    ended: float = 0.0
    """CPU seconds of mounts and workers that are gone."""

    def kgfs(self, *words: str | Path, expect: int = 0, stdin: str = "") -> str:
        """What ``kgfs WORDS`` prints. SystemExit, with what it said, where it exits otherwise than expected."""
        environment = {**os.environ, **self.environment, "KGFS_HOME": str(self.home)}
        done = subprocess.run(
            [sys.executable, "-m", "kgfs", *words],
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != expect:
            reported = done.stdout[-2000:] + done.stderr[-2000:]
            raise SystemExit(f"kgfs {' '.join(map(str, words))[:200]} exited with {done.returncode}: {reported}")
        return done.stdout

    def mount(self) -> None:
        self.kgfs("mount", self.mountpoint)

    def umount(self) -> None:
        """What the next mount shows cannot come from the kernel's memory."""
        before = self._daemons()
        self.kgfs("umount", self.mountpoint)
        self.ended += before

    def wait(self) -> None:
        self.kgfs("wait")

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.kgfs("status", "--json")))

    def cpu(self) -> float:
        """CPU seconds of everything so far: the programs that were run, mounts and workers."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime + self.ended + self._daemons()

    def _daemons(self) -> float:
        """Of those alive, and of their children that ended."""
        mark, total = f"KGFS_HOME={self.home}".encode(), 0
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and mark in (process / "environ").read_bytes().split(b"\0"):
                    fields = (process / "stat").read_text().rpartition(")")[2].split()
                    total += sum(map(int, fields[11:15]))
            except OSError:  # it ended, or belongs to somebody else
                continue
        return total / os.sysconf("SC_CLK_TCK")

    def size(self, part: str) -> int:
        """Bytes on disk of a part of the home."""
        found = [path for top in self.home.glob(PARTS[part]) for path in _files(top)]
        return sum(path.lstat().st_blocks * 512 for path in found)

    def parts(self) -> frozenset[str]:
        """Keys of all Readings and of all packs of Records, wherever the garage is."""
        with closing(open_garage(load(self.home))) as garage:
            folders = ("readings/", "records/")
            return frozenset(key for folder in folders for key, _ in garage.objects.keys(folder))

    def read(self, new: frozenset[str]) -> Read:
        """What was read where these parts are new."""
        readings = [key for key in new if key.startswith("readings/")]
        if not readings:
            return Read(0, 0, 0)  # a purge gives Records to other documents, which is no reading
        with closing(open_garage(load(self.home))) as garage:
            bodies = [json.loads(garage.objects.get(key)) for key in readings]
            asked = sum(garage.objects.get(key).count(b"\n") for key in new.difference(readings))
        passed = sum(bool(verdict["passed"]) for body in bodies for verdict in body["verdicts"])
        return Read(len({body["doc_id"] for body in bodies}), asked, max(passed - asked, 0))


def _files(top: Path) -> Iterator[Path]:
    if top.is_dir():
        yield from (path for path in top.rglob("*") if path.is_file())
    else:
        yield top


@dataclass(frozen=True, slots=True)
class Read:
    """What was read in a step."""

    read: int
    """Documents."""
    extracted: int
    """Sources that an extractor was asked about."""
    reused: int
    """Sources that kept Records answered for."""
