"""A mount of a home on servers answers from what is on this machine: neither their clients nor they are waited for."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.app.binding import NOTE, bind
from kgfs.app.home import make_home, open_home, open_to_read
from kgfs.config import load
from kgfs.domain.identity import new_id
from kgfs.errors import BadInputError
from kgfs.stores.catalog.facts import OntologyMade
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.s3.owner import NOTE as NOTE_OF_OWNER
from kgfs.stores.garage.s3.owner import machine
from kgfs.stores.graph.sqlite import Graph
from tests.support.logs import AWAY
from tests.support.outages import cached_bytes, read_anew
from tests.support.peers.buckets import Server, started
from tests.support.running import QUICK, ROOT, Place, one_line, until
from tests.support.texts import ZEN

NOBODY = "127.0.0.1:9"
"""Where nothing listens."""
LOADED = """
import sys
from kgfs.app.home import open_to_read
import kgfs.app.mounting
from kgfs.config import load

with open_to_read(load()) as stores:
    print(stores.graph.epoch(), sorted({"minio", "neo4j", "urllib3"} & {*sys.modules}))
"""


@pytest.fixture
def far(place: Place) -> Place:
    """A home that was mounted before, whose servers nobody reaches."""
    for name in ("access_key", "secret_key"):
        (place.home / name).write_text("quxsecret")
    (place.home / "config.toml").write_text(
        f'[garage]\nstore = "s3"\nendpoint = "http://{NOBODY}"\nbucket = "kgfs"\ntimeout = 1\n'
        f'access_key_file = "{place.home / "access_key"}"\nsecret_key_file = "{place.home / "secret_key"}"\n'
    )
    config = load(place.home)
    config.run.mkdir()
    show_epoch(place, 7)
    with closing(Catalog(config.catalog_db)) as catalog:
        catalog.record(
            OntologyMade("0" * 16, "Notes", "Notes", new_id(), 0o700, os.getuid(), os.getgid(), time.time_ns())
        )
    place.environment |= QUICK
    noted = {"home": "0" * 16, "machine": machine(), "inode": place.home.stat().st_ino}
    (place.home / NOTE_OF_OWNER).write_text(json.dumps({**noted, "generation": 1, "fenced": True, "lost_to": None}))
    return place


def show_epoch(place: Place, epoch: int) -> None:
    with closing(Graph(load(place.home).graph_db)) as graph, graph._database.write(durable=True) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (epoch,))


@pytest.mark.claim("AWAY-7")
def test_no_client_is_loaded_to_open_a_home_that_was_mounted_before(far: Place) -> None:
    environment = {**os.environ, "KGFS_HOME": str(far.home)}
    words = [sys.executable, "-c", LOADED]
    told = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.split() == ["7", "[]"]


@pytest.mark.mounted
@pytest.mark.logs(AWAY)
@pytest.mark.claim("AWAY-2", "AWAY-7")
@pytest.mark.parametrize("epoch", [7, 0])
def test_a_mount_answers_while_no_server_does(far: Place, epoch: int) -> None:
    show_epoch(far, epoch)
    far.mount("--no-worker")
    written = far.mountpoint / "Notes" / "documents" / "zen.txt"
    written.write_text("A koan is a riddle.\n")
    assert written.read_text() == "A koan is a riddle.\n"
    errors = far.mountpoint / ".kgfs" / "errors.ndjson"
    until(lambda: '"where": "opening"' in errors.read_text())
    assert "quxsecret" not in errors.read_text()


@pytest.mark.claim("AWAY-7")
@pytest.mark.parametrize(
    ("setting", "word", "named"),
    [
        ("KGFS_GARAGE_ENDPOINT", f"ftp://{NOBODY}", "garage.endpoint"),
        ("KGFS_GARAGE_BUCKET", "Bad Name", "garage.bucket"),
        ("KGFS_GARAGE_CA_FILE", "/none.pem", "garage.ca_file"),
    ],
)
def test_what_cannot_be_is_refused_at_once(far: Place, setting: str, word: str, named: str) -> None:
    with pytest.raises(BadInputError, match=named), open_to_read(load(far.home, environ={setting: word})):
        pass


@pytest.mark.parametrize("words", [("search", "koan"), ("mount", "mnt", "--no-worker"), ("check", "--repair")])
def test_a_home_shows_no_other_place_than_its_own(far: Place, words: tuple[str, ...]) -> None:
    make_home(load(far.home))
    bind(load(far.home))
    theirs = {"KGFS_GARAGE_PREFIX": "theirs"}
    reported = far.run(*(far.mountpoint if word == "mnt" else word for word in words), env=theirs, expect=3)
    assert "garage.prefix of this home is" in one_line(reported.stderr) and "kgfs migrate" in reported.stderr


@pytest.mark.mounted
@pytest.mark.logs("is in use by a process")
@pytest.mark.claim("AWAY-7")
def test_a_mount_of_a_home_that_is_not_bound_yet_takes_no_other_ledger_for_its_own(
    place: Place, seaweedfs: Server
) -> None:
    on_bucket(place, seaweedfs)
    place.run("ingest", place.home / "zen.txt", "--ontology", "Notes", "--no-wait")
    note = load(place.home).run / NOTE
    bound = note.read_text()
    note.unlink()
    place.run("mount", place.mountpoint, "--no-worker", env={"KGFS_GARAGE_PREFIX": "theirs"}, expect=None)
    until(lambda: not os.path.ismount(place.mountpoint))
    log = place.home / "log" / "mount.log"
    until(lambda: "not in the ledger there" in log.read_text())
    assert not note.exists()
    place.mount("--no-worker")
    until(note.exists)
    assert note.read_text() == bound


def on_bucket(place: Place, seaweedfs: Server) -> None:
    server = seaweedfs.place
    (place.home / "config.toml").write_text(
        f'[garage]\nstore = "s3"\nendpoint = "{server.endpoint}"\nprefix = "{server.prefix}"\ntimeout = 5\n'
        f'access_key_file = "{server.access_key_file}"\nsecret_key_file = "{server.secret_key_file}"\n'
    )
    place.environment |= QUICK
    (place.home / "zen.txt").write_text("A koan is a riddle.\n")


@pytest.mark.mounted
@pytest.mark.logs("older copy", "is in use by a process")
@pytest.mark.claim("AWAY-7")
def test_a_mount_of_names_that_are_an_older_copy_ends(place: Place, seaweedfs: Server) -> None:
    """Told by the ledger, once it was asked: what is written to such a home could never be delivered, so nothing is, and
    nothing is swept away that only the newer names speak of."""
    on_bucket(place, seaweedfs)
    front, kept = place.home / "front.sqlite", place.home / "kept.sqlite"
    place.run("ingest", place.home / "zen.txt", "--ontology", "Notes")
    with closing(sqlite3.connect(front)) as source, closing(sqlite3.connect(kept)) as target:
        source.backup(target)
    (place.home / "garbage.txt").write_text("A collector reclaims memory.\n")
    place.run("ingest", place.home / "garbage.txt", "--ontology", "Notes")
    for path in place.home.glob("front.sqlite-*"):
        path.unlink()
    shutil.copy(kept, front)
    undelivered = place.home / "spool" / f"{'0' * 12}-1"
    undelivered.write_text("Bytes of a file that only the newer names know.\n")
    place.run("mount", place.mountpoint, "--no-worker", expect=None)
    for number in range(20):  # would be more facts than the ledger is ahead
        with pytest.raises(OSError):
            (place.mountpoint / "Notes" / "documents" / f"{number}.txt").write_text("A torii is a gate.\n")
    until(lambda: not os.path.ismount(place.mountpoint))
    assert undelivered.exists()
    log = place.home / "log" / "mount.log"
    until(lambda: "older copy" in log.read_text())


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Server]:
    """A bucket's server of its own: others are not to notice that it goes."""
    yield from started("seaweedfs", tmp_path / "seaweedfs")


