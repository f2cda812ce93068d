"""What POSIX says an operation answers, and which times it moves: a table, tried on the mount and on a plain folder.

Each case is prepared as root in an empty folder, which is the current one, and acted with the rights of one user.
"""

from __future__ import annotations

import ctypes
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from errno import (
    EACCES,
    EBADF,
    EEXIST,
    EINVAL,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    ENOTEMPTY,
    EPERM,
    errorcode,
)
from pathlib import Path

import pytest

from tests.support.mounting import Library

pytestmark = [pytest.mark.mounted, pytest.mark.root, pytest.mark.claim("POSIX-3")]

ROOT, USER, OTHER = 0, 1001, 1002
"""The first owns everything unless a case says otherwise."""

_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """File rights of a user, of this thread alone, and without those of root."""
    _libc.setfsgid(uid)
    _libc.setfsuid(uid)
    try:
        yield
    finally:
        _libc.setfsuid(0)
        _libc.setfsgid(0)


def make(path: str, mode: int = 0o644, owner: int = ROOT, content: bytes = b"content") -> None:
    with open(path, "wb") as file:
        file.write(content)
    os.chown(path, owner, owner)
    os.chmod(path, mode)


def folder(path: str, mode: int = 0o755, owner: int = ROOT) -> None:
    os.mkdir(path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)


def open_(path: str, flags: int, mode: int = 0o644) -> None:
    os.close(os.open(path, flags, mode))


