"""How much the kernel asks: what it was told once it does not ask again, no more than of the thinnest filesystem.

kgfs and the floor show the same tree in one run; requests are counted by both, and asking for the count costs the same.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.speed.homes import BIG, Home, Size, home_of
from bench.speed.mounts import FLOOR, KGFS, Mounted, mounted

pytestmark = pytest.mark.mounted

MORE = 10
"""Requests by which kgfs may exceed the floor."""

MIB = 1 << 20


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home_of(tmp_path_factory.mktemp("homes"), Size("requests", concepts=100, documents=20, big=8 * MIB))


@pytest.fixture
def both(home: Home, tmp_path: Path) -> Iterator[dict[str, Mounted]]:
    with ExitStack() as stack:
        yield {side: stack.enter_context(mounted(side, home, tmp_path)) for side in (KGFS, FLOOR)}


def asked(mount: Mounted, work: Callable[[Path], None]) -> dict[str, int]:
    """Requests by operation while ``work`` is done in the ontology's folder."""
    before = mount.requests()
    work(mount.bench)
    return {name: count - before.get(name, 0) for name, count in mount.requests().items()}


def run(*words: str | Path) -> None:
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def find(top: Path) -> None:
    run("find", top / "concepts", "-size", "+0")


def find_flat(top: Path) -> None:
    run("find", top / "concepts", "-maxdepth", "1", "-size", "+0")


def ls(top: Path) -> None:
    run("ls", "-lU", top / "concepts")


def read_all(top: Path) -> None:
    for path in sorted((top / "concepts").glob("*/evidence/*/source.txt")):
        path.read_bytes()
    for path in (top / "documents").iterdir():
        path.read_bytes()


@pytest.mark.parametrize("work", [find, find_flat, ls])
def test_what_was_listed_is_not_asked_for_again(both: dict[str, Mounted], work: Callable[[Path], None]) -> None:
    counts = {}
    for side, mount in both.items():
        asked(mount, work)
        counts[side] = asked(mount, work)
    assert sum(counts[KGFS].values()) <= sum(counts[FLOOR].values()) + MORE, counts
    assert counts[KGFS].get("lookup", 0) <= MORE


@pytest.mark.parametrize("work", [find, find_flat, ls])
def test_the_first_listing_asks_for_no_entry_by_itself(both: dict[str, Mounted], work: Callable[[Path], None]) -> None:
    counts = {side: asked(mount, work) for side, mount in both.items()}
    assert sum(counts[KGFS].values()) <= sum(counts[FLOOR].values()) + MORE, counts


def test_what_was_read_is_not_read_again(both: dict[str, Mounted]) -> None:
    asked(both[KGFS], read_all)
    again = asked(both[KGFS], read_all)
    asking = asked(both[KGFS], lambda top: None)
    assert again["open"] > 300, "the files were opened again"
    assert again["read"] == asking["read"], again


def test_a_new_version_is_read_anew(both: dict[str, Mounted]) -> None:
    file = both[KGFS].bench / "documents" / "doc-000000.txt"
    before = file.read_bytes()
    assert file.read_bytes() == before
    replacement = file.with_name("replacement.txt")
    replacement.write_bytes(before.upper())
    os.replace(replacement, file)
    assert file.read_bytes() == before.upper()
    with file.open("r+b") as written:
        written.write(b"in place")
    assert file.read_bytes() == b"in place" + before.upper()[8:]


def test_the_head_of_a_large_document_costs_no_more_than_its_first_block(both: dict[str, Mounted]) -> None:
    def read_by() -> int:
        lines = Path(f"/proc/{both[KGFS].process.pid}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["rchar"])

    before = read_by()
    run("head", "-c", "100", both[KGFS].bench / "documents" / BIG)
    assert read_by() - before <= 2 * MIB
