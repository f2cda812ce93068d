"""Programs that follow every link still come to an end, on a tree full of evidence, with a bounded number of requests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mounting import Library, catalog_of, mounted_place, run
from tests.support.small_mount import ROOT

pytestmark = [pytest.mark.mounted, pytest.mark.claim("LINK-1")]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """An ontology with the concepts of one of the project's examples."""
    with mounted_place(tmp_path_factory.mktemp("known"), "--no-worker") as place:
        place.run("ingest", ROOT / "examples" / "pep-0492.rst", "--ontology", "Peps")
        with catalog_of(place) as catalog:
            yield Library(place, catalog, "Peps")


@pytest.fixture(scope="module")
def entries(known: Library) -> int:
    """How many things are in the mount."""
    number = len(run("find", known.place.mountpoint).splitlines())
    assert number > 500, "a tree worth walking"
    return number


PROGRAMS = [
    ("find", "-L", ".", "-name", "no such thing"),
    ("find", "-L", ".", "-type", "d"),
    ("tar", "-h", "-cf", "DOWN/a.tar", "."),
    ("rsync", "-aL", "./", "DOWN/copy/"),
    ("du", "-sL", "."),
    ("ls", "-RL", "."),
]


@pytest.mark.program("rsync")
@pytest.mark.parametrize("words", PROGRAMS, ids=" ".join)
def test_following_ends(words: tuple[str, ...], known: Library, entries: int, tmp_path: Path) -> None:
    before = known.requests()
    run(*(word.replace("DOWN", str(tmp_path)) for word in words), at=known.place.mountpoint)
    assert known.requests() - before <= 8 * entries


def test_grep_following_ends(known: Library, entries: int) -> None:
    before = known.requests()
    found = run("grep", "-Rl", "coroutine", ".", at=known.place.mountpoint).splitlines()
    assert "./Peps/documents/pep-0492.rst" in found
    assert known.requests() - before <= 8 * entries


def test_a_followed_copy_has_the_bytes_of_what_is_linked(known: Library, tmp_path: Path) -> None:
    run("cp", "-rL", known.top / "concepts", tmp_path / "copy")
    links = [path for path in (known.top / "concepts").rglob("*") if path.is_symlink()]
    assert links
    for link in links:
        assert link.is_file(), f"{link} leads to {os.readlink(link)}, which is no file"
        copied = tmp_path / "copy" / link.relative_to(known.top / "concepts")
        assert copied.read_bytes() == link.read_bytes()
