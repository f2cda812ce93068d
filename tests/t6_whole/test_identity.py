"""Identity, dedup and what is told about them, as a person at a shell meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.t5_mount.mounting import STATISTICS
from tests.t6_whole.conftest import ZEN
from tests.t6_whole.running import Place, one_line


@pytest.fixture
def bare(home: Path, tmp_path: Path) -> Place:
    """For verbs that need no mount."""
    return Place(home, tmp_path / "mnt", dict(STATISTICS))


@pytest.fixture
def zen(tmp_path: Path) -> Path:
    path = tmp_path / "zen.md"
    path.write_text(ZEN)
    return path


def told(place: Place, words: str | Path) -> dict[str, Any]:
    return dict(json.loads(place.run("status", words, "--json").stdout))


def ingest(place: Place, path: Path, *words: str) -> dict[str, Any]:
    return dict(json.loads(place.run("ingest", path, "--json", *words).stdout))


# ------------------------------------------------------------------------------------------- known bytes


def test_a_known_path_is_skipped_and_says_so_unless_forced(bare: Place, zen: Path) -> None:
    first = ingest(bare, zen, "--ontology", "A")
    again = ingest(bare, zen, "--ontology", "A")
    assert (again["decision"], again["doc_id"]) == ("skip", first["doc_id"])
    assert "--force" in again["reason"]
    assert bare.status()["owed"] == 0
    forced = ingest(bare, zen, "--ontology", "A", "--force", "--no-wait")
    assert (forced["decision"], forced["doc_id"]) == ("reprocess", first["doc_id"])
    page = told(bare, "A/zen.md")
    assert (page["state"], page["versions"], page["decision"]) == ("queued", 1, "reprocess")
    bare.run("worker", "--until-idle")
    assert told(bare, "A/zen.md")["state"] == "done"


# ------------------------------------------------------------------------------------------- kgfs status FILE


def test_status_tells_everything_about_a_file(bare: Place, zen: Path) -> None:
    doc_id = ingest(bare, zen, "--ontology", "A", "--as", "deep/z.md")["doc_id"]
    ingest(bare, zen, "--ontology", "A", "--as", "again.md")
    ingest(bare, zen, "--ontology", "B")
    first = told(bare, "A/deep/z.md")
    assert (first["state"], first["doc_id"], first["path"]) == ("done", doc_id, "documents/deep/z.md")
    assert first["paths"] == ["A/documents/deep/z.md", "A/documents/again.md", "B/documents/zen.md"]
    assert (first["version"], first["versions"]) == (1, 1)
    assert (first["decision"], first["reason"]) == ("insert", "new document")
    assert first["reading"]["extractor"].startswith("statistics")
    assert first["reading"]["ingest_version"] == 1
    assert first["jobs"] == []
    again = told(bare, "A/again.md")
    assert (again["decision"], again["reason"]) == ("alias", "another name for the same bytes")
    assert told(bare, first["key"])["sha256"] == told(bare, doc_id)["sha256"] == first["sha256"]
    plain = bare.run("status", "A/deep/z.md").stdout
    assert "state            done\n" in plain
    assert "paths            A/documents/deep/z.md\n                 A/documents/again.md\n" in plain


def test_status_tells_why_nothing_was_read(bare: Place, tmp_path: Path) -> None:
    (tmp_path / "junk.txt").write_bytes(bytes(range(256)))
    ingest(bare, tmp_path / "junk.txt", "--ontology", "A")
    junk = told(bare, "A/junk.txt")
    assert junk["state"] == "unsupported"
    assert junk["state_reason"]
    assert junk["reading"] is None
    (tmp_path / "late.txt").write_text("Read later.")
    ingest(bare, tmp_path / "late.txt", "--ontology", "A", "--no-wait")
    (job,) = told(bare, "A/late.txt")["jobs"]
    assert (job["kind"], job["state"], job["attempts"], job["not_before"]) == ("read", "queued", 0, None)


def test_status_of_what_is_no_file(bare: Place, zen: Path) -> None:
    ingest(bare, zen, "--ontology", "A")
    assert "ONTOLOGY/PATH" in one_line(bare.run("status", "A/nothing.md", expect=4).stderr)
    assert "is an ontology" in one_line(bare.run("status", "A", expect=3).stderr)


# ------------------------------------------------------------------------------------------- two at once


def test_two_processes_that_ingest_the_same_bytes_at_once_make_one_document(bare: Place, tmp_path: Path) -> None:
    """Under one path and under two, and each reads what is owed: one Document, one reading, the others are names."""
    text = "\n\n".join(f"{ZEN}\n\nParagraph {n} is about koans and meditation." for n in range(200))
    folders = [tmp_path / str(n) for n in range(4)]
    for n, folder in enumerate(folders):
        folder.mkdir()
        (folder / ("same.md" if n < 2 else f"other-{n}.md")).write_text(text)
    started = [bare.start("ingest", *folder.iterdir(), "--ontology", "A", "--json") for folder in folders]
    said = [process.communicate(timeout=80) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0], said
    decisions = sorted(json.loads(out)["decision"] for out, _ in said)
    assert decisions.count("insert") == 1
    assert set(decisions) <= {"insert", "skip", "in_progress", "alias"}
    assert len({json.loads(out)["doc_id"] for out, _ in said}) == 1
    status = bare.status()
    assert status["documents"] == {"done": 1}
    page = told(bare, "A/same.md")
    assert sorted(page["paths"]) == [f"A/documents/{name}.md" for name in ("other-2", "other-3", "same")]
    assert page["reading"]["records"]["reused"] == 0
    readings = list((bare.home / "garage" / "objects" / "readings").rglob("*.json"))
    assert len(readings) == 1
    packs = list((bare.home / "garage" / "objects" / "records").rglob("*.jsonl"))
    asked = sum(len(pack.read_text().splitlines()) for pack in packs)
    assert asked == page["reading"]["records"]["extracted"], "no Source was asked about twice"
