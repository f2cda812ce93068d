"""What verbs say and do where a server takes the home's keys no more, is silent, or not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ReadingOwed
from kgfs.stores.ship import entries
from scripts.servers.process import running
from tests.support.logs import AWAY
from tests.support.peers.buckets import Server
from tests.support.running import QUICK, TRY_AGAIN_SOON, Place, until
from tests.support.starting import CONSTANTS
from tests.support.stopping import stopped

pytestmark = [pytest.mark.slow, pytest.mark.mounted]
REFUSED = "refuses the keys"
SILENT = "The bucket does not answer"
HASTY = {CONSTANTS: "kgfs.app.timing.HASTE=0.5"}
FOREVER = {"KGFS_GARAGE_TIMEOUT": "600"}
"""Longer than a command of a test may take."""


@pytest.fixture
def far(place: Place, seaweedfs: Server, tmp_path: Path) -> Iterator[Place]:
    """With keys of its own to spoil."""
    peer = seaweedfs.place
    assert peer.access_key_file and peer.secret_key_file
    for name, source in (("access", peer.access_key_file), ("secret", peer.secret_key_file)):
        (tmp_path / name).write_text(source.read_text())
    place.environment |= QUICK | {"KGFS_PIPELINE_MAX_ATTEMPTS": "1"}
    (place.home / "config.toml").write_text(
        f'[garage]\nstore = "s3"\nendpoint = "{peer.endpoint}"\nprefix = "{peer.prefix}"\ntimeout = 5\n'
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
    assert REFUSED in late.stderr.partition("Still owed after 1 s")[2]
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
    with open_home(load(far.home)) as stores:
        facts = [decode(entry) for entry in entries(stores.catalog, stores.garage.ledger)]
    owed = [(fact.strategy, bool(fact.run)) for fact in facts if isinstance(fact, ReadingOwed)]
    assert sorted(owed) == [("", True), ("hybrid", True)]


@pytest.mark.claim("AWAY-9")
def test_what_is_known_here_is_told_while_the_bucket_is_silent(far: Place, seaweedfs: Server, tmp_path: Path) -> None:
    """Beside a mount, which goes on waiting for the bucket, and has others of its home wait for that."""
    far.environment |= FOREVER
    far.run("ingest", written(tmp_path, 1), "--ontology", "Notes")
    far.mount("--no-worker")
    (far.mountpoint / "Notes" / "documents" / "earlier").mkdir()  # the first change waits until the ledger was asked
    until(lambda: far.status()["unshipped"] == 0)
    server = running(seaweedfs.folder)
    assert server
    with stopped(server.pid):
        (far.mountpoint / "Notes" / "documents" / "later").mkdir()  # so that there is something to deliver
        reported = far.run("status")
        assert "Notes: 1 document (1 done)" in reported.stdout and "not shipped yet" in reported.stdout
        found = far.status()
        assert found["documents"] == {"done": 1} and found["unshipped"]
    until(lambda: far.status()["unshipped"] == 0)


@pytest.mark.claim("WORK-6")
def test_why_no_worker_could_begin_is_told_by_those_who_miss_one(place: Place, tmp_path: Path) -> None:
    place.environment |= QUICK
    place.run("ingest", written(tmp_path, 1), "--ontology", "Notes", "--no-wait")
    (tmp_path / "no-folder").touch()
    without = {"KGFS_MODELS_EMBEDDER": "minilm-int8", "XDG_CACHE_HOME": str(tmp_path / "no-folder")}
    assert "kgfs: The quantised embedding model" in place.run("worker", env=without, expect=6).stderr
    assert "the last one ended before it could begin: " in place.run("status").stdout
    ended = "The last one ended before it could begin: "
    assert f"Start one: kgfs worker, or kgfs mount. {ended}" in place.run("search", "stupa").stderr
    assert f"Start one: kgfs worker, or kgfs mount. {ended}" in place.run("wait", "--timeout", "0.5", expect=9).stderr
    place.run("worker", "--until-idle")
    assert "quantised" not in place.run("status").stdout
    assert "Start one: kgfs worker" in place.run("search", "stupa").stderr
