"""A home whose vectors stand on a Qdrant server: the whole way, beside the same home with its own file; and while it is
away."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.stores.vectors.contract import Filter, Row
from scripts.servers import process, qdrant_wire
from tests.support.logs import AWAY
from tests.support.peers.fixtures import need_qdrant_wire
from tests.support.peers.losing import Losing
from tests.support.running import HEAR_ALL_SERVERS, LOOK_AGAIN_AT_ONCE, TRY_AGAIN_SOON, Place, until
from tests.support.texts import GARBAGE, ZEN

pytestmark = [pytest.mark.models, pytest.mark.slow]
UNREACHED = "Qdrant cannot be reached"
"""What is said where nobody listens."""


class Server:
    """One of its own, which can be ended and started again with its data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def start(self) -> Server:
        qdrant_wire.start(self.folder, process.ports_before(self.folder))
        return self

    def end(self) -> None:
        process.end(self.folder)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{process.ports_before(self.folder)[0]}"


@pytest.fixture(params=["qdrant-wire"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    need_qdrant_wire()
    found = Server(tmp_path / request.param).start()
    yield found
    found.end()


@pytest.fixture
def far(place: Place, server: Server) -> Place:
    place.environment |= {
        "KGFS_VECTORS_STORE": "qdrant",
        "KGFS_VECTORS_URL": server.url,
        "KGFS_VECTORS_PREFIX": f"test-{secrets.token_hex(4)}",
        "KGFS_VECTORS_TIMEOUT": "5",
    }
    return place


def embedder(place: Place) -> str:
    return str(place.status()["worker"]["note"]["embedder"])


def rows_of(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    with monkeypatch.context() as patch:
        for name, value in place.environment.items():
            patch.setenv(name, value)
        with open_home(load(place.home), vectors_of=embedder(place)) as stores:
            assert stores.vectors is not None
            return stores.vectors.fetch(Filter())


def texts_on(server: Server, place: Place) -> dict[tuple[str, int], tuple[object, ...]]:
    """What anybody finds by the alias: Source → its text, the hash of its document, and where it stands there."""
    from qdrant_client import QdrantClient

    with closing(QdrantClient(url=server.url, check_compatibility=False)) as client:
        points, _ = client.scroll(place.environment["KGFS_VECTORS_PREFIX"], limit=1000)
    found = [point.payload or {} for point in points]
    names = ("content", "content_hash", "total_chunks", "chunk_start_char", "chunk_end_char")
    return {
        (p["parent_document_id"], p["chunk_index"]): tuple(p.get(name) for name in names)
        for p in found
        if p["kind"] == "source"
    }


def texts_of_graph(home: Path) -> dict[tuple[str, int], tuple[object, ...]]:
    with open_home(load(home)) as stores:
        documents = [doc for each in stores.catalog.names.ontologies() for doc in stores.graph.documents(each.id)]
        rows = [(document, row) for document in documents for row in stores.graph.sources(document.doc_id)]
    return {
        (row.doc_id, row.chunk_index): (
            row.full_text,
            document.content_hash,
            document.chunk_count,
            row.char_start,
            row.char_end,
        )
        for document, row in rows
        if not row.gated
    }


def alike(one: list[Row], other: list[Row]) -> bool:
    """Ids of documents and concepts are of the home; everything else is the same."""

    def same(row: Row, its: Row) -> bool:
        told = (row.kind, row.window, row.chunk_index) == (its.kind, its.window, its.chunk_index)
        return told and np.allclose(row.vector, its.vector, rtol=0, atol=1e-5)

    left = list(range(len(other)))
    for row in one:
        pair = next((number for number in left if same(row, other[number])), None)
        if pair is None:
            return False
        left.remove(pair)
    return not left


@pytest.mark.claim("VEC-1")
@pytest.mark.mounted
@pytest.mark.logs(AWAY)
def test_a_wrong_port_is_told_of_by_mount_status_doctor_and_wait(place: Place) -> None:
    place.environment |= {"KGFS_VECTORS_STORE": "qdrant", "KGFS_VECTORS_URL": "http://127.0.0.1:1"}
    named = re.compile(r"http://127\.0\.0\.1:1: Qdrant cannot be reached \(.*refused.*\).* Check vectors\.url\.")
    assert named.search(place.run("mount", place.mountpoint, env=HEAR_ALL_SERVERS).stderr)
    (place.ontology("Notes") / "documents" / "zen.md").write_text(ZEN)
    until(lambda: named.search(place.run("status").stdout))
    assert re.search(rf"worker: .*{named.pattern}", place.run("doctor", expect=6).stdout)
    reported = place.run("wait", "--timeout", "1", expect=8).stderr.splitlines()
    assert reported[0].startswith("The worker waits: ") and named.search(reported[0]) and named.search(reported[-1])


@pytest.mark.claim("VEC-5")
def test_the_whole_way(far: Place, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near = Place(tmp_path / "near", tmp_path / "unused")
    files = {"zen.md": ZEN, "garbage.txt": GARBAGE}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for home in (far, near):
        home.run("ingest", *(tmp_path / name for name in files), "--ontology", "Notes")
    assert not (far.home / "vectors.sqlite").exists()
    kept = rows_of(far, monkeypatch)
    assert len(kept) > 5
    assert alike(kept, rows_of(near, monkeypatch))
    assert texts_on(server, far) == texts_of_graph(far.home) != {}

    far.run("rebuild", "--yes")
    assert alike(rows_of(far, monkeypatch), kept)
    assert texts_on(server, far) == texts_of_graph(far.home)
    far.run("check", "--deep")
    far.run("forget", "Notes/garbage.txt", "--yes")
    near.run("forget", "Notes/garbage.txt", "--yes")
    left = rows_of(far, monkeypatch)
    assert len(left) < len(kept)
    assert alike(left, rows_of(near, monkeypatch))
    far.run("forget", "Notes/zen.md", "--purge", "--yes")
    assert rows_of(far, monkeypatch) == []
    assert texts_on(server, far) == {}
    far.run("check")


@pytest.mark.claim("VEC-2")
@pytest.mark.mounted
@pytest.mark.logs(AWAY)
def test_while_the_server_is_away(far: Place, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    far.mount()
    documents = far.ontology("Notes") / "documents"
    (documents / "zen.md").write_text(ZEN)
    far.wait()
    asked = "exhausting the intellect"
    assert "meaning" in (documents.parent / "search" / asked / "results.md").read_text()
    before = rows_of(far, monkeypatch)

    server.end()
    assert (documents / "zen.md").read_text() == ZEN
    assert "koans.concept" in {path.name for path in (documents.parent / "concepts").iterdir()}
    assert "full text only" in far.run("search", "koans").stderr
    (documents / "garbage.txt").write_text(GARBAGE)
    assert (documents / "garbage.txt").read_text() == GARBAGE
    until(lambda: "Qdrant" in (far.mountpoint / ".kgfs/errors.ndjson").read_text())
    reported = far.run("forget", "Notes/zen.md", "--yes", expect=7).stderr
    assert UNREACHED in reported and "is noted all the same" in reported
    reported = far.run("wait", "--timeout", "3", expect=8).stderr
    assert "1 forgetting" in reported and UNREACHED in reported
    assert far.status()["documents"].get("failed", 0) == 0

    server.start()
    far.wait()
    until(lambda: not (documents.parent / "concepts/koans.concept").exists(), 60)
    until(lambda: {row.doc_id for row in rows_of(far, monkeypatch)} - {row.doc_id for row in before} - {""})
    assert not {row.doc_id for row in before} - {""} & {row.doc_id for row in rows_of(far, monkeypatch)}
    far.umount()
    far.run("check", "--deep")
    told = [line for line in (far.home / "log/errors.ndjson").read_text().splitlines() if "Qdrant" in line]
    assert len(told) < 10, "that it is away is said once, not each time it is asked"


@pytest.mark.claim("VEC-2")
@pytest.mark.logs(AWAY)
def test_one_run_ends_with_the_work_still_owed(far: Place, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    nowhere = {"KGFS_VECTORS_URL": "http://127.0.0.1:1", "KGFS_PIPELINE_MAX_ATTEMPTS": "1"}
    told = far.run("ingest", tmp_path / "zen.md", "--ontology", "Notes", expect=7, env=nowhere | TRY_AGAIN_SOON)
    assert UNREACHED in told.stderr
    status = far.status()
    assert status["owed"] == 1
    assert status["documents"].get("failed", 0) == 0
    far.run("worker", "--until-idle")
    assert far.status()["owed"] == 0


@pytest.mark.claim("VEC-5")
def test_rows_that_arrive_when_their_worker_is_killed_and_the_document_purged(
    far: Place, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is there any more to take them out again: a check finds them."""
    for name, text in (("zen.md", ZEN), ("garbage.txt", GARBAGE)):
        (tmp_path / name).write_text(text)
    far.run("ingest", tmp_path / "zen.md", "--ontology", "Notes")
    kept = rows_of(far, monkeypatch)
    with closing(Losing(process.ports_before(server.folder)[0])) as wire:
        slow = {"KGFS_VECTORS_URL": f"http://127.0.0.1:{wire.port}"}
        with wire.delaying(b"/points?wait=true HTTP"):
            with far.start("ingest", tmp_path / "garbage.txt", "--ontology", "Notes", env=slow) as reading:
                until(lambda: wire.late)
                os.killpg(reading.pid, signal.SIGKILL)
            far.run("forget", "Notes/garbage.txt", "--purge", "--yes")
            assert alike(rows_of(far, monkeypatch), kept)
        until(lambda: len(rows_of(far, monkeypatch)) > len(kept), 30)
    found = json.loads(far.run("check", "--json", expect=1).stdout)
    assert {(one["kind"], one["what"]) for one in found} == {
        ("stale vectors", "sources"),
        ("stale vectors", "concepts"),
    }
    far.run("check", "--repair", env=LOOK_AGAIN_AT_ONCE)
    assert alike(rows_of(far, monkeypatch), kept)
    assert texts_on(server, far) == texts_of_graph(far.home)
    far.run("check", env=LOOK_AGAIN_AT_ONCE)


@pytest.mark.claim("VEC-3")
def test_what_the_server_lost_is_derived_and_a_kill_resumed(
    far: Place, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    far.run("ingest", tmp_path / "zen.md", "--ontology", "Notes")
    kept = rows_of(far, monkeypatch)
    server.end()
    shutil.rmtree(server.folder / "data")
    server.start()
    far.run("worker", "--until-idle", expect=-9, env={"KGFS_FAIL_AT": "vectors-derived"})
    far.run("worker", "--until-idle")
    assert alike(rows_of(far, monkeypatch), kept)
    far.run("check")
