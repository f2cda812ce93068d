"""A corpus that several workers read, and what a home knows of it: printed by ``python -m tests.support.sharing HOME``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_stores
from kgfs.config import load
from tests.support.knowledge_of import knowledge_in
from tests.support.peers.buckets import Server
from tests.support.running import QUICK, Place

THINGS = ("garbage collector", "reference counting", "tracing algorithm", "memory cell", "weak reference", "root set")
COUNT = 8


def corpus(folder: Path, count: int = COUNT) -> list[Path]:
    found = []
    for n in range(count):
        one, other, third = (THINGS[(n + step) % len(THINGS)] for step in range(3))
        path = folder / f"{n:02}.txt"
        path.write_text(f"A {one} is a form of {other}. The {one} uses a {third}. Chapter {n} ends.")
        found.append(path)
    return found


def known(home: Path) -> tuple[dict[str, Any], list[int], int]:
    """What it knows, the epochs of its documents in order of deposit, and how many Readings the garage has."""
    with open_stores(load(home)) as stores:
        (ontology,) = stores.catalog.names.ontologies()
        rows = sorted((d.deposit, d.commit_id) for d in stores.catalog.names.documents(ontology.id))
        epochs = [stores.graph.published(commit_id) or 0 for _, commit_id in rows]
        assert stores.graph.staged() == stores.graph.faults() == []
        return knowledge_in(stores), epochs, len(list(stores.garage.objects.keys("readings/")))


SEEN = 60.0
"""Seconds for what others did to be seen, on a machine that does much else; half a second where it does not."""


def show_the_same(*hosts: Path) -> bool:
    """What is renamed while it is looked at is looked at again. A name may come before what was written."""
    try:
        one, other = map(tree, hosts)
    except FileNotFoundError:
        return False
    return one == other


def versions_of(documents: Path, path: str) -> list[bytes]:
    """What ``versions/`` has of it, whichever came first."""
    return sorted(found.read_bytes() for found in documents.parent.glob(f"versions/{path}@/*"))


def tree(documents: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(documents)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(documents.rglob("*"))
    }


LEASE = "10"


SHORT = QUICK | {"KGFS_PIPELINE_LEASE": LEASE}


def home(folder: Path, settings: str = "") -> Place:
    made = Place(folder / "home", folder / "mnt", dict(SHORT))
    made.home.mkdir(parents=True)
    (made.home / "config.toml").write_text(settings)
    return made


@pytest.fixture
def homes(seaweedfs: Server, tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    place = seaweedfs.place
    settings = (
        f'[garage]\nstore = "s3"\nshared = true\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\ntimeout = 30\n'
        f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\n'
    )
    made = [home(tmp_path / name, settings) for name in ("here", "there")]
    yield made[0], made[1]
    for one in made:
        one.close()


if __name__ == "__main__":
    print(json.dumps(known(Path(sys.argv[1]))))
