"""Identity, dedup and what is told about them, as a person at a shell meets it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kgfs.config import load
from kgfs.domain.documents import INGEST_VERSION
from kgfs.stores.garage.opening import open_garage
from tests.support.mounting import STATISTICS
from tests.support.peers.homes import lifecycle
from tests.support.running import Place, one_line
from tests.support.texts import ZEN

pytestmark = lifecycle


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
    assert first["reading"]["ingest_version"] == INGEST_VERSION
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
    reported = [process.communicate(timeout=80) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0], reported
    decisions = sorted(json.loads(out)["decision"] for out, _ in reported)
    assert decisions.count("insert") == 1
    assert set(decisions) <= {"insert", "skip", "in_progress", "alias"}
    assert len({json.loads(out)["doc_id"] for out, _ in reported}) == 1
    status = bare.status()
    assert status["documents"] == {"done": 1}
    page = told(bare, "A/same.md")
    assert sorted(page["paths"]) == [f"A/documents/{name}.md" for name in ("other-2", "other-3", "same")]
    assert page["reading"]["records"]["reused"] == 0
    with closing(open_garage(load(bare.home))) as garage:
        objects = garage.objects
        assert len(list(objects.keys("readings/"))) == 1
        asked = sum(len(objects.get(key).splitlines()) for key, _ in objects.keys("records/"))
    assert asked == page["reading"]["records"]["extracted"], "no Source was asked about twice"


# ------------------------------------------------------------------------------------------- history and diff

BEFORE = "Zen is a school of Buddhism.\nA koan is a riddle used in Zen practice.\nThe last line has no end."
AFTER = (
    "Zen is a school of Buddhism.\nA garbage collector is a program that reclaims memory.\nThe last line has no end."
)


@pytest.fixture(scope="module")
def edited(home_of_file: Path) -> Place:
    """A/a.txt with the contents BEFORE, AFTER, BEFORE again and junk. Nobody changes it."""
    path, bare = home_of_file.with_name("a.txt"), Place(home_of_file, home_of_file.with_name("mnt"), dict(STATISTICS))
    for content in (BEFORE.encode(), AFTER.encode(), BEFORE.encode(), bytes(range(256))):
        path.write_bytes(content)
        ingest(bare, path, "--ontology", "A")
    return bare


def test_history_lists_every_version(edited: Place) -> None:
    versions = json.loads(edited.run("history", "A/a.txt", "--json").stdout)
    assert [version["n"] for version in versions] == [1, 2, 3, 4]
    assert [version["decision"] for version in versions] == ["insert", "update", "revive", "update"]
    assert [version["current"] for version in versions] == [False, False, False, True]
    assert [version["size"] for version in versions] == [len(BEFORE), len(AFTER), len(BEFORE), 256]
    assert versions[0]["doc_id"] == versions[2]["doc_id"] != versions[1]["doc_id"]
    assert [version["state"] for version in versions] == ["stale", "kept", "stale", "unsupported"]
    lines = edited.run("history", "A/a.txt").stdout.splitlines()
    assert len(lines) == 4
    assert lines[3].startswith("*   4  ")
    assert lines[1].endswith("update: new bytes, version 2 of the path")


def test_diff_shows_words_and_concepts_also_of_what_left_the_graph(edited: Place) -> None:
    reported = json.loads(edited.run("diff", "A/a.txt", "1", "2", "--json").stdout)
    lines = reported["text"].splitlines()
    assert [line for line in lines if line[0] in "+-"][2:] == [
        "-A koan is a riddle used in Zen practice.",
        "+A garbage collector is a program that reclaims memory.",
    ]
    assert lines[-1] == "\\ No newline at end of file"
    assert any("koan" in name for name in reported["concepts"]["lost"])
    assert any("garbage" in name for name in reported["concepts"]["gained"])
    assert reported["concepts"]["kept"]
    back = json.loads(edited.run("diff", "A/a.txt", "2", "3", "--json").stdout)["concepts"]
    assert (back["gained"], back["lost"]) == (reported["concepts"]["lost"], reported["concepts"]["gained"])
    same = json.loads(edited.run("diff", "A/a.txt", "1", "3", "--json").stdout)
    assert (same["text"], same["concepts"]["gained"], same["concepts"]["lost"]) == ("", [], [])
    plain = edited.run("diff", "A/a.txt", "1", "2").stdout
    assert plain.startswith("--- documents/a.txt@1\t")
    assert "- concept " in plain and "+ concept " in plain


def test_diff_with_what_has_no_text_says_why(edited: Place) -> None:
    reported = edited.run("diff", "A/a.txt", "3", "4")
    assert "no diff of the texts: version 4" in reported.stderr
    assert "version 4 was not read" in reported.stderr
    assert reported.stdout == "", "what nobody knows is neither gained nor lost"
    as_json = json.loads(edited.run("diff", "A/a.txt", "3", "4", "--json").stdout)
    assert (as_json["text"], as_json["unread"]) == (None, [4])
    assert as_json["concepts"] == {"gained": [], "lost": [], "kept": []}
    assert "has no version 9; it has 1, 2, 3, 4" in one_line(edited.run("diff", "A/a.txt", "1", "9", expect=4).stderr)
    assert "is an ontology" in one_line(edited.run("history", "A", expect=3).stderr)
