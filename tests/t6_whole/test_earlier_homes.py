"""Homes that earlier versions made open for good, with all that they showed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.models.embedder import FP32
from kgfs.stores.worker_lock import worker_note
from tests.support.earlier.opening import BUCKET, FILES, Earlier, bind, expected, put_objects, unpacked
from tests.support.mounting import STATISTICS
from tests.support.peers.buckets import Server
from tests.support.running import until

pytestmark = [pytest.mark.mounted, pytest.mark.root]

ALSO = "The lamp room of the lighthouse has a new lens. The lens came from the harbour master.\n"


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Earlier]:
    home = Earlier(unpacked(FILES, tmp_path) / "home", tmp_path / "mnt")
    yield home
    home.close()


@pytest.fixture
def sharing(seaweedfs: Server, tmp_path: Path) -> Iterator[list[Earlier]]:
    """Two homes on one bucket."""
    top, place = unpacked(BUCKET, tmp_path), seaweedfs.place
    put_objects(top / "bucket", place)
    homes = [Earlier(top / name, tmp_path / f"{name}.mnt", dict(STATISTICS)) for name in ("home", "other")]
    for home in homes:
        bind(home.home, place)
    yield homes
    for home in homes:
        home.close()


def assert_same(seen: dict[str, Any], before: dict[str, Any]) -> None:
    """Compare by parts: the difference of two homes is too long to be read."""
    for name, ontology in before["ontologies"].items():
        for part, what in ontology.items():
            assert seen["ontologies"][name][part] == what, f"{part} of {name}"
    assert seen == before


def assert_sound(home: Earlier) -> None:
    """Expect the exit code 0: nothing is damaged. What ordinary use left behind is harmless."""
    home.run("check", "--deep")


@pytest.mark.claim("AGE-1")
def test_a_home_in_files_shows_what_it_showed(files: Earlier) -> None:
    before = expected(FILES)
    assert_same(files.see(), before)
    assert_sound(files)
    files.run("rebuild", "--yes")
    assert_same(files.see(), before)
    assert_sound(files)


@pytest.mark.claim("AGE-1")
def test_a_home_in_files_goes_on(files: Earlier) -> None:
    """Facts of before and of today follow one another in its ledger."""
    files.mountpoint.mkdir()
    files.mount()
    (files.mountpoint / "Harbour" / "documents" / "lens.txt").write_text(ALSO)
    files.wait()
    assert worker_note(files.home / "run")["embedder"] == FP32, "a new document gets vectors by the home's own model"
    files.umount()
    ledger = (files.home / "garage" / "ledger" / "0000000000000001.log").read_text()
    assert '{"fact":"DocumentRead"' in ledger
    assert '{"fact":"document.read"' in ledger
    seen, before = files.see(), expected(FILES)
    assert seen["ontologies"]["Bee keeping"] == before["ontologies"]["Bee keeping"]
    assert before["objects"].items() <= seen["objects"].items()
    files.run("rebuild", "--yes")
    assert_same(files.see(), seen)
    assert_sound(files)


@pytest.mark.claim("AGE-1")
def test_two_homes_on_one_bucket_show_what_they_showed(sharing: list[Earlier]) -> None:
    before = expected(BUCKET)
    for home in sharing:
        assert_same(home.see(), before)
        assert_sound(home)
        home.run("rebuild", "--yes")
        assert_same(home.see(), before)
        assert_sound(home)


@pytest.mark.claim("AGE-1")
def test_two_homes_on_one_bucket_are_upgraded_one_after_the_other(sharing: list[Earlier]) -> None:
    """The one that comes second finds what the first did meanwhile."""
    first, second = sharing
    for home in sharing:
        home.mountpoint.mkdir()
    first.mount()
    (first.mountpoint / "Harbour" / "documents" / "lens.txt").write_text(ALSO)
    first.wait()
    second.mount()
    until(lambda: (second.mountpoint / "Harbour" / "text" / "lens.txt.md").exists())
    for home in sharing:
        home.umount()
    assert_same(second.see(), first.see())
    for home in sharing:
        assert_sound(home)
