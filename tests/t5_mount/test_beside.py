"""Folders of documents/ by their path without ``documents/``, as programs that copy trees to an ontology make and use them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mounting import mounted_place, run
from tests.support.running import Place
from tests.support.seeing import in_time, mounted_again

pytestmark = pytest.mark.mounted


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with mounted_place(tmp_path_factory.mktemp("beside"), "--no-worker") as found:
        yield found


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Files and folders, some with names that people like and the tree has not taken."""
    top = tmp_path / "vault"
    for name in ("note.md", "daily/one.md", "daily/deep/two.md", ".obsidian/app.json", "with space/three.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    (top / "empty/folder").mkdir(parents=True)
    return top


def same(vault: Path, ontology: Path) -> None:
    run("diff", "-r", vault, ontology / "documents")
    for name in ("daily", "daily/deep", "empty", "empty/folder"):
        beside, inside = os.stat(ontology / name), os.stat(ontology / "documents" / name)
        assert beside.st_ino != inside.st_ino, "one inode has one parent"
        assert (beside.st_mode, beside.st_mtime_ns) == (inside.st_mode, inside.st_mtime_ns)
    assert os.stat(ontology / "daily/one.md").st_ino == os.stat(ontology / "documents/daily/one.md").st_ino
    assert "daily" not in os.listdir(ontology)


def test_cp_r_of_a_vault_and_rm_r(place: Place, vault: Path) -> None:
    run("cp", "-r", vault, place.mountpoint)
    ontology = place.mountpoint / "vault"
    same(vault, ontology)
    assert (ontology / "daily/deep/two.md").read_text() == "daily/deep/two.md"
    run("rm", "-r", ontology / "daily")
    assert not (ontology / "daily").exists()
    in_time(lambda: not (ontology / "documents/daily").exists())
    run("rm", "-r", ontology)
    assert not ontology.exists()


def test_rsync_twice_and_cp_a(place: Place, vault: Path) -> None:
    ontology = place.mountpoint / "Synced"
    run("rsync", "-a", f"{vault}/", ontology)
    same(vault, ontology)
    assert run("rsync", "-ai", f"{vault}/", ontology) == ""
    run("cp", "-a", vault, place.mountpoint / "Kept")
    same(vault, place.mountpoint / "Kept")


def test_find_and_getcwd_by_both_paths(place: Place, vault: Path) -> None:
    ontology = place.mountpoint / "Found"
    run("cp", "-r", vault, ontology)
    for top in (ontology / "daily", ontology / "documents/daily", ontology / "daily"):
        found = run("find", ".", "-type", "f", at=top)
        assert sorted(found.split()) == ["./deep/two.md", "./one.md"]
        assert run("bash", "-c", "cd deep && /bin/pwd", at=top) == f"{top}/deep\n"


def test_mv_within_and_between_both(place: Place, vault: Path) -> None:
    ontology = place.mountpoint / "Moved"
    run("mv", vault, ontology)
    documents = ontology / "documents"
    run("mv", ontology / "daily", ontology / "weekly")
    assert (documents / "weekly/deep/two.md").read_text() == "daily/deep/two.md"
    in_time(lambda: not (documents / "daily").exists())
    run("mv", ontology / "weekly/deep", documents / "deep")
    assert os.listdir(ontology / "weekly") == ["one.md"] and os.listdir(ontology / "deep") == ["two.md"]
    assert os.listdir(documents / "deep") == ["two.md"]  # by this path the kernel must look it up before it renames it
    run("mv", documents / "deep", ontology / "weekly/deeper")
    in_time(lambda: os.stat(ontology / "weekly/deeper").st_ino != os.stat(documents / "weekly/deeper").st_ino)
    in_time(lambda: not (documents / "deep").exists() and (documents / "weekly/deeper/two.md").exists())
    (ontology / "weekly/new").mkdir()
    (ontology / "weekly/new/four.md").write_text("four")
    assert (documents / "weekly/new/four.md").read_text() == "four"


def test_what_another_mount_does_is_seen_by_both_paths(place: Place, vault: Path) -> None:
    ontology = place.mountpoint / "Shared"
    run("cp", "-r", vault, ontology)
    with mounted_again(place, "second") as second:
        there = second.mountpoint / "Shared"
        assert not (ontology / "later").exists() and not (ontology / "daily/later").exists()
        (there / "documents/later").mkdir()
        (there / "daily/later").mkdir()
        in_time(lambda: (ontology / "later").is_dir() and (ontology / "daily/later").is_dir())
        os.rename(there / "documents/daily", there / "documents/renamed")
        in_time(lambda: not (ontology / "daily").exists() and (ontology / "renamed/one.md").exists())
        (there / "renamed/later").rmdir()
        in_time(lambda: "later" not in os.listdir(ontology / "renamed") and not (ontology / "renamed/later").exists())


@pytest.mark.claim("REF-6")
def test_a_vault_with_a_name_that_the_tree_takes(place: Place, vault: Path) -> None:
    (vault / "archive").mkdir()
    (vault / "archive/old.md").write_text("old")
    (vault / "insights").mkdir()
    ontology = place.mountpoint / "Taken"
    ontology.mkdir()
    reported = run("cp", "-r", f"{vault}/.", ontology, code=1)
    assert "archive/old.md': Read-only" in reported and "insights': Operation not permitted" in reported
    assert (ontology / "documents/daily/deep/two.md").exists(), "all else is copied"
    lines = (place.mountpoint / ".kgfs/errors.ndjson").read_text().splitlines()
    told = [line for line in map(json.loads, lines) if "Ontology/documents/" in str(line)]
    assert {line["where"] for line in told} == {"fuse.create", "fuse.mkdir"}, lines
    with pytest.raises(OSError, match="Read-only"):
        (ontology / "archive/old.md").write_text("old")
    assert "fuse.create" in (place.mountpoint / ".kgfs/errors.ndjson").read_text()
    run("cp", "-r", f"{vault}/.", ontology / "documents")
    run("diff", "-r", vault, ontology / "documents")
