"""The garage view, mounted beside the other one."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.stores.garage.listing import object_path
from kgfs.stores.garage.opening import FileGarage
from tests.support.mounting import STATISTICS
from tests.support.running import Place, one_line, until

pytestmark = pytest.mark.mounted

ZEN = b"Zen is a school of Buddhism. Zen uses koans. A koan is a riddle used in Zen practice.\n"


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    """One home in both views, with a worker."""
    for name in ("knowledge", "garage"):
        (tmp_path / name).mkdir()
    settings = {"KGFS_PIPELINE_SETTLE": "0.2", **STATISTICS}
    knowledge = Place(tmp_path / "home", tmp_path / "knowledge", settings)
    garage = Place(tmp_path / "home", tmp_path / "garage", settings)
    try:
        knowledge.mount()
        garage.mount("--view", "garage")
        yield knowledge, garage
    finally:
        garage.close()
        knowledge.close()


def files_of(top: Path) -> dict[str, Path]:
    return {str(path.relative_to(top)): path for path in top.rglob("*") if path.is_file()}


@pytest.mark.claim("GAR-1", "GAR-3", "GAR-4")
def test_both_views_of_one_home_at_once(both: tuple[Place, Place]) -> None:
    knowledge, garage = both
    documents = knowledge.ontology("Philosophy") / "documents"
    (documents / "zen.txt").write_bytes(ZEN)
    until(lambda: list((garage.mountpoint / "sources").glob("Philosophy/*.txt")))
    [original] = (garage.mountpoint / "sources" / "Philosophy").iterdir()
    assert original.read_bytes() == ZEN
    # The bytes are there before it is recorded whose they are.
    until(lambda: "user.kgfs.doc_id" in os.listxattr(original))
    assert os.getxattr(original, "user.kgfs.doc_id") == os.getxattr(documents / "zen.txt", "user.kgfs.doc_id")
    knowledge.wait()
    kept = FileGarage(knowledge.home / "garage").objects
    until(lambda: (garage.mountpoint / "decisions").is_dir())
    shown = files_of(garage.mountpoint)
    assert {path for path in shown if not path.startswith("ledger/")} == {key for key, _ in kept.keys("")}
    for path, file in shown.items():
        content = file.read_bytes()
        assert len(content) == file.stat().st_size
        if not path.startswith("ledger/"):
            assert content == kept.get(path)
    one_archive = subprocess.run(["tar", "cf", "-", "."], cwd=garage.mountpoint, capture_output=True, check=True)
    assert len(one_archive.stdout) > len(ZEN)

    (documents / "more.txt").write_bytes(b"Chan is older than Zen.\n")
    until(lambda: len(list((garage.mountpoint / "sources" / "Philosophy").iterdir())) == 2)
    [segment] = (garage.mountpoint / "ledger").iterdir()
    until(lambda: b"more.txt" in segment.read_bytes() and segment.stat().st_size == len(segment.read_bytes()))

    status = knowledge.status()
    assert {(mount["mountpoint"], mount["view"]) for mount in status["mounts"]} == {
        (str(knowledge.mountpoint), "knowledge"),
        (str(garage.mountpoint), "garage"),
    }
    doctor = json.loads(knowledge.run("doctor", "--json", expect=None).stdout)
    assert sum("view garage" in line["found"] for line in doctor) == 1
    # Taken down alone, the garage leaves the other view and its worker at work.
    garage.umount()
    assert not os.path.ismount(garage.mountpoint)
    assert (documents / "zen.txt").read_bytes() == ZEN
    assert knowledge.status()["worker"]["alive"]


@pytest.mark.logs("CorruptError")
@pytest.mark.claim("GAR-1", "GAR-2")
def test_nothing_can_be_changed_and_rot_is_told(both: tuple[Place, Place]) -> None:
    knowledge, garage = both
    (knowledge.ontology("Zen") / "documents" / "zen.txt").write_bytes(ZEN)
    until(lambda: list((garage.mountpoint / "sources").glob("Zen/*.txt")))
    [original] = (garage.mountpoint / "sources" / "Zen").iterdir()
    for words in (
        ["rm", "-f", original],
        ["mkdir", garage.mountpoint / "new"],
        ["touch", garage.mountpoint / "sources" / "new"],
        ["mv", original, original.with_name("other")],
        ["chmod", "600", original],
        ["ln", "-s", "x", garage.mountpoint / "link"],
        ["sh", "-c", f"echo x >> {original}"],
        ["truncate", "-s", "0", original],
    ):
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
        assert done.returncode != 0, words
        assert "Read-only file system" in done.stderr, (words, done.stderr)
    with pytest.raises(OSError, match=r".") as refused:
        os.setxattr(original, "user.kgfs.state", b"x")
    assert refused.value.errno == errno.EROFS
    # Not read before: from pages that it has, and that were verified, the kernel would answer by itself.
    key = str(original.relative_to(garage.mountpoint))
    file = object_path(knowledge.home / "garage" / "objects", key)
    file.chmod(0o600)
    file.write_bytes(ZEN.replace(b"Zen", b"zen", 1))
    with pytest.raises(OSError, match=r".") as failure:
        original.read_bytes()
    assert failure.value.errno == errno.EIO
    lines = (knowledge.home / "log" / "errors.ndjson").read_text()
    assert key in lines
    file.write_bytes(ZEN)
    assert original.read_bytes() == ZEN


@pytest.mark.claim("GAR-4")
def test_a_place_has_one_view_and_the_garage_starts_no_worker(tmp_path: Path, home: Path) -> None:
    (tmp_path / "mnt").mkdir()
    place = Place(home, tmp_path / "mnt", STATISTICS)
    try:
        reported = place.run("mount", "--view", "garage", place.mountpoint, expect=4)
        assert "no home" in one_line(reported.stderr)
        place.run("mount", "--view", "garage", "--no-worker", place.mountpoint, expect=3)
        (tmp_path / "a.txt").write_bytes(ZEN)
        place.run("ingest", tmp_path / "a.txt", "--ontology", "A", "--no-wait")
        place.mount("--view", "garage")
        assert [path.name for path in (place.mountpoint / "sources").iterdir()] == ["A"]
        assert len(place.pids()) == 1
        assert not place.status()["worker"]["alive"]
        assert "already" in place.run("mount", "--view", "garage", place.mountpoint).stderr
        assert "Take it down first" in one_line(place.run("mount", place.mountpoint, expect=5).stderr)
        place.umount()
        assert place.pids() == []
        assert place.status()["mounts"] == []
    finally:
        place.close()


def test_a_garage_mount_that_was_killed_is_detached_by_the_next(both: tuple[Place, Place]) -> None:
    _, garage = both
    [note] = [mount for mount in garage.status()["mounts"] if mount["view"] == "garage"]
    os.kill(note["pid"], 9)
    until(lambda: subprocess.run(["stat", "-f", garage.mountpoint], capture_output=True, check=False).returncode)
    garage.mount("--view", "garage")
    assert (garage.mountpoint / "ledger").is_dir()
    assert sum(mount["view"] == "garage" for mount in garage.status()["mounts"]) == 1