def rename(old: str, new: str, flags: int) -> None:
    if _libc.renameat2(-100, old.encode(), -100, new.encode(), flags) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def writing(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.write(descriptor, b"x")
    finally:
        os.close(descriptor)


def reading(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.read(descriptor, 1)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Case:
    name: str
    prepare: Callable[[], object]
    act: Callable[[], object]
    answer: int = 0
    """An errno; 0 for success."""
    actor: int = USER


def several(*calls: Callable[[], object]) -> Callable[[], object]:
    return lambda: [call() for call in calls]


LONG, LONGER = "n" * 255, "n" * 256
W, R, RW, C, X, T = os.O_WRONLY, os.O_RDONLY, os.O_RDWR, os.O_CREAT, os.O_EXCL, os.O_TRUNC

nothing = several()
a_file = several(lambda: make("a", owner=USER))
a_foreign_file = several(lambda: make("a", 0o600))
a_folder = several(lambda: folder("d", owner=USER))
a_full_folder = several(lambda: folder("d", owner=USER), lambda: make("d/a", owner=USER))
a_loop = several(lambda: os.symlink("loop", "loop"))
a_foreign_folder = several(lambda: folder("d", 0o755), lambda: make("d/a", 0o666))
a_closed_folder = several(lambda: folder("d", 0o700), lambda: make("d/a", 0o666))
a_sticky_folder = several(
    lambda: folder("d", 0o1777), lambda: make("d/theirs", 0o666, OTHER), lambda: make("d/mine", 0o666, USER)
)

CASES = [
    # ------------------------------------------------------------------------------------------------- open
    Case("open missing", nothing, lambda: open_("a", R), ENOENT),
    Case("open below a file", a_file, lambda: open_("a/b", R), ENOTDIR),
    Case("open below nothing", nothing, lambda: open_("d/a", C | W), ENOENT),
    Case("open exclusively what is there", a_file, lambda: open_("a", C | X | W), EEXIST),
    Case("open exclusively where a link dangles", lambda: os.symlink("no", "l"), lambda: open_("l", C | X | W), EEXIST),
    Case("open a loop", a_loop, lambda: open_("loop", R), ELOOP),
    Case("open a link that may not be followed", lambda: os.symlink("a", "l"), lambda: open_("l", R | os.O_NOFOLLOW), ELOOP),
    Case("open a file as a folder", a_file, lambda: open_("a", R | os.O_DIRECTORY), ENOTDIR),
    Case("open a folder to write", a_folder, lambda: open_("d", W), EISDIR),
    Case("open a folder to create", a_folder, lambda: open_("d", C | R), EISDIR),
    Case("open a folder to read", a_folder, lambda: open_("d", R)),
    Case("open the longest name", nothing, lambda: open_(LONG, C | W)),
    Case("open too long a name", nothing, lambda: open_(LONGER, C | W), ENAMETOOLONG),
    Case("open what may not be read", a_foreign_file, lambda: open_("a", R), EACCES),
    Case("open what may not be written", lambda: make("a", 0o444), lambda: open_("a", W), EACCES),
    Case("truncate what may not be written", lambda: make("a", 0o444), lambda: open_("a", R | T), EACCES),
    Case("open what its mode forbids its owner", lambda: make("a", 0o077, USER), lambda: open_("a", R), EACCES),
    Case("root opens anything", lambda: make("a", 0o000, USER), lambda: open_("a", RW), 0, ROOT),
    Case("create in a foreign folder", a_foreign_folder, lambda: open_("d/new", C | W), EACCES),
    Case("create without rights to write it", nothing, lambda: open_("a", C | X | W, 0o400)),
    Case("open through a closed folder", a_closed_folder, lambda: open_("d/a", R), EACCES),
    Case("write what was opened to read", a_file, lambda: writing("a"), EBADF),
    Case("read what was opened to write", a_file, lambda: reading("a"), EBADF),
    Case("append through a link", several(a_file, lambda: os.symlink("a", "l")), lambda: open_("l", W | os.O_APPEND)),
    Case("open with a slash behind", a_file, lambda: open_("a/", R), ENOTDIR),
    # ------------------------------------------------------------------------------------------------- mkdir
    Case("mkdir", nothing, lambda: os.mkdir("d")),
    Case("mkdir of what is there", a_folder, lambda: os.mkdir("d"), EEXIST),
    Case("mkdir over a file", a_file, lambda: os.mkdir("a"), EEXIST),
    Case("mkdir over a dangling link", lambda: os.symlink("no", "l"), lambda: os.mkdir("l"), EEXIST),
    Case("mkdir below a file", a_file, lambda: os.mkdir("a/d"), ENOTDIR),
    Case("mkdir below nothing", nothing, lambda: os.mkdir("no/d"), ENOENT),
    Case("mkdir with too long a name", nothing, lambda: os.mkdir(LONGER), ENAMETOOLONG),
    Case("mkdir with the longest name", nothing, lambda: os.mkdir(LONG)),
    Case("mkdir in a foreign folder", a_foreign_folder, lambda: os.mkdir("d/new"), EACCES),
    Case("mkdir through a loop", a_loop, lambda: os.mkdir("loop/d"), ELOOP),
    # ------------------------------------------------------------------------------------------------- rmdir
    Case("rmdir", a_folder, lambda: os.rmdir("d")),
    Case("rmdir of a full folder", a_full_folder, lambda: os.rmdir("d"), ENOTEMPTY),
    Case("rmdir of a file", a_file, lambda: os.rmdir("a"), ENOTDIR),
    Case("rmdir of a link to a folder", several(a_folder, lambda: os.symlink("d", "l")), lambda: os.rmdir("l"), ENOTDIR),
    Case("rmdir of nothing", nothing, lambda: os.rmdir("d"), ENOENT),
    Case("rmdir of .", a_folder, lambda: os.rmdir("d/."), EINVAL),
    Case("rmdir of ..", several(a_folder, lambda: folder("d/e", owner=USER)), lambda: os.rmdir("d/e/.."), ENOTEMPTY),
    Case("rmdir in a foreign folder", several(a_foreign_folder, lambda: folder("d/e", owner=USER)), lambda: os.rmdir("d/e"), EACCES),
    # ------------------------------------------------------------------------------------------------- unlink
    Case("unlink", a_file, lambda: os.unlink("a")),
    Case("unlink of nothing", nothing, lambda: os.unlink("a"), ENOENT),
    Case("unlink of a folder", a_folder, lambda: os.unlink("d"), EISDIR),
    Case("unlink below a file", a_file, lambda: os.unlink("a/b"), ENOTDIR),
    Case("unlink of a loop", several(a_loop, lambda: os.chown("loop", USER, USER, follow_symlinks=False)), lambda: os.unlink("loop")),
    Case("unlink in a foreign folder", a_foreign_folder, lambda: os.unlink("d/a"), EACCES),
    Case("unlink of another's file in one's own folder", lambda: make("a", 0o600, OTHER), lambda: os.unlink("a")),
    Case("unlink of another's file in a sticky folder", a_sticky_folder, lambda: os.unlink("d/theirs"), EPERM),
    Case("unlink of one's own file in a sticky folder", a_sticky_folder, lambda: os.unlink("d/mine")),
    # ------------------------------------------------------------------------------------------------- rename
    Case("rename", a_file, lambda: os.rename("a", "b")),
    Case("rename of nothing", nothing, lambda: os.rename("a", "b"), ENOENT),
    Case("rename into nothing", a_file, lambda: os.rename("a", "no/b"), ENOENT),
    Case("rename to itself", a_file, lambda: os.rename("a", "a")),
    Case("rename of a file over a folder", several(a_file, a_folder), lambda: os.rename("a", "d"), EISDIR),
    Case("rename of a folder over a file", several(a_file, a_folder), lambda: os.rename("d", "a"), ENOTDIR),
    Case("rename of a folder over an empty one", several(a_full_folder, lambda: folder("e", owner=USER)), lambda: os.rename("d", "e")),
    Case("rename of a folder over a full one", several(a_full_folder, lambda: folder("e", owner=USER)), lambda: os.rename("e", "d"), ENOTEMPTY),
    Case("rename of a folder below itself", a_folder, lambda: os.rename("d", "d/e"), EINVAL),
    Case("rename of a folder over the one it is in", several(a_folder, lambda: folder("d/e", owner=USER)), lambda: os.rename("d/e", "d"), ENOTEMPTY),
    Case("rename to too long a name", a_file, lambda: os.rename("a", LONGER), ENAMETOOLONG),
    Case("rename below a file", several(a_file, lambda: make("b", owner=USER)), lambda: os.rename("a", "b/c"), ENOTDIR),
    Case("rename out of a foreign folder", a_foreign_folder, lambda: os.rename("d/a", "a"), EACCES),
    Case("rename into a foreign folder", several(a_file, a_foreign_folder), lambda: os.rename("a", "d/b"), EACCES),
    Case("rename of another's file in a sticky folder", a_sticky_folder, lambda: os.rename("d/theirs", "d/x"), EPERM),
    Case("rename over another's file in a sticky folder", a_sticky_folder, lambda: os.rename("d/mine", "d/theirs"), EPERM),
    Case("rename without replacing", several(a_file, lambda: make("b", owner=USER)), lambda: rename("a", "b", 1), EEXIST),
    Case("rename of .", a_folder, lambda: os.rename("d/.", "e"), 16),
    # ------------------------------------------------------------------------------------------------- symlink
    Case("symlink", nothing, lambda: os.symlink("anything", "l")),
    Case("symlink over a file", a_file, lambda: os.symlink("x", "a"), EEXIST),
    Case("symlink below nothing", nothing, lambda: os.symlink("x", "no/l"), ENOENT),
    Case("symlink to nothing at all", nothing, lambda: os.symlink("", "l"), ENOENT),
    Case("symlink to a long target", nothing, lambda: os.symlink("t/" * 2000, "l")),
    Case("symlink to too long a target", nothing, lambda: os.symlink("t/" * 2048, "l"), ENAMETOOLONG),
    Case("symlink in a foreign folder", a_foreign_folder, lambda: os.symlink("x", "d/l"), EACCES),
    Case("readlink of a file", a_file, lambda: os.readlink("a"), EINVAL),
    # ------------------------------------------------------------------------------------------------- attributes
    Case("chmod", a_file, lambda: os.chmod("a", 0o600)),
    Case("chmod of another's file", a_foreign_file, lambda: os.chmod("a", 0o777), EPERM),
    Case("chmod of nothing", nothing, lambda: os.chmod("a", 0o600), ENOENT),
    Case("chmod through a loop", a_loop, lambda: os.chmod("loop", 0o600), ELOOP),
    Case("chown to another", a_file, lambda: os.chown("a", OTHER, -1), EPERM),
    Case("chown to a foreign group", a_file, lambda: os.chown("a", -1, OTHER), EPERM),
    Case("chown to oneself", a_file, lambda: os.chown("a", USER, USER)),
    Case("chown as root", a_file, lambda: os.chown("a", OTHER, OTHER), 0, ROOT),
    Case("utime of another's file", lambda: make("a", 0o666), lambda: os.utime("a", (1, 1)), EPERM),
    Case("touch of another's file that may be written", lambda: make("a", 0o666), lambda: os.utime("a")),
    Case("touch of another's file that may not", lambda: make("a", 0o644), lambda: os.utime("a"), EACCES),
    Case("utime", a_file, lambda: os.utime("a", (1, 2))),
    Case("utime before 1970", a_file, lambda: os.utime("a", ns=(-1_500_000_000, -10**9))),
    Case("utime beyond 2038", a_file, lambda: os.utime("a", (5_000_000_000, 5_000_000_000))),
    # ------------------------------------------------------------------------------------------------- truncate
    Case("truncate", a_file, lambda: os.truncate("a", 3)),
    Case("truncate to less than nothing", a_file, lambda: os.truncate("a", -1), EINVAL),
    Case("truncate of a folder", a_folder, lambda: os.truncate("d", 0), EISDIR),
    Case("truncate of nothing", nothing, lambda: os.truncate("a", 0), ENOENT),
    Case("truncate of another's file", lambda: make("a", 0o644), lambda: os.truncate("a", 0), EACCES),
    # ------------------------------------------------------------------------------------------------- folders
    Case("list a closed folder", a_closed_folder, lambda: os.listdir("d"), EACCES),
    Case("list a folder that may only be entered", lambda: folder("d", 0o711), lambda: os.listdir("d"), EACCES),
    Case("look into a folder that may only be listed", several(lambda: folder("d", 0o744), lambda: make("d/a")), lambda: os.stat("d/a"), EACCES),
    Case("list a file", a_file, lambda: os.listdir("a"), ENOTDIR),
    Case("enter a file", a_file, lambda: os.stat("a/."), ENOTDIR),
    Case("ask for rights", lambda: make("a", 0o640), lambda: open_("a", R), EACCES),
    Case("run what may not be run", a_file, lambda: _run("./a"), EACCES),
]  # fmt: skip


def _run(path: str) -> None:
    if not os.access(path, os.X_OK, effective_ids=True):
        raise PermissionError(EACCES, path)


@pytest.fixture
def sides(library: Library, tmp_path: Path) -> tuple[Path, Path]:
    plain = tmp_path / "plain"
    plain.mkdir()
    for side in (library.documents, plain):
        os.chown(side, USER, USER)
    return library.documents, plain


def answer(side: Path, case: Case) -> int:
    with chdir(side):
        try:
            case.prepare()
            with acting_as(case.actor):
                case.act()
        except OSError as error:
            return error.errno or -1
    return 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answer(case: Case, sides: tuple[Path, Path]) -> None:
    found = [answer(side, case) for side in sides]
    words = [errorcode.get(number, "success") for number in (*found, case.answer)]
    assert words == [words[2]] * 3, "on the mount, on the plain folder, in the table"
    assert _shape(sides[0]) == _shape(sides[1])


def _shape(side: Path) -> list[tuple[str, int, int, int]]:
    """What is there afterwards."""
    return sorted(
        (str(path.relative_to(side)), path.lstat().st_mode, path.lstat().st_uid, path.lstat().st_gid)
        for path in side.rglob("*")
    )


# --------------------------------------------------------------------------------------------- times

MOVES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "write": (a_file, lambda: _write("a", b"more")),
    "write nothing": (a_file, lambda: _write("a", b"")),
    "truncate": (a_file, lambda: os.truncate("a", 2)),
    "truncate to the same": (a_file, lambda: os.truncate("a", 7)),
    "open to truncate": (a_file, lambda: open_("a", W | T)),
    "open to truncate nothing": (lambda: make("a", content=b""), lambda: open_("a", W | T)),
    "open to append": (a_file, lambda: open_("a", W | os.O_APPEND)),
    "chmod": (a_file, lambda: os.chmod("a", 0o600)),
    "chown": (a_file, lambda: os.chown("a", USER, USER)),
    "utime": (a_file, lambda: os.utime("a", (5, 5))),
    "rename": (a_file, lambda: os.rename("a", "b")),
    "rename over": (several(a_file, lambda: make("b")), lambda: os.rename("a", "b")),
    "rename into": (several(a_file, a_folder), lambda: os.rename("a", "d/a")),
    "rename a folder": (several(a_full_folder), lambda: os.rename("d", "e")),
    "create": (a_folder, lambda: make("d/new")),
    "mkdir": (a_folder, lambda: os.mkdir("d/new")),
    "symlink": (a_folder, lambda: os.symlink("x", "d/new")),
    "unlink": (a_full_folder, lambda: os.unlink("d/a")),
    "rmdir": (several(a_folder, lambda: os.mkdir("d/e")), lambda: os.rmdir("d/e")),
    "read": (a_file, lambda: Path("a").read_bytes()),
    "list": (a_full_folder, lambda: os.listdir("d")),
    "fail": (a_full_folder, lambda: _fail(os.rmdir, "d")),
}


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, data)
    os.close(descriptor)


