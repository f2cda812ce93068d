"""Change from elsewhere: what another process commits, a mount shows within a second, though the kernel keeps all it
was told."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.mounting import mounted_place
from tests.support.running import Place, until
from tests.support.seeing import Shown, alike, in_time, mounted_again, shown
from tests.support.texts import GARBAGE, ZEN

pytestmark = pytest.mark.mounted

NAMES = (
    "a.txt",
    "b.txt",
    "new.txt",
    "sub",
    "sub/inner.txt",
    "sub/deep",
    "sub/deep/x.txt",
    "other",
    "other/inner.txt",
    "l",
)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with mounted_place(tmp_path_factory.mktemp("elsewhere"), "--no-worker") as place:
        yield place


@pytest.fixture(scope="module")
def second(first: Place) -> Iterator[Place]:
    with mounted_again(first, "second") as place:
        yield place


@pytest.fixture
def ontology(request: pytest.FixtureRequest) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


def make_all(documents: Path) -> None:
    (documents / "a.txt").write_text("one\n")
    (documents / "b.txt").write_text("two\n")
    (documents / "sub/deep").mkdir(parents=True)
    (documents / "sub/inner.txt").write_text("three\n")
    (documents / "sub/deep/x.txt").write_bytes(os.urandom(100_000))
    os.symlink("a.txt", documents / "l")


def replace(documents: Path) -> None:
    (documents / "aside").write_text("another one\n")
    os.replace(documents / "aside", documents / "a.txt")


def swap(documents: Path) -> None:
    os.rename(documents / "a.txt", documents / "aside")
    os.rename(documents / "b.txt", documents / "a.txt")
    os.rename(documents / "aside", documents / "b.txt")


def empty_folder(documents: Path) -> None:
    (documents / "sub/deep/x.txt").unlink()
    (documents / "sub/deep").rmdir()
    (documents / "sub/inner.txt").unlink()
    (documents / "sub").rmdir()


def folder_for_file(documents: Path) -> None:
    (documents / "a.txt").unlink()
    (documents / "a.txt").mkdir()
    (documents / "a.txt/inside").write_text("in a folder\n")


def link_again(documents: Path) -> None:
    (documents / "l").unlink()
    os.symlink("b.txt", documents / "l")


def same_size_and_time(documents: Path) -> None:
    """What only a hash could tell apart."""
    about = (documents / "a.txt").stat()
    (documents / "a.txt").write_text("ONE\n")
    os.utime(documents / "a.txt", ns=(about.st_atime_ns, about.st_mtime_ns))


def truncate(documents: Path) -> None:
    os.truncate(documents / "sub/deep/x.txt", 70_000)


CHANGES: dict[str, Callable[[Path], object]] = {
    "make": lambda documents: (documents / "new.txt").write_text("new\n"),
    "overwrite": lambda documents: (documents / "a.txt").write_text("longer than before\n"),
    "same size and time": same_size_and_time,
    "truncate": truncate,
    "replace": replace,
    "rename": lambda documents: os.rename(documents / "a.txt", documents / "new.txt"),
    "rename over": lambda documents: os.rename(documents / "a.txt", documents / "b.txt"),
    "swap": swap,
    "rename folder": lambda documents: os.rename(documents / "sub", documents / "other"),
    "move into folder": lambda documents: os.rename(documents / "a.txt", documents / "sub/deep/a.txt"),
    "remove": lambda documents: (documents / "a.txt").unlink(),
    "remove folder": empty_folder,
    "folder for file": folder_for_file,
    "link": link_again,
    "mode": lambda documents: (documents / "a.txt").chmod(0o640),
    "time": lambda documents: os.utime(documents / "sub", (10**9, 10**9)),
    "through the root": lambda documents: (documents.parent / "new.txt").write_text("new\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_through_another_mount(change: str, first: Place, second: Place, ontology: str) -> None:
    """Whatever the kernel was told, it is told anew: names, absent names, attributes, pages."""
    make_all(second.ontology(ontology) / "documents")
    here, there = first.mountpoint / ontology, second.mountpoint / ontology
    watched = [*(f"documents/{name}" for name in NAMES), *NAMES]
    in_time(lambda: here.exists() and alike(here, there, watched), 5)
    before = shown(here, watched)
    assert before["documents/new.txt"] == ("absent",)
    CHANGES[change](there / "documents")
    in_time(lambda: alike(here, there, watched))
    assert shown(here, watched) != before


def test_the_kernel_really_keeps_what_it_was_told(first: Place, second: Place, ontology: str) -> None:
    """Otherwise nothing in this file proves anything."""
    make_all(second.ontology(ontology) / "documents")
    here = first.mountpoint / ontology / "documents"
    in_time((here / "l").is_symlink)

    def asked() -> dict[str, int]:
        lines = (first.mountpoint / ".kgfs/metrics.prom").read_text().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("kgfs_fuse_requests_total"))
        return {name: int(count) for name, count in pairs}

    def look() -> None:
        for _ in range(50):
            (here / "a.txt").stat()
            assert not (here / "absent").exists()
            held.seek(0)
            held.read()

    def costs_nothing() -> bool:
        look()
        start = asked()
        cost = {name: count - start[name] for name, count in asked().items()}
        before = asked()
        look()
        return {name: count - before[name] for name, count in asked().items()} == cost

    with open(here / "a.txt", "rb", buffering=0) as held:
        until(costs_nothing)  # its settling is news too


def test_ontologies_come_and_go(first: Place, second: Place) -> None:
    here, there = first.mountpoint / "Passing", second.mountpoint / "Passing"
    assert not here.exists()
    there.mkdir()
    in_time(lambda: here.is_dir() and "Passing" in os.listdir(first.mountpoint))
    assert (here / "documents").is_dir()
    os.rename(there, there.with_name("Renamed"))
    in_time(lambda: not here.exists() and here.with_name("Renamed").is_dir())
    assert (here.with_name("Renamed") / "documents").is_dir()
    os.rmdir(there.with_name("Renamed"))
    in_time(lambda: not here.with_name("Renamed").exists())
    assert {"Passing", "Renamed"}.isdisjoint(os.listdir(first.mountpoint))


# ------------------------------------------------------------------------------- what is held meanwhile


def test_a_held_file_keeps_its_bytes(first: Place, second: Place, ontology: str) -> None:
    there = second.ontology(ontology) / "documents"
    here = first.mountpoint / ontology / "documents"
    old = os.urandom(300_000)
    for name in ("replaced", "removed"):
        (there / name).write_bytes(old)
    in_time((here / "removed").exists)
    with open(here / "replaced", "rb", buffering=0) as replaced, open(here / "removed", "rb", buffering=0) as removed:
        inode = os.fstat(replaced.fileno()).st_ino
        assert replaced.read(1000) + removed.read(1000) == old[:1000] * 2
        (there / "aside").write_bytes(b"another")
        os.replace(there / "aside", there / "replaced")
        (there / "removed").unlink()
        in_time(lambda: (here / "replaced").read_bytes() == b"another" and not (here / "removed").exists())
        assert (here / "replaced").stat().st_ino != inode
        for held in (replaced, removed):
            held.seek(0)
            assert held.read() == old
            assert os.fstat(held.fileno()).st_size == len(old)


def test_an_open_file_does_not_hide_what_is_written_elsewhere(first: Place, second: Place, ontology: str) -> None:
    there = second.ontology(ontology) / "documents/log"
    here = first.mountpoint / ontology / "documents/log"
    there.write_bytes(b"a" * 200_000)
    in_time(here.exists)
    with open(here, "rb", buffering=0) as held:
        assert held.read() == b"a" * 200_000
        there.write_bytes(b"b" * 150_000)
        in_time(lambda: here.read_bytes() == b"b" * 150_000)
        for _ in range(3):
            held.seek(0)
            held.read()
            assert here.read_bytes() == b"b" * 150_000


def test_standing_in_a_folder_that_is_renamed_elsewhere(first: Place, second: Place, ontology: str) -> None:
    there = second.ontology(ontology) / "documents"
    here = first.mountpoint / ontology / "documents"
    make_all(there)
    in_time((here / "sub/deep/x.txt").exists)
    with subprocess.Popen(["cat"], cwd=here / "sub/deep", stdin=subprocess.PIPE) as standing:
        folder = os.open(here / "sub", os.O_RDONLY)
        try:
            os.rename(there / "sub", there / "other")
            in_time(lambda: (here / "other/deep").is_dir() and not (here / "sub").exists())
            assert sorted(os.listdir(folder)) == ["deep", "inner.txt"]
            assert os.listdir(f"/proc/{standing.pid}/cwd") == ["x.txt"]
            assert (here / "other/deep/x.txt").read_bytes() == (there / "other/deep/x.txt").read_bytes()
        finally:
            os.close(folder)


def test_of_two_who_make_one_name_one_wins(first: Place, second: Place, ontology: str) -> None:
    places = [second.ontology(ontology) / "documents", first.mountpoint / ontology / "documents"]
    in_time(places[1].is_dir)
    won: list[tuple[int, int]] = []
    strange: list[OSError] = []

    def make(who: int) -> None:
        for n in range(40):
            try:
                descriptor = os.open(places[who] / f"{n}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                continue
            except OSError as error:
                strange.append(error)
                continue
            os.write(descriptor, f"{who}".encode())
            os.close(descriptor)
            won.append((n, who))

    makers = [threading.Thread(target=make, args=(who,)) for who in (0, 1)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(30)
    assert strange == []
    assert sorted(n for n, _ in won) == list(range(40))
    for place in places:
        in_time(lambda place=place: {(int(n), int((place / n).read_text())) for n in os.listdir(place)} == set(won))


# --------------------------------------------------------------------------------- the command line, the worker


def unlisted(place: Place, ontology: str, known: Shown) -> list[str]:
    """Short ways to concepts and files, and all that was ever known."""
    names = {os.path.basename(name) for name in known if name.split("/")[:1] in (["concepts"], ["documents"])}
    return [*sorted(names), *known]


def test_ingest_and_worker_of_another_process(tmp_path: Path) -> None:
    """Each step leaves the mount, which was looked at all over before, with what a fresh mount shows."""
    (tmp_path / "zen.md").write_text(ZEN)
    (tmp_path / "gc.txt").write_text(GARBAGE)
    (tmp_path / "zen2.md").write_text(ZEN.replace("koan", "mondo").replace("Koan", "Mondo"))
    steps: dict[str, tuple[tuple[str | Path, ...], ...]] = {
        "first document": (("ingest", tmp_path / "zen.md", "--ontology", "A", "--no-wait"),),
        "it is read": (("worker", "--until-idle"),),
        "another document": (("ingest", tmp_path / "gc.txt", "--ontology", "A", "--as", "sub/gc.txt"),),
        "a new version": (("ingest", tmp_path / "zen2.md", "--ontology", "A", "--as", "zen.md"),),
        "another ontology": (("ingest", tmp_path / "zen.md", "--ontology", "B"),),
    }
    with mounted_place(tmp_path, "--no-worker") as place:
        here = place.mountpoint / "A"
        known: Shown = {}

        def compare() -> None:
            nonlocal known
            watched = unlisted(place, "A", known)
            with mounted_again(place, "fresh") as fresh:
                in_time(lambda: alike(here, fresh.mountpoint / "A", watched))
            known = {**known, **shown(here, unlisted(place, "A", shown(here, watched)))}

        assert not here.exists()
        for commands in steps.values():
            for words in commands:
                place.run(*words)
            compare()
        assert "zen.concept" in os.listdir(here / "concepts")
        before = set(os.listdir(here / "concepts"))
        with mounted_again(place, "remover") as other:
            (other.mountpoint / "A/documents/sub/gc.txt").unlink()
            in_time(lambda: not (here / "documents/sub/gc.txt").exists() and not (here / "gc.txt").exists())
        place.run("worker", "--until-idle")
        compare()
        assert set(os.listdir(here / "concepts")) < before
