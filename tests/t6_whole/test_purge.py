"""After a purge no word of the documents is left under the home, or in its bucket: a search of every byte there."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.config import load
from tests.support.knowledge_of import knowledge_of
from tests.support.mounting import catalog_of
from tests.support.peers.homes import SERVERS, anywhere, lifecycle
from tests.support.running import LET_GO_SOON, Place, until
from tests.support.traces import told, traces

pytestmark = lifecycle

FILLER = "Zen practice uses koans to exhaust the mind. Direct experience comes before words.\n\n"


@pytest.fixture
def small(place: Place) -> Place:
    """Without models."""
    place.environment |= {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}
    return place


def ingest(place: Place, tmp_path: Path, path: str, content: bytes, *more: str) -> None:
    source = tmp_path / "source"
    source.write_bytes(content)
    place.run("ingest", source, "--ontology", "Notes", "--as", path, *more)


@pytest.mark.claim("GONE-6")
def test_no_byte_is_left_of_what_was_purged(small: Place, tmp_path: Path) -> None:
    small.environment["KGFS_MODELS_EMBEDDER"] = "auto"  # vectors too, where there is a model
    markers = ["quxascii", "quxwide", "quxlarge", "quxfirst", "quxsecond", "quxrenamed", "quxtrashed", "quxdouble"]
    for path, content in {
        "ascii.txt": told("quxascii").encode(),
        "wide.txt": told("quxwide").encode("utf-16"),
        "large.md": (told("quxlarge") + FILLER * 900 + told("quxlarge")).encode(),
        "names.md": told("quxdouble").encode(),
        "other/names.md": told("quxdouble").encode(),
        "old.md": told("quxrenamed").encode(),
        "gone.md": told("quxtrashed").encode(),
        "kept.md": told("stays").encode(),
    }.items():
        ingest(small, tmp_path, path, content, "--no-wait")
    for content in (told("quxfirst"), told("quxsecond"), told("quxascii").replace("koan", "riddle")):
        ingest(small, tmp_path, "edited.md", content.encode())
    known = json.loads(small.run("forget", "Notes/gone.md", "--dry-run", "--json").stdout)["documents"][0]["doc_id"]
    small.run("forget", "Notes/gone.md", "--yes")
    assert {marker for _, marker in traces(small.home, *markers)} == set(markers)

    paths = ["ascii.txt", "wide.txt", "large.md", "edited.md", "names.md", "old.md"]
    planned = small.run("forget", *(f"Notes/{path}" for path in paths), known, "--purge", "--dry-run").stdout
    assert "Notes/documents/other/names.md" in planned
    assert "formerly gone.md" in planned
    small.run("forget", *(f"Notes/{path}" for path in paths), known, "--purge", "--yes")

    assert traces(small.home, *markers) == []
    with closing(sqlite3.connect(small.home / "graph.sqlite")) as graph:
        earlier = {doc_id for (doc_id,) in graph.execute("SELECT doc_id FROM earlier_text")}
        assert earlier <= {doc_id for (doc_id,) in graph.execute("SELECT doc_id FROM document WHERE state = 1")}
    assert small.status()["ontologies"][0]["documents"] == {"done": 1}
    assert traces(small.home, "stays")

    before = small.status()["ontologies"]
    small.run("rebuild", "--yes")
    assert small.status()["ontologies"] == before
    assert traces(small.home, *markers) == []
    small.run("check", "--deep")


@pytest.mark.claim("GONE-6")
def test_what_other_documents_need_is_not_purged(small: Place, tmp_path: Path) -> None:
    """The same bytes in another ontology, and a path that had the bytes once and has others now."""
    shared = "\n\n## Practice\n\n" + FILLER * 60
    ingest(small, tmp_path, "a.md", (told("quxshared") + shared).encode())
    small.run("ingest", tmp_path / "source", "--ontology", "Other", "--as", "a.md")
    ingest(small, tmp_path, "b.md", (told("quxshared") + shared).encode())
    ingest(small, tmp_path, "b.md", (told("newer") + shared).encode())
    small.run("forget", "Notes/a.md", "--purge", "--yes")
    small.run("check", "--deep")
    states = {o["name"]: o["documents"] for o in small.status()["ontologies"]}
    assert states == {"Notes": {"done": 1}, "Other": {"done": 1}}
    left = {file for file, _ in traces(small.home, "quxshared")}
    assert not [file for file in left if "sources/Notes" in file]
    assert [file for file in left if "sources/Other" in file]
    small.run("rebuild", "--yes")
    assert {o["name"]: o["documents"] for o in small.status()["ontologies"]} == states


@pytest.mark.files("path")
def test_what_killed_processes_left_is_purged_too(small: Place, tmp_path: Path) -> None:
    ingest(small, tmp_path, "a.md", told("quxleft").encode())
    [staging] = [path for path in (small.home / "garage" / "objects").iterdir() if path.name.startswith((".", "@"))]
    (staging / "0123456789abcdef").write_text(told("quxleft"))
    (small.home / "spool" / "deadbeef-0123456789abcdef").write_text(told("quxleft"))
    (small.home / "graph.sqlite.new").write_text(told("quxleft"))
    log = small.home / "log" / "errors.ndjson"
    log.parent.mkdir(exist_ok=True)
    doc_id = json.loads(small.run("forget", "Notes/a.md", "--dry-run", "--json").stdout)["documents"][0]["doc_id"]
    log.write_text(json.dumps({"message": "The quxleft abbot", "doc_id": doc_id}) + '\n{"message": "other"}\n')
    for name, about in (("worker.log", f"{doc_id}: unexpected failure"), ("mount.log", "read: unexpected error")):
        (log.parent / name).write_text(
            f"2026-11-23 00:00:00,000 ERROR kgfs {about}\n\tTraceback (most recent call last):\n"
            "\tValueError: The quxleft abbot\n"
        )
    small.run("forget", "Notes/a.md", "--purge", "--yes")
    assert traces(small.home, "quxleft") == []
    assert (log.parent / "worker.log").read_bytes() == b""
    (log.parent / "mount.log").unlink()
    assert log.read_text() == '{"message": "other"}\n'
    log.unlink()


@anywhere
@pytest.mark.claim("GONE-6")
def test_what_a_killed_worker_had_staged_is_purged_too(small: Place, tmp_path: Path) -> None:
    """Nobody was shown it, and no worker came before the verb to drop it."""
    ingest(small, tmp_path, "kept.md", told("stays").encode())
    small.environment |= LET_GO_SOON | {"KGFS_FAIL_AT": "staged"}
    with pytest.raises(AssertionError, match="exited with -9"):
        ingest(small, tmp_path, "a.md", told("quxstaged").encode())
    del small.environment["KGFS_FAIL_AT"]
    doc_id = json.loads(small.run("forget", "Notes/a.md", "--dry-run", "--json").stdout)["documents"][0]["doc_id"]
    assert sources_in_graph(small.home, doc_id)
    small.run("forget", "Notes/a.md", "--purge", "--yes")
    assert sources_in_graph(small.home, doc_id) == 0
    assert traces(small.home, "quxstaged") == []
    assert small.status()["ontologies"][0]["documents"] == {"done": 1}
    small.run("check", "--deep")


def sources_in_graph(home: Path, doc_id: str) -> int:
    """Whoever sees them."""
    question = "SELECT count(*) FROM source JOIN document ON document.key = source.document WHERE doc_id = ?"
    with closing(sqlite3.connect(load(home).graph_db)) as connection:
        return int(connection.execute(question, (doc_id,)).fetchone()[0])


@pytest.mark.claim("GONE-9")
def test_no_byte_is_left_of_a_name_that_others_joined(small: Place, tmp_path: Path) -> None:
    ingest(small, tmp_path, "a.md", told("quxname").encode())
    ingest(small, tmp_path, "kept.md", told("stays").encode())
    small.run("concept", "merge", "Notes", "quxname-monastery", "stays-monastery", "--yes")
    small.run("forget", "Notes/a.md", "--purge", "--yes")
    assert traces(small.home, "quxname") == []
    small.run("rebuild", "--yes")
    assert traces(small.home, "quxname") == []
    small.run("check", "--deep")


def test_a_purge_keeps_no_knowledge(small: Place, tmp_path: Path) -> None:
    ingest(small, tmp_path, "a.md", told("quxa").encode())
    done = small.run("forget", "Notes/a.md", "--purge", "--cascade", "none", "--yes", expect=3)
    assert "choose one" in done.stderr


@pytest.mark.parametrize("border", ["forgetting-owed", "survivors-named", "erased", "scrubbed"])
@pytest.mark.claim("GONE-7")
def test_killed_anywhere_a_purge_is_finished_by_the_next_worker(small: Place, tmp_path: Path, border: str) -> None:
    ingest(small, tmp_path, "a.md", told("quxkill").encode())
    ingest(small, tmp_path, "b.md", told("quxkill").replace("abbot", "monk").encode())
    ingest(small, tmp_path, "kept.md", told("stays").encode())
    small.run("concept", "merge", "Notes", "quxkill-monastery", "stays-monastery", "--yes")
    assert any("objects/sources/Notes" in name for name, _ in traces(small.home, "quxkill"))
    killing = LET_GO_SOON | {"KGFS_FAIL_AT": border}
    small.run("forget", "Notes/a.md", "Notes/b.md", "--purge", "--yes", expect=-signal.SIGKILL, env=killing)
    worker = small.start("worker")
    try:
        until(lambda: not owed(small) and traces(small.home, "quxkill") == [], 240)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=30)
    assert small.status()["ontologies"][0]["documents"] == {"done": 1}
    before = small.status()["ontologies"]
    small.run("rebuild", "--yes")
    assert small.status()["ontologies"] == before


@pytest.mark.peers(SERVERS)
@pytest.mark.claim("GONE-7")
def test_killed_on_servers_a_purge_is_finished_by_the_next_worker(small: Place, tmp_path: Path) -> None:
    test_killed_anywhere_a_purge_is_finished_by_the_next_worker(small, tmp_path, "survivors-planned")


@pytest.mark.parametrize("border", ["published", "indexed"])
@pytest.mark.claim("GONE-7")
def test_a_purge_that_waits_for_the_note_of_a_killed_worker_is_finished_by_the_next(
    small: Place, tmp_path: Path, border: str
) -> None:
    """Of a document that speaks of what only the purged one had named, the graph knows and the catalog does not yet."""
    ingest(small, tmp_path, "a.md", told("quxnote").encode())
    ingest(small, tmp_path, "kept.md", told("stays").encode())
    small.run("concept", "merge", "Notes", "quxnote-monastery", "stays-monastery", "--yes")
    small.environment |= LET_GO_SOON | {"KGFS_FAIL_AT": border}
    with pytest.raises(AssertionError, match="exited with -9"):
        ingest(small, tmp_path, "b.md", told("stays").replace("abbot", "monk").encode())
    del small.environment["KGFS_FAIL_AT"]
    small.run("forget", "Notes/a.md", "--purge", "--yes", expect=5)
    assert owed(small)
    small.run("worker", "--until-idle")
    assert not owed(small)
    assert traces(small.home, "quxnote") == []
    assert small.status()["ontologies"][0]["documents"] == {"done": 2}
    before = knowledge_of(small.home)
    assert any(name.startswith("stays-monastery~") for name in before["Notes"]["concepts"])
    small.run("rebuild", "--yes")
    assert knowledge_of(small.home) == before
    assert traces(small.home, "quxnote") == []
    small.run("check", "--deep")


def owed(place: Place) -> bool:
    with catalog_of(place) as catalog:
        return bool(catalog.names.forgettings())


@pytest.mark.mounted
@pytest.mark.claim("GONE-8")
def test_a_living_mount_shows_nothing_of_it_any_more(small: Place) -> None:
    small.mount()
    documents = small.ontology("Notes") / "documents"
    (documents / "a.md").write_text(told("quxlive"))
    (documents / "small.md").write_text("The quxtiny abbot.\n")
    (documents / "kept.md").write_text(told("stays"))
    small.wait()
    concepts = small.mountpoint / "Notes" / "concepts"
    pages = list(concepts.glob("*quxlive*.concept/evidence/*/source.txt"))
    assert pages
    held = pages[0].open("rb")
    assert b"quxlive" in held.read().lower()
    archive = pages[0].parent.parent.parent.parent.parent / "archive"
    small.run("forget", documents / "a.md", documents / "small.md", "--purge", "--yes")
    until(lambda: not list(concepts.glob("*quxlive*")))
    assert not (documents / "a.md").exists()
    with pytest.raises(OSError):
        pages[0].read_bytes()
    held.close()
    seen = subprocess.run(["grep", "-rlis", "quxlive", small.mountpoint / "Notes"], capture_output=True, text=True)
    assert seen.stdout == ""
    assert len(os.listdir(archive)) == 1
    until(lambda: traces(small.home, "quxlive", "quxtiny") == [], 30)
    # The worker that gave way is back at work.
    (documents / "later.md").write_text(told("later"))
    small.wait()
    assert list(concepts.glob("*later*"))