def _fail(call: Callable[[str], object], path: str) -> None:
    with pytest.raises(OSError, match="not empty"):
        call(path)


def moved(side: Path, prepare: Callable[[], object], act: Callable[[], object]) -> dict[str, tuple[bool, bool]]:
    """Of everything there before and after, by its kind and size: whether mtime and ctime moved."""
    with chdir(side):
        prepare()
        for path in [*Path().rglob("*"), Path()]:
            os.utime(path, (10**9, 10**9), follow_symlinks=False)
        time.sleep(0.02)  # ext4 knows ticks of the kernel only
        before = {path.lstat().st_ino: path.lstat() for path in [*Path().rglob("*"), Path()]}
        time.sleep(0.02)
        act()
        found = {}
        for path in [*Path().rglob("*"), Path()]:
            now, then = path.lstat(), before.get(path.lstat().st_ino)
            if then is not None:
                found[str(path)] = (now.st_mtime_ns != then.st_mtime_ns, now.st_ctime_ns != then.st_ctime_ns)
    return found


@pytest.mark.claim("TIME-2", "TIME-3", "TIME-6")
@pytest.mark.parametrize("name", MOVES)
def test_times_that_move(name: str, sides: tuple[Path, Path]) -> None:
    mounted, plain = (moved(side, *MOVES[name]) for side in sides)
    assert mounted == plain


@pytest.mark.claim("PERM-4")
def test_set_id_bits_leave_with_the_owner(sides: tuple[Path, Path]) -> None:
    """chown by root and a write by somebody else take away set-user-id and set-group-id."""
    found = []
    for side in sides:
        with chdir(side):
            make("a", 0o6777, USER)
            os.chown("a", OTHER, OTHER)
            after_chown = stat.S_IMODE(os.stat("a").st_mode)
            os.chmod("a", 0o6777)
            with acting_as(USER):
                _write("a", b"x")
            found.append((after_chown, stat.S_IMODE(os.stat("a").st_mode)))
    assert found == [(0o777, 0o777)] * 2
