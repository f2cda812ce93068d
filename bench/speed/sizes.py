"""How large everything is, and what is measured against what."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.speed.homes import Size, home_of, home_on_servers
from bench.speed.mounts import FLOOR, KGFS, SERVERS, Mounted, mounted

MB = 1 << 20
MEMORY = 1024 * MB
"""Bytes that a sample may fill of the kernel's pages, beside a large file that it reads or writes."""


@dataclass(frozen=True, slots=True)
class Bench:
    scratch: Path
    samples: int
    concepts: int
    many_concepts: int
    million: int
    documents: int
    big: int
    text: int
    servers: Path | None = None
    """A configuration of servers: then a home there is measured against one in files, instead of that against the floor."""

    @property
    def sides(self) -> tuple[str, str]:
        """What is measured, and against what."""
        return (SERVERS, KGFS) if self.servers else (KGFS, FLOOR)

    @property
    def homes(self) -> tuple[str, ...]:
        """Those of the sides that are homes of kgfs."""
        return self.sides if self.servers else (KGFS,)

    @property
    def full(self) -> Size:
        return Size("concepts", concepts=self.concepts)

    @property
    def large(self) -> Size:
        return Size("concepts", concepts=self.many_concepts)

    @property
    def originals(self) -> Size:
        return Size("documents", documents=self.documents, big=self.big)

    def names(self, count: int) -> Size:
        return Size("names", concepts=count, evidence=0)

    def mounted(self, side: str, size: Size | None) -> AbstractContextManager[Mounted]:
        """A home of that size, or an empty place to write in."""
        home = None
        if size and self.servers and side == SERVERS:
            home = home_on_servers(self.scratch, size, self.servers)
        elif size:
            home = home_of(self.scratch, size)
        return mounted(side, home, self.scratch, self.servers)


QUICK = {"samples": 3, "concepts": 1000, "many_concepts": 10_000, "million": 50_000, "documents": 1000, "big": 128 * MB}
FULL = {
    "samples": 5,
    "concepts": 10_000,
    "many_concepts": 100_000,
    "million": 1_000_000,
    "documents": 10_000,
    "big": 1024 * MB,
}
