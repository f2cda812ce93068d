"""Claims of docs/semantics.md about times, sizes, permissions, names and what is refused."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import stat
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import chdir
from errno import (
    EACCES,
    EBUSY,
    EEXIST,
    EFBIG,
    EINVAL,
    EISDIR,
    ENAMETOOLONG,
    ENODATA,
    ENOENT,
    ENOSPC,
    ENOSYS,
    ENOTEMPTY,
    ENOTTY,
    EOPNOTSUPP,
    EPERM,
    EROFS,
    errorcode,
)
from pathlib import Path

import pytest

from tests.support.mounting import Library, catalog_of, mounted_place, run, sha
from tests.support.running import until
from tests.support.scenarios.filesystem import fails_with
from tests.support.small_mount import ROOT

pytestmark = pytest.mark.mounted
claim = pytest.mark.claim

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """An ontology with concepts, two versions of a file, a folder, and names that are no documents."""
    with mounted_place(tmp_path_factory.mktemp("known"), "--no-worker") as place:
        place.run("ingest", ROOT / "examples" / "pep-0020.rst", "--ontology", "Known")
        with catalog_of(place) as catalog:
            library = Library(place, catalog, "Known")
            (library.documents / "sub").mkdir()
            (library.documents / "sub" / "Grüße 本.md").write_text("# Grüße\n\nA greeting is a kind of sign.\n" * 3)
            (library.documents / "link").symlink_to("sub")
            (library.documents / ".hidden").write_text("hidden")
            (library.documents / "empty").touch()
            (library.documents / "data.bin").write_bytes(bytes(range(256)) * 1000)
            library.settled()
            (library.documents / "data.bin").write_bytes(bytes(range(256)) * 999)
            library.settled()
            place.run("worker", "--until-idle")
            until(
                lambda: (
                    "greeting.concept" in os.listdir(library.top / "concepts")
                    or len(os.listdir(library.top / "text")) > 1
                )
            )
            yield library


# ------------------------------------------------------------------------------------------- times


@claim("TIME-4")
def test_reading_leaves_all_times(library: Library) -> None:
    path = library.documents / "a.txt"
    path.write_text("a")
    os.utime(path, (1000, 2000))
    before = path.stat()
    path.read_bytes()
    os.listdir(library.documents)
    library.settled()
    after = path.stat()
    assert (after.st_atime_ns, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_atime_ns,
        before.st_mtime_ns,
        before.st_ctime_ns,
    ), "neither reading nor settling touches them"


@claim("TIME-5")
def test_a_derived_file_that_changes_is_newer(empty: Library) -> None:
    library = empty
    note = library.documents / "note.txt"
    sentences = (
        "The garbage collector is a program that reclaims memory. The garbage collector uses a tracing algorithm.\n"
    )
    note.write_text(sentences)
    library.settled()
    library.place.run("worker", "--until-idle")
    until(lambda: os.listdir(library.top / "concepts"))
    watched = [library.top / "about.md", *library.top.glob("concepts/*/concept.md"), *library.top.glob("text/*")]
    assert len(watched) > 3
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in watched}
    (library.documents / "other.txt").write_text(sentences.replace("tracing algorithm", "reference count"))
    library.settled()
    library.place.run("worker", "--until-idle")
    until(lambda: len(list(library.top.glob("text/*"))) == 2)
    time.sleep(0.3)
    changed = [path for path in watched if path.exists() and path.read_bytes() != before[path][0]]
    assert changed
    for path in changed:
        assert path.stat().st_mtime_ns > before[path][1], path
    for path in set(watched) - set(changed):
        assert path.stat().st_size == len(before[path][0]), path


# ------------------------------------------------------------------------------------------- sizes


@claim("SIZE-1", "SIZE-2", "SIZE-5")
def test_every_size_is_exact(known: Library) -> None:
    top = known.place.mountpoint
    number = 0
    for folder, folders, files in os.walk(top):
        if folder == str(top):
            folders.remove(".kgfs")
        for name in [*folders, *files]:
            path = Path(folder, name)
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                assert about.st_size == len(path.read_bytes()), path
                assert about.st_blocks == -(-about.st_size // 512), path
                number += 1
            elif stat.S_ISLNK(about.st_mode):
                assert about.st_size == len(os.fsencode(os.readlink(path))), path
            else:
                assert (about.st_size, about.st_nlink) == (0, 1), path
    assert number > 100


@claim("SIZE-3")
def test_holes_are_zeros_and_count_in_full(library: Library) -> None:
    path = library.documents / "holes.bin"
    with path.open("wb", buffering=0) as file:
        file.seek(200_000)
        file.write(b"after the first hole")
        file.truncate(1_000_000)
    content = bytes(200_000) + b"after the first hole"
    content += bytes(1_000_000 - len(content))
    for _ in range(2):
        assert path.read_bytes() == content
        assert path.stat().st_blocks == -(-1_000_000 // 512)
        with path.open("rb") as file:
            assert os.lseek(file.fileno(), 0, os.SEEK_DATA) == 0
            assert os.lseek(file.fileno(), 0, os.SEEK_HOLE) == 1_000_000
        library.settled()
    assert library.minted() == [("holes.bin", 1, sha(content))]


@claim("SIZE-3")
@pytest.mark.logs("would not fit")
def test_a_hole_larger_than_the_disk_is_refused_at_once(tmp_path: Path) -> None:
    """It would be hashed for hours, while its writer waits for close() and cannot be killed."""
    contents = {"small.img": b"small", "large.img": bytes(100_000)}
    with mounted_place(tmp_path, "--no-worker", declared=("would not fit",)) as place, catalog_of(place) as catalog:
        library = Library(place, catalog, "Library")
        library.top.mkdir()
        space = os.statvfs(library.documents)
        beyond = space.f_blocks * space.f_frsize + (1 << 30)
        for name, content in contents.items():
            path = library.documents / name
            path.write_bytes(content)
            with path.open("r+b", buffering=0) as file:
                with fails_with(ENOSPC):
                    file.truncate(beyond)
                with fails_with(ENOSPC):
                    os.pwrite(file.fileno(), b"x", beyond)
                assert os.fstat(file.fileno()).st_size == len(content)
            with fails_with(ENOSPC):
                os.truncate(path, beyond)
            assert path.read_bytes() == content
        library.settled()
        assert library.minted() == [(name, 1, sha(content)) for name, content in contents.items()]


@claim("SIZE-3")
def test_a_file_longer_than_the_setting_allows_is_refused_at_once(tmp_path: Path) -> None:
    limit, large = 10 << 20, os.urandom(9 << 20)
    with (
        mounted_place(tmp_path, "--no-worker", env={"KGFS_TREE_MAX_FILE": str(limit)}) as place,
        catalog_of(place) as catalog,
    ):
        library = Library(place, catalog, "Library")
        library.top.mkdir()
        path = library.documents / "large.bin"
        path.write_bytes(large)
        library.settled()
        for size in (limit + 1, 1 << 41, (1 << 63) - 1):
            with fails_with(EFBIG):
                os.truncate(path, size)
            with path.open("r+b", buffering=0) as file:
                with fails_with(EFBIG):
                    file.truncate(size)
                with fails_with(EFBIG):
                    os.pwrite(file.fileno(), b"x", size - 1)
                file.seek(size - 1)
                with fails_with(EFBIG):
                    file.write(b"x")
        assert path.read_bytes() == large
        library.settled()
        assert library.minted() == [("large.bin", 1, sha(large))], "nothing was written anew"
        os.truncate(path, limit)
        with path.open("ab", buffering=0) as file, fails_with(EFBIG):
            file.write(b"x")
        assert path.stat().st_size == limit
        (tmp_path / "source").write_bytes(bytes(limit + 1))
        reported = place.run("ingest", tmp_path / "source", "--ontology", "Library", expect=3)
        assert "tree.max_file" in reported.stderr


# --------------------------------------------------------------------------------------- permissions


@claim("PERM-5", "REF-5")
def test_what_is_derived_cannot_be_changed(known: Library) -> None:
    """By root no more than by anybody."""
    concept = next((known.top / "concepts").iterdir())
    archive = next((known.top / "archive").iterdir())
    files = [
        known.place.mountpoint / "README.md",
        known.place.mountpoint / ".kgfs" / "status.json",
        known.top / "about.md",
        known.top / ".ignore",
        known.top / "versions" / "data.bin@" / "1.bin",
        known.top / "text" / "pep-0020.rst.md",
        archive / "metadata.json",
        concept / "concept.md",
        concept / "evidence" / "1" / "source.txt",
        concept / "evidence" / "1" / "citation.json",
    ]
    folders = [known.top / part for part in ("archive", "concepts", "text", "versions")] + [
        archive,
        concept,
        concept / "evidence",
    ]
    changes: list[Callable[[Path], object]] = [
        lambda path: path.chmod(0o777),
        lambda path: os.utime(path, (1, 1)),
        lambda path: os.chown(path, os.getuid(), os.getgid()),
    ]
    for path in files:
        before = path.read_bytes()
        assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid) == (0o644, os.getuid()), path
        attempts = [*changes, lambda path: path.open("r+b"), lambda path: path.open("ab"), lambda path: path.open("wb")]
        attempts += [os.unlink, lambda path: os.truncate(path, 0), lambda path: path.rename(known.documents / "stolen")]
        for change in attempts:
            assert _errno(change, path) == EROFS, path
        if ".kgfs" not in path.parts:
            assert path.read_bytes() == before
    for path in folders:
        assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid) == (0o755, os.getuid()), path
        attempts = [*changes, lambda path: (path / "new").touch(), lambda path: (path / "new").mkdir()]
        attempts += [lambda path: (path / "new").symlink_to("x"), lambda path: path.rename(known.top / "elsewhere")]
        attempts += [lambda path: (known.documents / "empty").rename(path / "new")]
        for change in attempts:
            assert _errno(change, path) == EROFS, path
        assert _errno(os.rmdir, path) in (EROFS, ENOTEMPTY), path
    assert not (known.documents / "stolen").exists()


def _errno(change: Callable[[Path], object], path: Path) -> int:
    try:
        change(path)
    except OSError as error:
        return error.errno or -1
    return 0


@claim("PERM-4")
def test_set_id_bits_and_devices_have_no_power(library: Library) -> None:
    flags = os.statvfs(library.documents).f_flag
    assert flags & os.ST_NOSUID
    assert flags & os.ST_NODEV


# ------------------------------------------------------------------------------------------- names


@claim("NAME-1", "NAME-2")
def test_names_are_bytes(library: Library) -> None:
    """Upper and lower case, composed and decomposed, valid and not: all are different names, and come back as given."""
    word = "Ångström"
    names = {
        *(form.encode() for form in (unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word))),
        *(
            form.encode()
            for form in ("straße", "STRASSE", "strasse", "Straße", "ſtrasse", "İ", "i̇", "I", "ı", "ﬁ", "fi")
        ),
        *(
            b"\xff\xfe",
            b"\xe9",
            b"%FF",
            b"%ff",
            b"%",
            b"new\nline",
            b"\x01\x7f",
            b" ",
            b". ",
            b"...",
            b"..a",
            b"~",
            b"-",
        ),
        *("\u202eabc".encode(), "a\u200b".encode(), b"a", "\ufeffa".encode(), b"\xed\xa0\x80"),
        *("ä".encode() * 127 + b"x", b"n" * 255, b".hidden", b"a:b", b"con", b"a.", b"a "),
    }
    folder = os.fsencode(library.documents)
    for name in names:
        with open(folder + b"/" + name, "xb") as file:
            file.write(name)
    assert set(os.listdir(folder)) == names
    library.settled()
    for name in names:
        assert _bytes(folder + b"/" + name) == name
        os.rename(folder + b"/" + name, folder + b"/x" + name[:200])
        os.rename(folder + b"/x" + name[:200], folder + b"/" + name)
    assert set(os.listdir(folder)) == names
    assert not os.path.exists(folder + "/STRAßE".encode())
    with fails_with(ENAMETOOLONG):
        os.mkdir(folder + b"/" + b"n" * 256)


def _bytes(path: bytes) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@claim("NAME-3", "LIST-3")
def test_dots(library: Library) -> None:
    (library.documents / "sub").mkdir()
    sub = f"{library.documents}/sub"
    assert os.stat(f"{sub}/.").st_ino == os.stat(sub).st_ino
    assert os.stat(f"{sub}/..").st_ino == library.documents.stat().st_ino
    assert os.stat(f"{sub}/../../..").st_ino == library.place.mountpoint.stat().st_ino
    assert os.stat(f"{library.place.mountpoint}/..").st_ino == library.place.mountpoint.parent.stat().st_ino
    with fails_with(EINVAL, ENOTEMPTY, EBUSY):
        os.rmdir(f"{sub}/.")
    with pytest.raises(ValueError, match="null"):
        (library.documents / "a\0b").touch()
    (library.documents / "sub" / ".hidden").touch()
    assert run("ls", "-A", sub).split() == [".hidden"]
    assert run("ls", "-aU", sub).split() == [".", "..", ".hidden"]
    numbers = dict(reversed(line.split()) for line in run("ls", "-1aiU", sub).splitlines())
    assert int(numbers["."]) == os.stat(sub).st_ino
    assert int(numbers[".."]) == library.documents.stat().st_ino
    assert run("ls", "-aU", library.place.mountpoint).split()[:2] == [".", ".."]
    (library.documents / "empty").mkdir()
    assert run("ls", "-aU", f"{library.documents}/empty").split() == [".", ".."]


# ------------------------------------------------------------------------------------------- refused

TMPFILE, FICLONE, GETFLAGS, SETFLAGS = os.O_RDWR | os.O_TMPFILE, 0x40049409, 0x80086601, 0x40086602
PUNCH, KEEP, COLLAPSE, ZERO = 3, 1, 8, 16


def _socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)


def fallocate(descriptor: int, mode: int) -> None:
    if _libc.fallocate(descriptor, mode, 0, 4096) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


@claim("REF-1", "REF-2", "REF-3", "REF-8")
def test_what_documents_cannot_do(library: Library) -> None:
    path = library.documents / "a.txt"
    path.write_text("a")
    with path.open("r+b") as file:
        number = file.fileno()
        refused: list[tuple[Callable[[], object], tuple[int, ...]]] = [
            (lambda: os.link(path, library.documents / "hard"), (EPERM,)),
            (lambda: os.mkfifo(library.documents / "pipe"), (EPERM,)),
            (lambda: _socket("s"), (EPERM,)),
            (lambda: os.open(library.documents, TMPFILE), (EOPNOTSUPP,)),
            (lambda: fcntl.ioctl(number, FICLONE, number), (EOPNOTSUPP,)),
            (lambda: fcntl.ioctl(number, GETFLAGS, bytes(8)), (ENOTTY, EOPNOTSUPP)),
            (lambda: fcntl.ioctl(number, SETFLAGS, bytes(8)), (ENOTTY, EOPNOTSUPP)),
            (lambda: fcntl.ioctl(number, 0x1234, bytes(8)), (ENOTTY,)),
            *((lambda mode=mode: fallocate(number, mode), (EOPNOTSUPP,)) for mode in (0, KEEP, PUNCH, COLLAPSE, ZERO)),
        ]
        with chdir(library.documents):
            for attempt, numbers in refused:
                with fails_with(*numbers):
                    attempt()
    assert os.listdir(library.documents) == ["a.txt"]
    for _ in range(2):  # nothing was switched off by it
        path.write_text("again")
        assert path.read_text() == "again"
        assert os.listxattr(path)


@pytest.mark.root
@claim("REF-2")
def test_there_are_no_devices(library: Library) -> None:
    with fails_with(EPERM):
        os.mknod(library.documents / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    with fails_with(EPERM):
        os.mknod(library.documents / "loop", 0o600 | stat.S_IFBLK, os.makedev(7, 0))


@claim("REF-4", "XATTR-1")
def test_extended_attributes(library: Library) -> None:
    path = library.documents / "a.txt"
    path.write_text("a")
    library.settled()
    assert os.getxattr(path, "user.kgfs.sha256") == sha(b"a").encode()
    known = ("decision", "doc_id", "key", "reason", "sha256", "state")
    assert sorted(os.listxattr(path)) == [f"user.kgfs.{name}" for name in known]
    assert os.getxattr(path, "user.kgfs.decision") == b"insert"
    refused: list[tuple[Callable[[], object], int]] = [
        (lambda: os.getxattr(path, "user.other"), ENODATA),
        (lambda: os.setxattr(path, "user.other", b"x"), EOPNOTSUPP),
        (lambda: os.setxattr(path, "user.kgfs.sha256", b"x"), EOPNOTSUPP),
        (lambda: os.removexattr(path, "user.kgfs.sha256"), EOPNOTSUPP),
        (lambda: os.removexattr(path, "user.other"), ENODATA),
        (lambda: os.getxattr(path, "security.selinux"), EOPNOTSUPP),
        (lambda: os.getxattr(path, "system.posix_acl_access"), EOPNOTSUPP),
        (lambda: os.setxattr(path, "trusted.x", b"x"), EOPNOTSUPP if os.geteuid() == 0 else EPERM),
    ]
    for _ in range(2):
        for attempt, number in refused:
            with fails_with(number):
                attempt()


@claim("REF-6", "REF-7")
def test_what_stands_where(library: Library) -> None:
    """Files, links and folders in an ontology, which are those of documents/, ontologies at the root, and nothing under kgfs's own names."""
    top, root = library.top, library.place.mountpoint
    for name in ("concepts.concept", "insights", "map.html"):
        with fails_with(EPERM):
            (top / name).touch()
    for name in ("about.md", "text", ".ignore"):
        with fails_with(EROFS, EISDIR):
            (top / name).write_text("x")
    with fails_with(EPERM):
        (top / "insights").mkdir()
    (top / "folder").mkdir()
    assert (library.documents / "folder").is_dir()
    assert (library.documents / "folder").stat().st_ino != (top / "folder").stat().st_ino
    for attempt in (root / "file").touch, (root / ".dot").mkdir:
        with fails_with(EPERM):
            attempt()
    with fails_with(EEXIST):
        (root / "ask").mkdir()
    with fails_with(EPERM):
        (root / "link").symlink_to("x")
    (top / "note.txt").write_text("note")
    assert (library.documents / "note.txt").read_text() == "note"
    with fails_with(ENOTEMPTY):
        top.rmdir()
    (top / "note.txt").rename(top / "moved.txt")
    assert sorted(os.listdir(library.documents)) == ["folder", "moved.txt"]
    (top / "moved.txt").unlink()
    (library.documents / "folder").rmdir()
    top.rmdir()
    assert not top.exists()
    with fails_with(ENOENT):
        (library.documents / "a").touch()


