"""Servers that are killed under a home, and what its users see meanwhile."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import VersionMinted
from kgfs.stores.ship import entries
from scripts.servers import neo4j, process, qdrant_wire, seaweedfs
from tests.support.peers.buckets import Server
from tests.support.running import Place

TIMEOUT = 12
"""Seconds that a bucket or Qdrant may be silent, as the homes of these tests have it."""

BUSY = 8.0
"""Seconds that other tests may hold this one up: fewer than somebody loses who waits for a server once."""

SENTENCES = (
    "Zen is a school of Buddhism. A koan is a riddle used in Zen practice.",
    "A garbage collector is a program that reclaims memory. Reference counting is a form of garbage collection.",
    "A stupa is a mound. The stupa holds relics.",
    "The tracing algorithm visits reachable objects. A tracing algorithm requires a root set.",
    "Direct experience comes before words. Zen practice stresses direct experience.",
)


def corpus(folder: Path, count: int, name: str) -> Path:
    """So many files, some in folders, some larger than what goes through the inbox; no two alike."""
    for number in range(count):
        path = folder / ("deep" if number % 5 == 4 else ".") / f"{name}-{number:03d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        reported = " ".join(SENTENCES[(number + step) % len(SENTENCES)] for step in range(3))
        path.write_text(f"Note {number} of {name}. {reported}\n" * (300 if number % 10 == 9 else 1))
    return folder


@dataclass
class Peer:
    """A server of one's own, killed and started again with its data."""

    name: str
    folder: Path
    module: object = field(init=False)

    def __post_init__(self) -> None:
        self.module = {"seaweedfs": seaweedfs, "neo4j": neo4j, "qdrant-wire": qdrant_wire}[self.name]
        self.folder.mkdir(exist_ok=True)

    def start(self) -> None:
        if self.name == "seaweedfs":
            Server(self.name, seaweedfs, self.folder).start()  # and wait until it keeps what it is given
        else:
            self.module.start(self.folder, process.ports_before(self.folder))  # type: ignore[attr-defined]

    def kill(self) -> None:
        found = process.running(self.folder)
        assert found
        os.kill(found.pid, signal.SIGKILL)
        process.end(self.folder)

    def end(self) -> None:
        process.end(self.folder, 0)

    def settings(self) -> str:
        """Of a place there that nobody used yet."""
        told: str = self.module.settings(self.folder, process.ports_before(self.folder))  # type: ignore[attr-defined]
        mine = f"test-{secrets.token_hex(4)}"
        # A graph's server that has just started plans each kind of question for the first time, slowly.
        return (
            told
            + {
                "seaweedfs": f'prefix = "{mine}"\ntimeout = {TIMEOUT}\n',
                "neo4j": f'namespace = "{mine}"\ntimeout = 20\n',
                "qdrant-wire": f'prefix = "{mine}"\ntimeout = {TIMEOUT}\n',
            }[self.name]
        )


def wait(place: Place) -> None:
    """Until nothing is owed; a graph's server that has just started takes its time on a busy machine."""
    for _ in range(4):
        done = place.run("wait", "--timeout", "80", expect=None)
        if done.returncode != 8:
            break
    assert done.returncode == 0, done.stderr


def minted(home: Path) -> list[str]:
    """The paths of all versions that were ever made, in order: a deposit that was carried out twice shows here."""
    with open_home(load(home)) as stores:
        facts = map(decode, entries(stores.catalog, stores.garage.ledger))
        return [fact.path for fact in facts if isinstance(fact, VersionMinted)]


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is done meanwhile takes no longer. A machine that is busy with other tests has some seconds more."""
    begun = time.monotonic()
    yield
    took = time.monotonic() - begun
    assert took < seconds + BUSY, f"{took:.1f} s"


def errno_of(do: Callable[[], object]) -> int:
    """0 where it succeeds."""
    try:
        do()
    except OSError as error:
        return error.errno or -1
    return 0


def read_anew(path: Path) -> bytes:
    """Not from the kernel's pages."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.read()


def cached_bytes(home: Path) -> int:
    """That are on the disk: a mount writes them some time after it gave them out."""
    return sum(path.stat().st_size for path in (home / "cache").glob("*/*"))
