"""Claims of docs/semantics.md about who sees what and when: VIS, REN, ATOM, LIST, LOCK."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import EEXIST, EINVAL, EPERM
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.support.mounting import Library, MakeLibrary, run
from tests.support.running import Place, until
from tests.support.scenarios.filesystem import EXCHANGE, NOREPLACE, fails_with
from tests.support.scenarios.mounted import MountDriver
from tests.support.seeing import in_time
from tests.support.small_mount import ROOT

pytestmark = pytest.mark.mounted
claim = pytest.mark.claim

NOTE = "The garbage collector is a program that reclaims memory. Reference counting is a form of garbage collection.\n"


def soon(true: Callable[[], object]) -> None:
    """As news arrives."""
    in_time(true)


@pytest.fixture(scope="module")
def second(place: Place) -> Iterator[Place]:
    """The same home once more, at another place."""
    other = Place(place.home, place.mountpoint.with_name("second"), place.environment)
    other.mountpoint.mkdir()
    try:
        yield other.mount("--no-worker")
    finally:
        other.run("umount", other.mountpoint, expect=None)


@pytest.fixture
def elsewhere(library: Library, second: Place) -> Path:
    """documents/ of ``library`` on the second mount."""
    folder = second.mountpoint / library.name / "documents"
    soon(folder.exists)
    return folder


# --------------------------------------------------------------------------------------- one mount


@claim("VIS-1")
@pytest.mark.parametrize("piece", [10, 50_000])
def test_what_was_written_is_seen_before_close(library: Library, piece: int) -> None:
    path = library.documents / "a.bin"
    path.touch()
    expected = b""
    with path.open("ab", buffering=0) as writer, path.open("rb", buffering=0) as reader:
        for number in range(4):
            data = bytes([number + 1]) * piece
            writer.write(data)
            expected += data
            assert path.stat().st_size == os.fstat(reader.fileno()).st_size == len(expected)
            assert reader.read() == data
            assert run("sha256sum", path).split()[0] == run("bash", "-c", f"cat '{path}' | sha256sum").split()[0]
            assert path.read_bytes() == expected


@claim("VIS-5")
@pytest.mark.parametrize("size", [100, 300_000])
def test_a_reader_keeps_the_old_bytes_of_what_is_replaced(library: Library, size: int) -> None:
    old, new = b"o" * size, b"n" * size
    path = library.documents / "a.bin"
    path.write_bytes(old)
    library.settled()
    inode = path.stat().st_ino
    with path.open("rb") as reader, path.open("rb") as late, path.open("rb") as mapped_file:
        mapped = mmap.mmap(mapped_file.fileno(), 0, access=mmap.ACCESS_READ)
        assert reader.read(10) == old[:10]
        beside = library.documents / "new.tmp"
        beside.write_bytes(new)
        beside.rename(path)
        assert path.read_bytes() == new
        assert path.stat().st_ino != inode
        library.settled()
        assert reader.read() == old[10:]
        assert late.read() == old
        assert mapped[:] == old
        assert os.fstat(late.fileno()).st_size == size
        mapped.close()
    path.unlink()
    assert not path.exists()


@claim("VIS-5")
def test_an_unlinked_file_lives_until_it_is_closed(library: Library) -> None:
    path = library.documents / "a.bin"
    path.write_bytes(b"o" * 100_000)
    library.settled()
    with path.open("r+b", buffering=0) as file:
        path.unlink()
        library.settled()
        assert os.fstat(file.fileno()).st_nlink == 0
        file.seek(50_000)
        file.write(b"x" * 100_000)
        file.truncate(120_000)
        file.seek(0)
        assert file.read() == b"o" * 50_000 + b"x" * 70_000
        os.fsync(file.fileno())
    library.settled()
    assert os.listdir(library.documents) == []
    assert len(library.minted()) == 1


@claim("VIS-5")
@pytest.mark.parametrize(
    "change",
    [
        lambda file: os.ftruncate(file.fileno(), 0),
        lambda file: os.pwrite(file.fileno(), b"x", 0),
        lambda file: os.close(os.open(f"/proc/self/fd/{file.fileno()}", os.O_WRONLY | os.O_TRUNC)),
    ],
    ids=["ftruncate", "write", "truncating"],
)
def test_an_unlinked_file_tells_when_it_was_changed(library: Library, change: Callable[[BinaryIO], object]) -> None:
    path = library.documents / "a.bin"
    path.write_bytes(b"o" * 100_000)
    with path.open("r+b", buffering=0) as file:
        os.utime(path, ns=(0, 0))
        path.unlink()
        before = os.fstat(file.fileno())
        change(file)
        after = os.fstat(file.fileno())
    assert before.st_mtime_ns == 0
    assert after.st_mtime_ns > before.st_ctime_ns
    assert after.st_ctime_ns > before.st_ctime_ns


@claim("VIS-5")
def test_a_reader_sees_what_is_written_in_place(library: Library) -> None:
    path = library.documents / "a.txt"
    path.write_bytes(b"one two three")
    library.settled()
    inode = path.stat().st_ino
    with path.open("rb", buffering=0) as reader, path.open("r+b", buffering=0) as writer:
        writer.seek(4)
        writer.write(b"TWO")
        assert reader.read() == b"one TWO three"
        assert path.stat().st_ino == inode
        writer.truncate(7)
        reader.seek(0)
        assert reader.read() == b"one TWO"


# ------------------------------------------------------------------------------------- elsewhere


@claim("VIS-2", "VIS-3")
def test_another_mount_sees_it_after_close(library: Library, elsewhere: Path) -> None:
    here, there = library.documents / "a.txt", elsewhere / "a.txt"
    assert not there.exists(), "its absence is remembered there"
    with here.open("wb", buffering=0) as writer:
        writer.write(b"first")
        time.sleep(0.4)
        assert not there.exists() or there.read_bytes() == b"", "not kept yet"
    soon(there.exists)
    soon(lambda: there.read_bytes() == b"first")
    for number in range(5):
        here.write_bytes(b"version %d" % number * (number + 1))
        soon(lambda number=number: there.read_bytes() == b"version %d" % number * (number + 1))  # type: ignore[misc]
        assert there.stat().st_size == here.stat().st_size
        assert there.stat().st_mtime_ns == here.stat().st_mtime_ns
    there.write_bytes(b"from there")
    soon(lambda: here.read_bytes() == b"from there")
    here.rename(library.documents / "b.txt")
    soon(lambda: not there.exists() and (elsewhere / "b.txt").exists())
    assert os.listdir(elsewhere) == ["b.txt"]
    (library.documents / "b.txt").chmod(0o600)
    soon(lambda: (elsewhere / "b.txt").stat().st_mode & 0o777 == 0o600)
    (elsewhere / "b.txt").unlink()
    soon(lambda: not (library.documents / "b.txt").exists())
    assert os.listdir(library.documents) == []


@claim("VIS-4", "ATOM-1")
def test_concepts_appear_whole(empty: Library, tmp_path: Path) -> None:
    """While another process commits, whoever sees a concept's folder finds all of it."""
    library = empty
    incomplete: list[str] = []
    stop = threading.Event()
    seen: set[str] = set()

    def look() -> None:
        concepts = library.top / "concepts"
        while not stop.is_set():
            for name in os.listdir(concepts):
                seen.add(name)
                for wanted in (
                    "concept.md",
                    "evidence/1/source.txt",
                    "evidence/1/quote.txt",
                    "evidence/1/citation.json",
                ):
                    try:
                        (concepts / name / wanted).read_bytes()
                    except OSError as error:
                        incomplete.append(f"{name}/{wanted}: {error}")

    looker = threading.Thread(target=look)
    looker.start()
    try:
        library.place.run("ingest", ROOT / "examples" / "pep-0020.rst", "--ontology", library.name)
        soon(lambda: os.listdir(library.top / "concepts"))
        found = os.listdir(library.top / "concepts")
        soon(lambda: (library.top / "text" / "pep-0020.rst.md").exists())
        soon(lambda: len(os.listdir(library.top / "archive")) == 1)
        soon(lambda: "pep-0020" in (library.top / "about.md").read_text())
        until(lambda: len(seen) == len(found))
    finally:
        stop.set()
        looker.join()
    assert incomplete == []
    name = found[0]
    shortcut = library.top / name
    assert shortcut.is_symlink()
    assert (shortcut / "concept.md").read_bytes() == (library.top / "concepts" / name / "concept.md").read_bytes()