@claim("REF-8")
def test_nothing_answers_enosys(library: Library) -> None:
    """Each system call that takes a path or a descriptor, twice: an ENOSYS would switch it off for all."""
    path = library.documents / "a.txt"
    path.write_text("a")
    (library.documents / "d").mkdir()
    (library.documents / "l").symlink_to("a.txt")
    with path.open("r+b") as file:
        number = file.fileno()
        calls: list[Callable[[], object]] = [
            lambda: os.stat(path), lambda: os.statvfs(path), lambda: os.access(path, os.R_OK), lambda: os.readlink(path),
            lambda: os.listxattr(path), lambda: os.getxattr(path, "user.x"), lambda: os.setxattr(path, "user.x", b""),
            lambda: os.removexattr(path, "user.x"), lambda: os.link(path, f"{path}2"), lambda: os.mkfifo(f"{path}3"),
            lambda: os.fsync(number), lambda: os.fdatasync(number), lambda: os.sync(), lambda: os.lseek(number, 0, 3),
            lambda: os.posix_fallocate(number, 0, 1), lambda: os.posix_fadvise(number, 0, 0, 0),
            lambda: fallocate(number, PUNCH), lambda: fcntl.flock(number, fcntl.LOCK_SH),
            lambda: fcntl.lockf(number, fcntl.LOCK_EX), lambda: fcntl.ioctl(number, FICLONE, number),
            lambda: fcntl.ioctl(number, 0x1234, bytes(8)), lambda: os.copy_file_range(number, number, 1, 0, 1),
            lambda: os.sendfile(number, number, 0, 1), lambda: os.open(library.documents, TMPFILE),
            lambda: os.close(os.open(library.documents, os.O_RDONLY)), lambda: os.rmdir(path), lambda: os.unlink(f"{path}9"),
            lambda: os.rename(path, path), lambda: os.chmod(path, 0o600), lambda: os.utime(path), lambda: os.truncate(path, 1),
            lambda: _fsync_folder(library.documents), lambda: os.listdir(library.documents), lambda: os.mkdir(path),
        ]  # fmt: skip
        for call in calls * 2:
            try:
                call()
            except OSError as error:
                assert error.errno != ENOSYS
                assert error.errno in errorcode
                assert error.errno != EACCES


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
