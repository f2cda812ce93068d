"""Whole trees: ``cp -r`` of folders that are named as views arrives, ``rm -r`` of whole ontologies returns 0."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.mails import transcript
from tests.support.running import Place, until

pytestmark = pytest.mark.mounted
NAMES = ("archive", "text", "search", "concepts", "documents", "versions", "claims", "plain")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name in NAMES:
        (folder / name / "deep").mkdir(parents=True)
        (folder / name / "deep" / "note.md").write_text(f"The {name} room holds a brass bell that rings at noon.\n")
    return folder


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("copy", [("cp", "-r"), ("rsync", "-r")])
def test_a_folder_with_the_names_of_views_arrives_whole(place: Place, tree: Path, copy: tuple[str, ...]) -> None:
    if shutil.which(copy[0]) is None:
        pytest.skip(f"{copy[0]} is not installed")
    made = place.mountpoint / f"by-{copy[0]}"
    subprocess.run([*copy, tree if copy[0] == "cp" else f"{tree}/", made], check=True)
    assert _files(made / "documents") == _files(tree)
    assert "about.md" in {entry.name for entry in made.iterdir()}
    assert not (made / "archive" / "deep").exists()  # for everybody else it is the view


def test_what_an_existing_ontology_refuses_has_its_remedy(place: Place, tree: Path) -> None:
    made = place.mountpoint / "existing"
    made.mkdir()
    refused = subprocess.run(["cp", "-r", f"{tree}/.", made], check=False, capture_output=True)
    assert refused.returncode != 0
    (made / "note.md").write_text("A note.\n")
    for words in (["ln", made / "note.md", made / "hard.md"], ["touch", place.mountpoint / "top.txt"]):
        assert subprocess.run(words, check=False, capture_output=True).returncode != 0
    lines = [json.loads(line) for line in (place.mountpoint / ".kgfs/errors.ndjson").read_text().splitlines()]
    told = " ".join(line["message"] for line in lines)
    assert "cp -r FOLDER/. Ontology/documents/" in told and "Make one first" in told and "no hard links" in told


def test_rm_of_an_ontology_with_all_kinds_of_views_returns_0(place: Place, tree: Path) -> None:
    made = place.mountpoint / "leaving"
    shutil.copytree(tree / "plain", made / "documents", dirs_exist_ok=True)
    (made / "talk.jsonl").write_bytes(transcript("bell"))
    (made / "mail.eml").write_text("From: Ann <ann@example.org>\nSubject: Bell\n\nThe bell rings at noon.\n")
    (made / "search").joinpath("bell").touch()
    until(lambda: place.run("worker", "--until-idle") and (made / "sessions").exists())
    assert list((made / "sessions").iterdir())
    subprocess.run(["rm", "-r", made], check=True)
    assert not made.exists()
