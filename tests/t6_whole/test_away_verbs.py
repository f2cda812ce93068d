"""What verbs say and do where a server takes the home's keys no more, and where homes that share a bucket have graphs of their
own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.app.home import open_stores
from kgfs.config import load
from kgfs.ingest.keeping.ship import entries
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ReadingOwed
from kgfs.stores.vectors.owners import take_place
from tests.logs import AWAY
from tests.peers.buckets import Server
from tests.t6_whole.running import QUICK, TRY_AGAIN_SOON, Place, until

pytestmark = [pytest.mark.slow, pytest.mark.mounted]
REFUSED = "refuses the keys"
STILL = "is not done to this one's graph"


@pytest.fixture
def far(place: Place, seaweedfs: Server, tmp_path: Path) -> Iterator[Place]:
    """With keys of its own to spoil, of one that shares its bucket."""
    peer = seaweedfs.place
    assert peer.access_key_file and peer.secret_key_file
    for name, source in (("access", peer.access_key_file), ("secret", peer.secret_key_file)):
        (tmp_path / name).write_text(source.read_text())
    place.environment |= QUICK | {"KGFS_PIPELINE_MAX_ATTEMPTS": "1"}
    (place.home / "config.toml").write_text(
        f'[garage]\nstore = "s3"\nshared = true\nendpoint = "{peer.endpoint}"\nprefix = "{peer.prefix}"\ntimeout = 5\n'
        f'access_key_file = "{tmp_path / "access"}"\nsecret_key_file = "{tmp_path / "secret"}"\n'
    )
    yield place


def written(folder: Path, number: int) -> Path:
    path = folder / f"{number}.txt"
    path.write_text(f"A stupa is a mound. Stupa {number} holds relics.")
    return path


@pytest.mark.claim("AWAY-8")
@pytest.mark.logs(REFUSED, AWAY)
def test_ingest_ends_where_keys_are_refused(far: Place, tmp_path: Path) -> None:
    """Beside a mount and its worker, and without one."""
    far.mount()
    far.run("ingest", written(tmp_path, 1), "--ontology", "Notes")
    keys = (tmp_path / "secret").read_text()
    (tmp_path / "secret").write_text("spoilt")
    done = far.run("ingest", written(tmp_path, 2), "--ontology", "Notes", expect=7)
    assert REFUSED in done.stderr and "kgfs wait" in done.stderr
    late = far.run("ingest", written(tmp_path, 3), "--ontology", "Notes", "--timeout", "1", expect=8)
    assert "Still owed after 1 s" in late.stderr
    far.umount()
    done = far.run("ingest", written(tmp_path, 4), "--ontology", "Notes", expect=7, env=TRY_AGAIN_SOON)
    assert REFUSED in done.stderr and "kgfs wait" in done.stderr
    (tmp_path / "secret").write_text(keys)
    far.mount()
    far.wait()
    assert far.status()["documents"] == {"done": 4}


@pytest.mark.claim("AWAY-8")
@pytest.mark.logs(REFUSED, AWAY)
def test_ingest_does_what_was_asked_once_the_keys_are_taken_again(far: Place, tmp_path: Path) -> None:
    """All of them failed at first, and whoever settles meanwhile knows neither of strategies nor of force."""
    known = written(tmp_path, 1)
    far.mount()
    far.run("ingest", known, "--ontology", "Known")
    keys = (tmp_path / "secret").read_text()
    (tmp_path / "secret").write_text("spoilt")
    more = {"KGFS_PIPELINE_MAX_ATTEMPTS": "20"}
    asked = [
        far.start("ingest", written(tmp_path, 2), "--ontology", "Known", "--strategy", "hybrid", "--json", env=more),
        far.start("ingest", known, "--ontology", "Known", "--as", "deep/1.txt", "--force", "--json", env=more),
    ]
    told = [process.stderr.readline() for process in asked if process.stderr]
    assert all(REFUSED in line for line in told)
    (tmp_path / "secret").write_text(keys)
    for process, path in zip(asked, ("2.txt", "deep/1.txt"), strict=True):
        with process:
            assert process.stdout and process.stderr
            out, err = process.stdout.read(), process.stderr.read()
        assert process.returncode == 0, (told, err)
        assert [json.loads(line)["path"] for line in out.splitlines()] == [path]
    with open_stores(load(far.home)) as stores:
        facts = [decode(entry) for entry in entries(stores.journal, stores.garage.ledger)]
    owed = [(fact.strategy, bool(fact.run)) for fact in facts if isinstance(fact, ReadingOwed)]
    assert sorted(owed) == [("", True), ("hybrid", True)]


@pytest.mark.claim("SHARE-10")
def test_a_graph_that_nobody_keeps_current_is_told_of(far: Place) -> None:
    assert STILL in far.run("mount", far.mountpoint, "--no-worker").stderr
    assert STILL in far.run("status").stdout
    assert far.status()["stands_still"]
    assert json.loads((far.mountpoint / ".kgfs/status.json").read_text())["stands_still"]
    far.umount()
    assert STILL not in far.run("mount", far.mountpoint).stderr
    until(lambda: not far.status()["stands_still"], 60)
    assert STILL not in far.run("status").stdout


def test_vectors_of_two_graphs_are_not_kept_in_one_place(far: Place, tmp_path: Path) -> None:
    """Told before Qdrant is asked: nobody listens there."""
    file = far.home / "config.toml"
    file.write_text(file.read_text() + '[vectors]\nstore = "qdrant"\nurl = "http://127.0.0.1:1"\n')
    take_place(load(far.home))
    second = Place(tmp_path / "second", far.mountpoint, {**far.environment, "KGFS_MODELS_EMBEDDER": "auto"})
    second.home.mkdir()
    (second.home / "config.toml").write_text(file.read_text())
    refused = second.run("mount", second.mountpoint, expect=3)
    assert "vectors.prefix of its own" in refused.stderr
