"""A real mount of a real home, and what its catalog says about it: for tests that act as programs do."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kgfs.domain.documents import Ontology
from kgfs.stores.catalog.facts import VersionMinted
from kgfs.stores.catalog.sqlite import Catalog
from tests.support.logs import undeclared
from tests.support.running import Place, until

SETTLE = 0.3
"""Seconds of quiet in these tests."""
EVER = 2**63 - 1

STATISTICS = {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}

Version = tuple[str, int, str]
"""Path, number and SHA-256."""


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def run(*words: str | bytes | Path, at: Path | None = None, code: int = 0, env: Mapping[str, str] | None = None) -> str:
    """What an ordinary program says, in plain English and away from the user's settings."""
    plain = {"LC_ALL": "C.UTF-8", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(
        words,
        cwd=at,
        env={**os.environ, **plain, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=120,
        check=False,
    )
    assert done.returncode == code, f"{words} exited with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stdout + done.stderr


@dataclass
class Library:
    """One ontology of a mount, as its user and its catalog see it."""

    place: Place
    catalog: Catalog
    name: str
    since: int = 0
    """The number of the newest fact before it was made."""

    @property
    def top(self) -> Path:
        return self.place.mountpoint / self.name

    @property
    def documents(self) -> Path:
        return self.top / "documents"

    @property
    def ontology(self) -> Ontology:
        found = self.catalog.names.ontology_named(self.name)
        assert found is not None
        return found

    def settled(self) -> None:
        """Wait until everything written in the whole home was quiet for long enough and is decided about."""
        settled(self.place)

    def minted(self) -> list[Version]:
        """Every version this ontology ever got, in order, whatever became of the path."""
        facts = self.catalog.facts(self.since, 1_000_000)
        assert facts is not None
        return [
            (fact.path, fact.n, fact.sha256)
            for _, fact in facts
            if isinstance(fact, VersionMinted) and fact.ontology == self.ontology.id
        ]

    def history(self, path: str) -> list[bytes]:
        """All contents of a path, oldest first, as versions/ shows them."""
        folder = self.top / "versions" / f"{path}@"
        return [file.read_bytes() for file in sorted(folder.iterdir(), key=lambda file: int(file.stem))]

    def requests(self) -> int:
        """How many the kernel has sent so far."""
        lines = (self.place.mountpoint / ".kgfs" / "metrics.prom").read_text().splitlines()
        return sum(int(line.split()[-1]) for line in lines if line.startswith("kgfs_fuse_requests_total{"))


@contextmanager
def mounted_place(
    top: Path, *options: str, env: Mapping[str, str] | None = None, declared: tuple[str, ...] = ()
) -> Iterator[Place]:
    """Mounted while this lasts; its logs must have no complaint that is not ``declared``."""
    (top / "mnt").mkdir(parents=True, exist_ok=True)
    place = Place(top / "home", top / "mnt", {"KGFS_PIPELINE_SETTLE": str(SETTLE), **STATISTICS, **(env or {})})
    try:
        yield place.mount(*options)
    finally:
        place.close()
    complaints = undeclared(place.home, declared)
    assert not complaints, complaints


@contextmanager
def catalog_of(place: Place) -> Iterator[Catalog]:
    catalog = Catalog(place.home / "front.sqlite")
    try:
        yield catalog
    finally:
        catalog.close()


def settled(place: Place) -> None:
    """Wait until everything written in the whole home was quiet for long enough and is decided about. Where no worker lives
    ``kgfs wait`` does that, too, and then waits for one."""
    with catalog_of(place) as catalog:
        until(lambda: not catalog.names.unsettled(quiet_before=EVER))


MakeLibrary = Callable[[], Library]
