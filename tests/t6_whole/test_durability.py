"""What was acknowledged survives: kills of everything at any time, and the loss of every database."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from tests.support.knowledge_of import knowledge_of
from tests.support.running import Place, shell
from tests.support.texts import GARBAGE, ZEN

pytestmark = [pytest.mark.mounted, pytest.mark.slow]

DOCUMENTS = {
    "zen.md": ZEN,
    "sub/garbage.txt": GARBAGE,
    "cycle.txt": "Reference counting cannot reclaim a reference cycle. A reference cycle is a group of objects that "
    "refer to each other. A tracing algorithm requires a root set. Zen is mentioned here as well.\n",
    "large.bin": "\0\1\2" * 100_000,
}


def copy_in(place: Place, top: Path) -> Path:
    """In one order; every file is acknowledged when this returns."""
    for name, content in DOCUMENTS.items():
        (top / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (top / "source" / name).write_text(content)
    documents = place.ontology("Test") / "documents"
    (documents / "sub").mkdir()
    for name in DOCUMENTS:
        done = shell("cp", "-p", top / "source" / name, documents / name)
        assert done.returncode == 0, done.stderr
    return top / "source"


def listing(top: Path) -> dict[str, object]:
    """Everything that is promised to be the same: names, kinds, sizes, modes, times, contents."""
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(top):
        folders.sort()
        if folder == str(top):
            folders.remove(".kgfs")
        for name in [*folders, *files]:
            path = Path(folder, name)
            about = path.lstat()
            content = ""
            if path.is_symlink():
                content = os.readlink(path)
            elif path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            fixed = path.parent == top and path.is_file()
            times = 0 if fixed else about.st_mtime_ns
            size = about.st_size
            found[str(path.relative_to(top))] = (about.st_mode, size, times, about.st_ino, content)
    return found


def vectors_of(home: Path) -> list[tuple[str, str, int, bytes]]:
    from kgfs.stores.vectors.contract import Filter

    config = load(home)
    with open_home(config) as stores:
        model = next(
            json.loads(stores.garage.objects.get(key))["embedding_model"]
            for key, _ in stores.garage.objects.keys("readings/")
            if key.endswith(".json") and "decisions" not in key
        )
    with open_home(config, vectors_of=model) as stores:
        assert stores.vectors is not None
        return [(row.kind, row.item, row.window, row.vector.tobytes()) for row in stores.vectors.fetch(Filter())]


def test_without_its_databases_the_tree_comes_back(place: Place, tmp_path: Path) -> None:
    place.mount()
    copy_in(place, tmp_path)
    place.wait()
    documents = place.mountpoint / "Test/documents"
    # History: a second version, a rename, something removed for good, an empty ontology.
    (documents / "zen.md").write_text(ZEN.replace("Buddhism", "Mahayana Buddhism"))
    (documents / "cycle.txt").rename(documents / "sub/moved.txt")
    (documents / "empty").touch()
    (documents / "link").symlink_to("zen.md")
    place.wait()
    (documents / "sub/garbage.txt").unlink()
    place.ontology("Other")
    place.wait()
    place.umount()
    place.mount("--no-worker")
    before = listing(place.mountpoint)
    place.umount()
    knowledge, vectors = knowledge_of(place.home), vectors_of(place.home)
    assert len(vectors) > 10

    databases = [path for path in place.home.iterdir() if ".sqlite" in path.name]
    assert {path.name.partition(".")[0] for path in databases} == {"front", "graph", "vectors"}
    for path in databases:
        path.unlink()

    place.mount("--no-worker")
    after = listing(place.mountpoint)
    assert {name for name in before if name not in after} == set()
    assert {name for name in after if name not in before} == set()
    assert {name: (before[name], after[name]) for name in before if before[name] != after[name]} == {}
    place.umount()
    assert knowledge_of(place.home) == knowledge
    place.run("worker", "--until-idle")
    assert vectors_of(place.home) == vectors

    place.mount()
    (documents / "new.md").write_text("# Koan\n\nA koan is a riddle used in Zen practice.\n")
    place.wait()
    assert os.getxattr(documents / "new.md", "user.kgfs.state") == b"done", "and work goes on"


@pytest.mark.parametrize("border", ["staged:1", "staged:2"])
def test_killed_while_it_rebuilds(home: Path, tmp_path: Path, border: str) -> None:
    """What is half rebuilt does not look lost any more, and must not be taken for whole."""
    place = Place(home, tmp_path / "mnt")
    (tmp_path / "zen.md").write_text(ZEN)
    (tmp_path / "garbage.txt").write_text(GARBAGE)
    place.run("ingest", tmp_path / "zen.md", tmp_path / "garbage.txt", "--ontology", "Test")
    knowledge, vectors = knowledge_of(place.home), vectors_of(place.home)
    for path in place.home.glob("*.sqlite*"):
        path.unlink()
    place.run("worker", "--until-idle", expect=-9, env={"KGFS_FAIL_AT": border})
    place.run("worker", "--until-idle")
    assert knowledge_of(place.home) == knowledge
    assert vectors_of(place.home) == vectors


@pytest.mark.parametrize("database", ["front", "graph", "vectors"])
def test_one_database_lost(home: Path, tmp_path: Path, database: str) -> None:
    place = Place(home, tmp_path / "mnt")
    (tmp_path / "zen.md").write_text(ZEN)
    (tmp_path / "garbage.txt").write_text(GARBAGE)
    place.run("ingest", tmp_path / "zen.md", tmp_path / "garbage.txt", "--ontology", "Test")
    knowledge, vectors = knowledge_of(place.home), vectors_of(place.home)
    for path in place.home.glob(f"{database}.sqlite*"):
        path.unlink()
    place.run("worker", "--until-idle")
    assert knowledge_of(place.home) == knowledge
    assert vectors_of(place.home) == vectors