def _read(path: Path) -> str:
    """'' for what is not there, or not any more."""
    with suppress(FileNotFoundError):
        return path.read_text()
    return ""


@claim("VIS-6", "VIS-7")
def test_evidence_stays_until_its_successor_is_read(empty: Library) -> None:
    library = empty
    note = library.documents / "note.txt"
    note.write_text(NOTE)
    library.settled()
    library.place.run("worker", "--until-idle")
    soon(lambda: os.listdir(library.top / "concepts"))
    concept = library.top / "concepts" / min(os.listdir(library.top / "concepts"))
    piece = concept / "evidence" / "1"
    assert json.loads((piece / "citation.json").read_text())["stale"] is False
    assert (piece / "document").resolve() == note
    quote, page = (piece / "quote.txt").read_text(), (concept / "concept.md").read_text()
    with (piece / "source.txt").open() as reader:
        before = (piece / "source.txt").read_text()
        note.write_text("Nothing of this is left. A kettle is a vessel that boils water. The kettle boils water.\n")
        library.settled()
        soon(lambda: json.loads((piece / "citation.json").read_text())["stale"] is True)
        assert (piece / "quote.txt").read_text() == quote
        assert "versions/note.txt@/1.txt" in os.readlink(piece / "document")
        assert (piece / "document").read_text() == NOTE
        library.place.run("worker", "--until-idle")
        soon(lambda: _read(concept / "concept.md") != page)
        assert reader.read() == before, "what was opened stays as it was"
    soon(lambda: not concept.exists())