def lose_graph(place: Place) -> None:
    for path in place.home.glob("graph.sqlite*"):
        path.unlink()


def epoch_of(place: Place) -> int:
    with open_home(load(place.home)) as stores:
        return stores.graph.epoch()


@pytest.mark.mounted
@pytest.mark.logs(AWAY)
@pytest.mark.claim("AWAY-2", "AWAY-3", "AWAY-7")
def test_a_home_of_which_nothing_was_read_is_mounted_while_the_bucket_is_away(place: Place, bucket: Server) -> None:
    on_bucket(place, bucket)
    place.mount("--no-worker")
    documents = place.ontology("Notes") / "documents"
    (documents / "zen.md").write_text(ZEN)
    until(lambda: not place.status()["unsettled"])
    assert read_anew(documents / "zen.md") == ZEN.encode()
    until(lambda: cached_bytes(place.home) >= len(ZEN))
    place.kill()
    bucket.end()

    place.mount("--no-worker")
    assert (documents / "zen.md").read_text() == ZEN
    (documents / "torii.txt").write_text("A torii is a gate.\n")
    place.umount()
    assert place.run("search", "koan").returncode == 0
    place.mount()
    assert sorted(os.listdir(documents)) == ["torii.txt", "zen.md"]
    bucket.start()
    place.wait()
    concepts = os.listdir(documents.parent / "concepts")
    assert any("koan" in name for name in concepts) and any("torii" in name for name in concepts)
    place.umount()
    assert "0 findings" in place.run("check", "--deep").stderr


@pytest.mark.mounted
@pytest.mark.logs(AWAY)
@pytest.mark.claim("AWAY-7")
def test_a_graph_that_was_lost_is_not_taken_for_an_empty_one(place: Place, bucket: Server) -> None:
    on_bucket(place, bucket)
    place.run("ingest", place.home / "zen.txt", "--ontology", "Notes")
    shown = epoch_of(place)
    lose_graph(place)
    bucket.end()
    assert "cannot be reached" in place.run("mount", place.mountpoint, "--no-worker", expect=7).stderr
    assert "Run kgfs mount MNT" in place.run("search", "koan", expect=4).stderr
    bucket.start()
    place.mount("--no-worker")
    assert any("koan" in name for name in os.listdir(place.mountpoint / "Notes" / "concepts"))
    assert 0 < epoch_of(place) <= shown  # the text alone was an epoch of its own

    place.run("forget", place.mountpoint / "Notes" / "documents" / "zen.txt", "--purge", "--yes")
    place.umount()
    lose_graph(place)
    bucket.end()
    place.mount("--no-worker")  # there is nothing to be shown
    assert not os.listdir(place.mountpoint / "Notes" / "concepts")
    bucket.start()
    assert epoch_of(place) > 0, "names and numbers of what was purged are given to nothing else"
