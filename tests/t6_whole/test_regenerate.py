"""Reading again as a person asks for it: by the command line, killed and repeated, and through the garage's view."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.domain.documents import INGEST_VERSION, INGEST_VERSIONS, State
from kgfs.stores.catalog.facts import DocumentFailed
from tests.support import starting
from tests.support.knowledge_of import knowledge_of
from tests.support.peers.homes import lifecycle
from tests.support.running import KGFS, LET_GO_SOON, OTHER_HASHES, PATIENCE, QUICK, Place, shell

pytestmark = lifecycle

DOCUMENTS = {
    "zen.md": "# Zen\n\nZen is a school of Buddhism that stresses direct experience. A koan is a riddle of Zen practice.\n",
    "memory.txt": "A garbage collector is a program that reclaims memory. Reference counting is a form of garbage "
    "collection. The garbage collector uses a tracing algorithm.\n",
    "cycle.txt": "Reference counting cannot reclaim a reference cycle. A tracing algorithm requires a root set.\n",
    "photo.bin": "\x00\x01\x02",
}


def kgfs(home: Path, *words: str | Path, expect: int = 0, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
    environment = {**os.environ, "KGFS_HOME": str(home), **QUICK, **(env or {})}
    if stdin:
        command = [*KGFS, *map(str, words)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, input=stdin, check=False)
    else:
        done = starting.run(words, environment, PATIENCE)
    assert done.returncode == expect, f"kgfs {words} exited with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if expect in (0, -9) else done.stderr


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> Path:
    for name, content in DOCUMENTS.items():
        (tmp_path / name).write_text(content)
    kgfs(home, "ingest", *(tmp_path / name for name in DOCUMENTS), "--ontology", "Test")
    return home


def lines(printed: str) -> dict[str, tuple[str, str]]:
    """Path → (decision, reason) as ``kgfs ingest`` prints them."""
    found = [line.split("\t") for line in printed.splitlines()]
    return {path: (decision, reason) for path, _, decision, reason in found}


def test_a_plan_is_printed_and_nothing_is_done_until_it_is_agreed_to(filled: Path) -> None:
    plan = json.loads(kgfs(filled, "regenerate", "Test", "--strategy", "random", "--dry-run", "--json"))
    assert {key: plan[key] for key in ("ontology", "strategy", "extractor", "documents", "unread", "cost")} == {
        "ontology": "Test",
        "strategy": "random",
        "extractor": "statistics/1",
        "documents": 3,
        "unread": 0,
        "cost": 0.0,
    }
    assert plan["chunks"] == plan["reusable_chunks"] == 3
    reported = kgfs(filled, "regenerate", "Test", "--dry-run")
    assert "documents  3" in reported and "no extractor is asked" in reported
    assert "Aborted" in kgfs(filled, "regenerate", "Test", stdin="n\n", expect=1)
    assert "3 documents compared" not in kgfs(filled, "regenerate", "--compare", "Test")
    kgfs(filled, "regenerate", "Test", stdin="y\n")
    assert "3 documents compared" in kgfs(filled, "regenerate", "--compare", "Test")


def test_another_extractor_reads_and_the_comparison_tells_what_it_changed(filled: Path) -> None:
    before = knowledge_of(filled)
    extractor = {"KGFS_MODELS_EXTRACTOR": "auto"}
    kgfs(filled, "regenerate", "Test", "--extractor", "statistics", "--yes", env=extractor)
    assert knowledge_of(filled) == before
    again = {"KGFS_PIPELINE_CONCEPTS_PER_DOCUMENT": "2"}
    kgfs(filled, "regenerate", "Test", "--strategy", "popularity", "--yes", env=again)
    after = knowledge_of(filled)
    found = json.loads(kgfs(filled, "regenerate", "--compare", "Test", "--json"))
    assert (found["compared"], found["uncompared"]) == (3, 0)
    assert (found["before"], found["now"]) == (["statistics/1, hybrid"], ["statistics/1, popularity"])
    gone = before["Test"]["concepts"].keys() - after["Test"]["concepts"].keys()
    assert gone
    assert {named["name"] for named in found["whole"]["lost"]} == gone
    assert found["whole"]["gained"] == []
    assert set(found["documents"]) == {"zen.md", "memory.txt", "cycle.txt"}
    printed = kgfs(filled, "regenerate", "--compare", "Test")
    assert all(f"\n- {name}\t" in printed for name in gone)


BORDERS = [
    *("owed:1", "parsed:2", "chunked:1", "gated:3", "validated:1", "reading-kept:2", "decided:1", "staged:2"),
    *("published:2", "indexed:3", "noted:1"),
]


@pytest.mark.slow
@pytest.mark.parametrize("border", BORDERS)
def test_killed_it_goes_on_where_it_was_and_ends_as_if_undisturbed(filled: Path, border: str) -> None:
    undisturbed = knowledge_of(filled)
    words = ("regenerate", "Test", "--strategy", "random", "--yes")
    kgfs(filled, *words, expect=-9, env=LET_GO_SOON | {"KGFS_FAIL_AT": border})
    kgfs(filled, "worker", "--until-idle")
    assert knowledge_of(filled) == undisturbed
    compared = json.loads(kgfs(filled, "regenerate", "--compare", "Test", "--json"))
    assert compared["compared"] == 3
    assert compared["now"] == ["statistics/1, random"]
    kgfs(filled, "rebuild", "--yes")
    assert knowledge_of(filled) == undisturbed


def kill_and_order_again(home: Path, border: str, *words: str) -> None:
    """A person does not know that a worker would go on by itself."""
    kgfs(home, *words, expect=-9, env=LET_GO_SOON | {"KGFS_FAIL_AT": border})
    kgfs(home, *words)


@pytest.mark.slow
@pytest.mark.parametrize(
    "border",
    [
        "owed:1",
        "published:1",
        "noted:2",
    ],
)
def test_killed_and_ordered_once_more_it_ends_the_same(filled: Path, border: str) -> None:
    undisturbed = knowledge_of(filled)
    kill_and_order_again(filled, border, "regenerate", "Test", "--strategy", "popularity", "--yes")
    assert knowledge_of(filled) == undisturbed
    kgfs(filled, "check", "--deep")
    kgfs(filled, "rebuild", "--yes", env=OTHER_HASHES)
    assert knowledge_of(filled) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("border", ["owed:1", "decided:1", "noted:1"])
def test_a_reprocess_that_was_killed_is_ordered_once_more(filled: Path, border: str) -> None:
    """Of documents that could not be read: here because what had been read of them was lost before."""
    undisturbed = knowledge_of(filled)
    with open_home(load(filled)) as stores:
        [test] = stores.catalog.names.ontologies()
        known = [document for document in stores.catalog.names.documents(test.id) if document.state is State.DONE]
        for document in known:
            stores.catalog.record(DocumentFailed(document.doc_id, "failed", "by the test", time.time_ns()))
    kill_and_order_again(filled, border, "reprocess", "--failed", "--yes")
    kgfs(filled, "worker", "--until-idle")
    assert knowledge_of(filled) == undisturbed
    kgfs(filled, "check", "--deep")


@pytest.mark.files("path")
def test_known_documents_are_read_again_only_when_that_is_asked_for(filled: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in DOCUMENTS]
    skipped = lines(kgfs(filled, "ingest", *files, "--ontology", "Test"))
    assert {decision for decision, _ in skipped.values()} == {"skip"}
    kept = [path for path in (filled / "garage/objects/sources").rglob("*") if path.suffix in (".md", ".txt")]
    known = lines(kgfs(filled, "ingest", *kept))
    assert known == dict.fromkeys(
        ["zen.md", "memory.txt", "cycle.txt"], ("skip", "known already; --force or --strategy reads it again")
    )
    again = lines(kgfs(filled, "ingest", "--strategy", "popularity", *kept))
    assert {decision for decision, _ in again.values()} == {"reprocess"}
    compared = json.loads(kgfs(filled, "regenerate", "--compare", "Test", "--json"))
    assert (compared["compared"], compared["now"]) == (3, ["statistics/1, popularity"])
    assert "is no document of this home. Say with --ontology" in kgfs(filled, "ingest", files[0], expect=3)
    assert "--as names a place in an ontology" in kgfs(filled, "ingest", kept[0], "--as", "x", expect=3)
    new = tmp_path / "new.txt"
    new.write_text("Tracing collectors find cycles. A tracing collector visits every object.")
    kgfs(filled, "ingest", new, "--ontology", "Test", "--strategy", "random")
    page = json.loads(kgfs(filled, "status", "Test/new.txt", "--json"))
    assert page["state"] == "done"


def test_reprocess_shows_the_history_of_versions_and_reads_what_failed(filled: Path) -> None:
    printed = kgfs(filled, "reprocess", "--dry-run")
    assert printed.startswith("Nothing would be read again.\nversion 1: The first")
    assert f"\nversion {INGEST_VERSION}, current: " in printed
    shown: dict[str, Any] = json.loads(kgfs(filled, "reprocess", "Test", "--dry-run", "--json"))
    assert shown["documents"] == []
    assert [version["version"] for version in shown["versions"]] == sorted(INGEST_VERSIONS)
    assert "There is no ontology 'None'" in kgfs(filled, "reprocess", "None", expect=4)
    assert "no ingest version 99" in kgfs(filled, "reprocess", "--target-version", "99", expect=3)
    assert kgfs(filled, "reprocess", "--failed", "--yes") == ""
    assert "Give one of them" in kgfs(filled, "reprocess", "--failed", "--target-version", "1", expect=3)
    assert "There is no ontology 'None'; there is: Test" in kgfs(filled, "regenerate", "None", expect=4)


@pytest.mark.mounted
def test_what_find_finds_in_the_view_of_the_garage_is_read_again(place: Place, tmp_path: Path) -> None:
    view = tmp_path / "garage-view"
    view.mkdir()
    place.environment |= QUICK
    place.mount()
    documents = place.ontology("Philosophy") / "documents"
    for name, content in DOCUMENTS.items():
        (documents / name).write_text(content)
    place.wait()
    (documents / "zen.md").write_text(DOCUMENTS["zen.md"] + "\nZen practice uses koans.\n")
    place.wait()
    place.run("mount", "--view", "garage", view)
    try:
        found = shell("find", view / "sources/Philosophy", "-name", "*.*").stdout.decode().split()
        assert len(found) == 5
        printed = lines(place.run("ingest", "--strategy", "random", *found).stdout)
        decisions = {path: decision for path, (decision, _) in printed.items()}
        assert decisions == {
            "zen.md": decisions["zen.md"],
            "memory.txt": "reprocess",
            "cycle.txt": "reprocess",
            "photo.bin": "skip",
        }
        place.wait()
        compared = json.loads(place.run("regenerate", "--compare", "Philosophy", "--json").stdout)
        assert (compared["compared"], compared["uncompared"]) == (3, 0)
        assert compared["now"] == ["statistics/1, random"]
    finally:
        place.run("umount", view)
    assert (documents / "zen.md").read_text().endswith("uses koans.\n")