@claim("VIS-6")
@pytest.mark.parametrize("name", ["a-much-longer-name.txt", "n"], ids=["longer", "shorter"])
def test_an_open_file_keeps_its_size_while_others_get_the_new_one(name: str, empty: Library) -> None:
    """Read only after the change: to the end of the old bytes, and not as far as the new ones reach."""
    library = empty
    note = library.documents / "note.txt"
    note.write_text(NOTE)
    library.settled()
    library.place.run("worker", "--until-idle")
    soon(lambda: os.listdir(library.top / "concepts"))
    cited = library.top / "concepts" / min(os.listdir(library.top / "concepts")) / "evidence" / "1" / "citation.json"
    before = cited.read_bytes()
    with cited.open("rb", buffering=0) as reader, cited.open("rb", buffering=0) as other:
        first = other.read(10)
        note.rename(note.with_name(name))
        soon(lambda: f'documents/{name}"' in cited.read_text())
        after = cited.read_bytes()
        assert len(after) != len(before)
        assert cited.stat().st_size == len(after) == int(run("stat", "-c", "%s", cited))
        assert run("find", cited.parent, "-name", cited.name, "-size", f"{len(after)}c").splitlines() == [str(cited)]
        assert os.fstat(reader.fileno()).st_size == len(before)
        assert reader.read() == before
        assert first + other.read() == before
        assert cited.read_bytes() == after
    assert cited.read_bytes() == after
    assert cited.stat().st_size == len(after)


# ------------------------------------------------------------------------------------- renaming


@claim("REN-1")
def test_a_name_that_is_replaced_is_never_missing(library: Library) -> None:
    path = library.documents / "a.bin"
    contents = [bytes([number]) * 70_000 for number in (1, 2)]
    path.write_bytes(contents[0])
    wrong: list[object] = []
    looked = 0
    stop = threading.Event()

    def look() -> None:
        nonlocal looked
        while not stop.is_set():
            try:
                if path.read_bytes() not in contents:
                    wrong.append("neither old nor new")
            except OSError as error:
                wrong.append(error)
            looked += 1

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for number in range(60):
            beside = library.documents / f"beside-{number}"
            beside.write_bytes(contents[number % 2])
            beside.rename(path)
        until(lambda: looked > 60)
    finally:
        stop.set()
        for looker in lookers:
            looker.join()
    assert wrong == []


@claim("REN-2")
def test_renaming_with_conditions(library: Library) -> None:
    driver = MountDriver(library.documents)
    for name in ("a", "b"):
        (library.documents / name).write_text(name)
    with fails_with(EEXIST):
        driver.rename(b"a", b"b", NOREPLACE)
    with fails_with(EINVAL):
        driver.rename(b"a", b"b", EXCHANGE)
    with fails_with(EINVAL):
        driver.rename(b"a", b"c", 4)
    driver.rename(b"a", b"c", NOREPLACE)
    assert {path.name: path.read_text() for path in library.documents.iterdir()} == {"b": "b", "c": "a"}


