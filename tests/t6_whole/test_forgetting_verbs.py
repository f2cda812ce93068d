"""``kgfs trash`` and ``kgfs forget`` as a person or a script uses them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from kgfs.domain.names import encode_name
from kgfs.ingest.storing.content import open_content
from kgfs.stores.resolve import find_document
from tests.support.peers.homes import lifecycle
from tests.support.running import KGFS, PATIENCE, ROOT, Place, one_line, until
from tests.support.texts import ZEN

pytestmark = lifecycle


@pytest.fixture
def two(place: Place, tmp_path: Path) -> Place:
    """A home with two documents, read without models."""
    place.environment |= {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}
    (tmp_path / "a.md").write_text(ZEN)
    (tmp_path / "b.md").write_text(ZEN.replace("koan", "riddle"))
    place.run("ingest", tmp_path / "a.md", tmp_path / "b.md", "--ontology", "Notes")
    return place


def in_trash(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in place.run("trash", "list", "--json").stdout.splitlines()]


def states(place: Place) -> dict[str, dict[str, int]]:
    return {ontology["name"]: ontology["documents"] for ontology in place.status()["ontologies"]}


def reported(place: Place, answer: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KGFS, *words],
        env=place._environment(None),
        cwd=ROOT,
        input=answer,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.mark.claim("GONE-1")
def test_a_folder_and_an_ontology_are_restored_as_a_whole_also_from_inside(place: Place) -> None:
    def restored(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*KGFS, "trash", "restore", *words],
            env=place._environment(None),
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done

    documents = place.mount("--no-worker").ontology("Untar") / "documents"
    written = {"a.txt": "first", "sub/b.txt": "second", "sub/deep/c.txt": "third", "d.txt": "fourth"}
    for path, text in written.items():
        (documents / path).parent.mkdir(parents=True, exist_ok=True)
        (documents / path).write_text(text)
    place.run("wait", "--timeout", "0", expect=None)

    def there() -> dict[str, str]:
        return {str(p.relative_to(documents)): p.read_text() for p in documents.rglob("*") if p.is_file()}

    shutil.rmtree(documents / "sub")
    until(lambda: len(in_trash(place)) == 2)
    (documents / "a.txt").unlink()
    listed = [gone["path"] for gone in in_trash(place)]
    assert restored(documents, listed[-1]).stdout == "Untar/documents/a.txt\n"
    (documents / "sub/deep").mkdir(parents=True)
    (documents / "sub/deep/c.txt").write_text("newer")
    refused = restored(documents, "sub", code=5)
    assert refused.stdout == "Untar/documents/sub/b.txt\n" and "Untar/documents/sub/deep/c.txt" in one_line(
        refused.stderr
    )
    assert there() == written | {"sub/deep/c.txt": "newer"}
    place.run("wait", "--timeout", "0", expect=None)

    for folder in ("sub/deep", "sub", ""):
        for path in (documents / folder).iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
    documents.parent.rmdir()
    refused = restored(place.mountpoint, "Untar", "--as", "Untar/x", code=3)
    assert "4 were removed" in one_line(refused.stderr)
    assert sorted(restored(place.mountpoint, "Untar").stdout.splitlines()) == sorted(
        f"Untar/documents/{p}" for p in written
    )
    until(documents.is_dir)
    until(lambda: there() == written | {"sub/deep/c.txt": "newer"})


def test_the_plan_is_printed_and_asked_about(two: Place) -> None:
    planned = json.loads(two.run("forget", "Notes/a.md", "--dry-run", "--json").stdout)
    assert [document["paths"] for document in planned["documents"]] == [["Notes/documents/a.md"]]
    assert planned["concepts_gone"]
    assert planned["concepts_lessened"]
    assert states(two) == {"Notes": {"done": 2}}
    refused = reported(two, "n\n", "forget", "Notes/a.md")
    assert refused.returncode == 1
    assert "Notes/documents/a.md" in refused.stdout
    assert "Forget them?" in refused.stderr
    assert states(two) == {"Notes": {"done": 2}}
    assert reported(two, "y\n", "forget", "Notes/a.md").returncode == 0
    assert states(two) == {"Notes": {"done": 1, "trashed": 1}}


def test_a_list_on_stdin_is_forgotten_without_asking(two: Place) -> None:
    names = "Notes/documents/a.md\nNotes/documents/b.md\n"
    assert reported(two, names, "forget", "-").returncode == 3
    assert reported(two, names, "forget", "-", "--yes").returncode == 0
    assert states(two) == {"Notes": {"trashed": 2}}
    assert [gone["path"] for gone in in_trash(two)] == ["Notes/documents/a.md", "Notes/documents/b.md"]
    times = [gone["removed_at"] for gone in in_trash(two)]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time) for time in times)
    shown = two.run("trash", "list").stdout.splitlines()
    assert [line.split("\t")[1] for line in shown] == times


def test_what_was_removed_comes_back_or_goes_for_good(two: Place) -> None:
    two.run("forget", "Notes", "--yes")
    assert states(two) == {}
    first, second = in_trash(two)
    refused = two.run("trash", "restore", str(first["id"]), "--as", "Other/sub/a.md", expect=4)
    assert "no ontology 'Other'" in one_line(refused.stderr), (
        "a folder's name without its ontology is no order to make one"
    )
    two.run("trash", "restore", str(first["id"]), "--as", "Notes/sub/a.md")
    two.run("trash", "restore", second["path"])
    two.run("worker", "--until-idle")
    assert states(two) == {"Notes": {"done": 2}}
    assert in_trash(two) == []
    two.run("forget", "Notes/b.md", "--yes")
    assert "b.md" in two.run("trash", "empty", "--dry-run").stdout
    two.run("trash", "empty", "--older-than", "1", "--yes")
    assert len(in_trash(two)) == 1
    two.run("trash", "empty", "--yes")
    assert in_trash(two) == []
    assert "Notes/documents/b.md" in one_line(two.run("trash", "restore", "Notes/documents/b.md", expect=4).stderr)


def test_what_is_not_there_cannot_be_forgotten(two: Place) -> None:
    assert "nowhere.md" in one_line(two.run("forget", "Notes/nowhere.md", "--yes", expect=4).stderr)


def test_an_ontology_of_any_name_is_one_to_all_verbs(two: Place, tmp_path: Path) -> None:
    name = os.fsdecode(b"lat\xe9n 50%")
    shown = encode_name(os.fsencode(name))
    for _ in range(2):
        two.run("ingest", tmp_path / "a.md", "--ontology", name)
    assert states(two) == {"Notes": {"done": 2}, shown: {"done": 1}}
    assert "reprocess" in two.run("ingest", tmp_path / "a.md", "--ontology", name, "--strategy", "random").stdout
    assert "1 document read again" in two.run("regenerate", name, "--yes").stderr
    two.run("regenerate", shown, "--dry-run")
    two.run("reprocess", name, "--yes")
    two.run("rebuild", name, "--yes")
    assert f"in {shown}" in two.run("concept", "show", name, "nothing-like-that", expect=4).stderr
    assert two.run("search", "koan", "--ontology", name).stdout
    assert f"ontology {shown}" in two.run("forget", name, "--yes").stdout
    assert [gone["path"] for gone in in_trash(two)] == [f"{shown}/documents/a.md"]


def forgotten_after(place: Place, meanwhile: Callable[[], object]) -> tuple[int, str]:
    """Exit code and last words of a purge of ``a.md`` that was ordered, and carried out when others had done something."""
    with place.start("forget", "Notes/a.md", "--purge", "--yes", env={"KGFS_STOP_AT": "forgetting-owed"}) as asked:
        try:
            until(lambda: "T" in Path(f"/proc/{asked.pid}/stat").read_text().rpartition(")")[2].split()[0])
            meanwhile()
        finally:
            os.kill(asked.pid, signal.SIGCONT)
        _, reported = asked.communicate(timeout=PATIENCE)
    return asked.returncode, reported


@pytest.mark.claim("GONE-7")
def test_what_is_deposited_again_meanwhile_is_not_said_to_be_erased(two: Place, tmp_path: Path) -> None:
    code, reported = forgotten_after(
        two, lambda: two.run("ingest", tmp_path / "a.md", "--ontology", "Notes", "--as", "again.md")
    )
    assert states(two) == {"Notes": {"done": 2}}
    assert "0 documents erased." in reported
    assert "Not erased" in reported and "Notes/documents/again.md" in reported
    assert code == 5


@pytest.mark.claim("GONE-7")
@pytest.mark.parametrize("purge", [[], ["--purge"]])
def test_what_is_written_while_the_question_stands_is_not_forgotten(
    two: Place, tmp_path: Path, purge: list[str]
) -> None:
    """It was no part of the plan that was answered."""
    with subprocess.Popen(
        [*KGFS, "forget", "Notes/a.md", *purge],
        env=two._environment(None),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as asked:
        assert asked.stdout is not None and asked.stdin is not None
        assert "document" in asked.stdout.readline()
        with open_home(load(two.home)) as stores, open_deposits(load(two.home), stores) as (deposits, _):
            root = stores.catalog.names.ontologies()[0].root
            name = stores.catalog.names.child(root, "a.md")
            assert name is not None
            file = deposits.open(name.id, write=True, truncate=True)
            file.write(0, b"Something else.\n")
            file.flush()
            file.release()
            _, words = asked.communicate("y\n", timeout=PATIENCE)
    assert asked.returncode == 5, words
    assert "was written since" in words
    two.run("worker", "--until-idle")
    with open_home(load(two.home)) as stores:
        name = stores.catalog.names.child(root, "a.md")
        assert name is not None
        with closing(open_content(stores, load(two.home).spool, name.id)[1]) as content:
            assert content.read_at(0, 100) == b"Something else.\n"


@pytest.mark.claim("GONE-7")
def test_what_another_process_erased_is_said_to_be_erased(two: Place) -> None:
    code, reported = forgotten_after(two, lambda: two.run("worker", "--until-idle"))
    assert states(two) == {"Notes": {"done": 1}}
    assert "1 document erased." in reported
    assert (code, "Not erased" in reported) == (0, False)


@pytest.mark.claim("WORK-5")
def test_what_was_ordered_and_is_not_carried_out_is_owed(two: Place) -> None:
    asked = two.start("forget", "Notes/a.md", "--yes", env={"KGFS_STOP_AT": "forgetting-owed"})
    with asked:
        try:
            until(lambda: "T" in Path(f"/proc/{asked.pid}/stat").read_text().rpartition(")")[2].split()[0])
        finally:
            asked.kill()
    status = two.status()
    assert (status["owed"], status["forgettings"]) == (1, 1)
    assert "owed     1 (1 forgetting among them)" in two.run("status").stdout
    assert "0 documents, 0 unsettled paths, 1 forgetting" in two.run("wait", "--timeout", "0.5", expect=9).stderr
    two.run("worker", "--until-idle")
    two.run("wait", "--timeout", "5")
    assert two.status()["owed"] == 0


@pytest.mark.claim("GONE-7")
def test_what_a_killed_verb_left_is_carried_out_by_the_worker_that_was_there(two: Place) -> None:
    with two.start("worker") as worker:
        try:
            until(lambda: two.status()["worker"]["note"].get("state") == "idle")
            two.run("forget", "Notes/a.md", "--yes", env={"KGFS_FAIL_AT": "forgetting-owed"}, expect=-signal.SIGKILL)
            two.run("wait", "--timeout", "60")
            assert (two.status()["forgettings"], worker.poll()) == (0, None)
            assert states(two) == {"Notes": {"done": 1, "trashed": 1}}
        finally:
            worker.terminate()


@pytest.mark.logs("forget MissingError: .*readings/")
def test_what_an_older_order_fails_by_is_not_said_of_another_that_was_carried_out(two: Place) -> None:
    with open_home(load(two.home)) as stores:
        doc_id = find_document(stores, two.home / "run", "Notes/a.md").doc_id
        ((key, _),) = stores.garage.objects.keys(f"readings/{doc_id}/")
        stores.garage.objects.delete(key)
    assert key in one_line(two.run("forget", "Notes/a.md", "--cascade", "none", "--yes", expect=4).stderr)
    assert "1 document forgotten." in two.run("forget", "Notes/b.md", "--yes").stderr
    assert states(two) == {"Notes": {"trashed": 2}}
    assert two.status()["forgettings"] == 1


@pytest.mark.claim("WORK-5")
@pytest.mark.mounted
def test_what_waits_until_it_is_quiet_is_owed(two: Place) -> None:
    two.mount("--no-worker", env={"KGFS_PIPELINE_SETTLE": "600"})
    (two.mountpoint / "Notes" / "documents" / "new.md").write_text(ZEN.replace("koan", "paradox"))
    status = two.status()
    assert (status["owed"], status["unsettled"]) == (1, 1)
    assert json.loads((two.mountpoint / ".kgfs" / "status.json").read_text())["owed"] == 1
    assert "owed     1 (1 unsettled path among them)" in two.run("status").stdout


@pytest.mark.mounted
def test_a_dry_run_settles_nothing(two: Place) -> None:
    two.mount("--no-worker", env={"KGFS_PIPELINE_SETTLE": "600"})
    new = two.mountpoint / "Notes" / "documents" / "new.md"
    new.write_text(ZEN.replace("koan", "paradox"))
    planned = two.run("forget", new, "--dry-run", "--json")
    assert json.loads(planned.stdout)["documents"] == []
    assert "1 file waiting" in planned.stderr
    assert json.loads(two.run("status", "--json", new).stdout)["version"] in (0, None)
    assert states(two) == {"Notes": {"done": 2}}
    # Nor does a question that is answered with no: here by an end of the answers.
    assert two.run("forget", new, expect=None).returncode != 0
    assert json.loads(two.run("status", "--json", new).stdout)["version"] in (0, None)
    two.run("forget", new, "--yes")
    until(lambda: not new.exists())
    assert states(two) == {"Notes": {"done": 2, "trashed": 1}}


@pytest.mark.mounted
def test_a_folder_leaves_with_all_that_stands_below_it(two: Place) -> None:
    two.mount("--no-worker", env={"KGFS_PIPELINE_SETTLE": "600"})
    documents = two.mountpoint / "Notes" / "documents"
    (documents / "sub" / "deep").mkdir(parents=True)
    for path in ("sub/c.md", "sub/deep/d.md", "e.md"):
        (documents / path).write_text(ZEN.replace("koan", path[-4]))
    (documents / "sub" / "empty").touch()
    (documents / "sub" / "link").symlink_to("c.md")
    two.run("forget", documents / "sub", "--yes")
    assert sorted(path.name for path in documents.iterdir()) == ["a.md", "b.md", "e.md"]
    assert [gone["path"] for gone in in_trash(two)] == ["Notes/documents/sub/c.md", "Notes/documents/sub/deep/d.md"]