@claim("REN-4")
def test_an_open_file_follows_its_name(library: Library) -> None:
    """Through a rename of its own, of a folder above it, and into another ontology's folder."""
    (library.documents / "one").mkdir()
    path = library.documents / "one" / "a.txt"
    with path.open("wb", buffering=0) as file:
        file.write(b"before ")
        path.rename(library.documents / "one" / "b.txt")
        file.write(b"between ")
        (library.documents / "one").rename(library.documents / "two")
        file.write(b"after")
        assert (library.documents / "two" / "b.txt").read_bytes() == b"before between after"
    library.settled()
    assert [(name, n) for name, n, _ in library.minted()] == [("two/b.txt", 1)]
    assert (library.documents / "two" / "b.txt").read_bytes() == b"before between after"


@claim("REN-5")
def test_an_ontology_is_renamed(library: Library, make_library: MakeLibrary) -> None:
    other = make_library()
    (library.documents / "a.txt").write_text("a")
    library.settled()
    old, top = library.top, library.place.mountpoint
    with (library.documents / "a.txt").open() as held:
        with fails_with(EEXIST):
            old.rename(other.top)
        with fails_with(EPERM):
            old.rename(other.documents / "inside")
        with fails_with(EPERM):
            old.rename(top / ".hidden")
        library.name += "-renamed"
        old.rename(library.top)
        assert not old.exists()
        assert (library.documents / "a.txt").read_text() == "a"
        assert held.read() == "a"
    assert library.history("a.txt") == [b"a"]


# ----------------------------------------------------------------------------------- listing, locks


@claim("LIST-1")
def test_a_listing_under_change_has_what_stays_once(library: Library, elsewhere: Path) -> None:
    """Whoever changes it, here or elsewhere, and in whatever order it is read on."""
    stay = [f"stay-{number:04}" for number in range(300)]
    go = [f"go-{number:04}" for number in range(150)]
    for name in stay + go:
        (library.documents / name).touch()
    soon(lambda: len(os.listdir(elsewhere)) == 450)
    with os.scandir(library.documents) as scan:
        seen = [next(scan).name for _ in range(10)]
        for number, name in enumerate(go):
            ((library.documents if number % 2 else elsewhere) / name).unlink()
            ((elsewhere if number % 2 else library.documents) / f"come-{number:04}").touch()
        time.sleep(0.3)
        seen += [entry.name for entry in scan]
    assert sorted(name for name in seen if name.startswith("stay")) == stay
    assert len(seen) == len(set(seen))
    soon(lambda: len(os.listdir(library.documents)) == 450)


@claim("LIST-2")
def test_positions_in_a_folder_stay_good(library: Library) -> None:
    """telldir, changes, seekdir: the listing goes on where it was."""
    for number in range(100):
        (library.documents / f"{number:03}").touch()
    shown = subprocess.run(
        [sys.executable, "-c", SEEK, library.documents], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    before, after = shown[: shown.index("--")], shown[shown.index("--") + 1 :]
    assert set(before) | set(after) >= {f"{number:03}" for number in range(100)} - {"050"}
    assert not set(before) & set(after)


SEEK = """
import ctypes, os, sys
class Entry(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_ulong), ("off", ctypes.c_long), ("len", ctypes.c_ushort), ("type", ctypes.c_ubyte),
                ("name", ctypes.c_char * 256)]
libc = ctypes.CDLL(None)
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Entry)
libc.readdir.argtypes = libc.telldir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
folder = libc.opendir(os.fsencode(sys.argv[1]))
def take():
    found = libc.readdir(folder)
    return found.contents.name.decode() if found else ""
for _ in range(30):
    print(take())
place = libc.telldir(folder)
while take():
    pass
os.unlink(sys.argv[1] + "/050")
open(sys.argv[1] + "/100", "w")
libc.seekdir(folder, place)
print("--")
while name := take():
    print(name)
"""


@claim("LOCK-1", "LOCK-2")
def test_locks_hold_within_a_mount_and_not_between_two(library: Library, elsewhere: Path) -> None:
    path = library.documents / "locked"
    path.touch()
    soon((elsewhere / "locked").exists)
    for lock, errors in ((fcntl.flock, BlockingIOError), (fcntl.lockf, (BlockingIOError, PermissionError))):
        with path.open("r+b") as holder, (elsewhere / "locked").open("r+b") as other:
            lock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock is fcntl.flock:
                with path.open("r+b") as rival, pytest.raises(errors):
                    lock(rival, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                run(sys.executable, "-c", LOCKF, path, code=7)


LOCKF = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(7)
"""
