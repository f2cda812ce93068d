"""What every program may expect of ``documents/``. Each scenario starts with an empty folder of its own."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

import pytest

from tests.support.scenarios.driver import Driver, read_file, write_file

Scenario = Callable[[Driver], None]
SCENARIOS: list[Scenario] = []

NOREPLACE, EXCHANGE = 1, 2


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


def fails_with(*numbers: int) -> pytest.RaisesExc[OSError]:
    return pytest.RaisesExc(OSError, check=lambda error: error.errno in numbers)


# ------------------------------------------------------------------------------------------------- content


@scenario
def create_and_read(driver: Driver) -> None:
    write_file(driver, b"a.txt", b"one\ntwo\n")
    assert read_file(driver, b"a.txt") == b"one\ntwo\n"
    found = driver.stat(b"a.txt")
    assert stat.S_ISREG(found.mode)
    assert found.size == 8
    assert found.nlink == 1
    assert driver.listdir() == [b"a.txt"]


@scenario
def empty_file(driver: Driver) -> None:
    write_file(driver, b"empty", b"")
    assert driver.stat(b"empty").size == 0
    assert read_file(driver, b"empty") == b""


@scenario
def large_file(driver: Driver) -> None:
    content = bytes(range(256)) * 4096 * 3 + b"end"
    write_file(driver, b"large.bin", content)
    assert driver.stat(b"large.bin").size == len(content)
    assert read_file(driver, b"large.bin") == content
    opened = driver.open(b"large.bin", os.O_RDONLY)
    assert opened.read(10, len(content) - 5) == content[-5:]
    assert opened.read(10, len(content) + 1) == b""
    assert opened.read(300, 1_000_000) == content[1_000_000:1_000_300]
    opened.close()


@scenario
def append(driver: Driver) -> None:
    write_file(driver, b"log", b"first\n")
    for line in (b"second\n", b"third\n"):
        opened = driver.open(b"log", os.O_WRONLY | os.O_APPEND)
        opened.write(line)
        opened.close()
    assert read_file(driver, b"log") == b"first\nsecond\nthird\n"


@scenario
def two_appenders(driver: Driver) -> None:
    write_file(driver, b"log", b"")
    one = driver.open(b"log", os.O_WRONLY | os.O_APPEND)
    two = driver.open(b"log", os.O_WRONLY | os.O_APPEND)
    for opened, word in ((one, b"a"), (two, b"b"), (one, b"c"), (two, b"d")):
        opened.write(word)
    one.close()
    two.close()
    assert read_file(driver, b"log") == b"abcd"


@scenario
def write_in_the_middle(driver: Driver) -> None:
    write_file(driver, b"a", b"0123456789")
    opened = driver.open(b"a", os.O_RDWR)
    opened.write(b"XY", 4)
    assert opened.read(10, 0) == b"0123XY6789"
    opened.close()
    assert read_file(driver, b"a") == b"0123XY6789"


@scenario
def write_past_the_end(driver: Driver) -> None:
    write_file(driver, b"a", b"start")
    opened = driver.open(b"a", os.O_RDWR)
    opened.write(b"end", 10)
    opened.close()
    assert read_file(driver, b"a") == b"start" + bytes(5) + b"end"


@scenario
def read_back_before_close(driver: Driver) -> None:
    opened = driver.open(b"a", os.O_RDWR | os.O_CREAT)
    opened.write(b"fresh", 0)
    assert opened.read(100, 0) == b"fresh"
    assert opened.stat().size == 5
    assert driver.stat(b"a").size == 5
    opened.sync()
    opened.write(b"er", 5)
    opened.close()
    assert read_file(driver, b"a") == b"fresher"


@scenario
def overwrite(driver: Driver) -> None:
    write_file(driver, b"a", b"a long first content")
    write_file(driver, b"a", b"short")
    assert read_file(driver, b"a") == b"short"
    assert driver.stat(b"a").size == 5


@scenario
def truncate_by_path(driver: Driver) -> None:
    write_file(driver, b"a", b"0123456789")
    driver.truncate(b"a", 4)
    assert read_file(driver, b"a") == b"0123"
    driver.truncate(b"a", 8)
    assert read_file(driver, b"a") == b"0123" + bytes(4)
    driver.truncate(b"a", 0)
    assert driver.stat(b"a").size == 0
    assert read_file(driver, b"a") == b""


@scenario
def truncate_by_handle(driver: Driver) -> None:
    write_file(driver, b"a", b"0123456789")
    opened = driver.open(b"a", os.O_RDWR)
    opened.truncate(3)
    assert opened.stat().size == 3
    opened.write(b"X", 3)
    opened.close()
    assert read_file(driver, b"a") == b"012X"


@scenario
def exclusive_create(driver: Driver) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    driver.open(b"lock", flags).close()
    with fails_with(errno.EEXIST):
        driver.open(b"lock", flags)


@scenario
def open_without_create(driver: Driver) -> None:
    with fails_with(errno.ENOENT):
        driver.open(b"nothing", os.O_RDONLY)
    with fails_with(errno.ENOENT):
        driver.stat(b"nothing")
    write_file(driver, b"nothing", b"now something")
    assert read_file(driver, b"nothing") == b"now something"


@scenario
def truncate_on_open(driver: Driver) -> None:
    write_file(driver, b"a", b"before")
    opened = driver.open(b"a", os.O_WRONLY | os.O_TRUNC)
    assert driver.stat(b"a").size == 0
    opened.write(b"x", 0)
    opened.close()
    assert read_file(driver, b"a") == b"x"


@scenario
def content_changes_move_the_times(driver: Driver) -> None:
    write_file(driver, b"a", b"before")
    driver.utime(b"a", 10**18, 10**18)
    opened = driver.open(b"a", os.O_WRONLY)
    opened.write(b"after!", 0)
    opened.close()
    assert driver.stat(b"a").mtime_ns > 10**18


# ------------------------------------------------------------------------------------------------- folders


@scenario
def folders(driver: Driver) -> None:
    driver.mkdir(b"one")
    driver.mkdir(b"one/two")
    write_file(driver, b"one/two/three.txt", b"3")
    assert stat.S_ISDIR(driver.stat(b"one/two").mode)
    assert driver.listdir(b"one") == [b"two"]
    assert read_file(driver, b"one/two/three.txt") == b"3"
    with fails_with(errno.EEXIST):
        driver.mkdir(b"one")
    with fails_with(errno.ENOENT):
        driver.mkdir(b"none/two")
    with fails_with(errno.ENOTEMPTY):
        driver.rmdir(b"one/two")
    driver.unlink(b"one/two/three.txt")
    driver.rmdir(b"one/two")
    assert driver.listdir(b"one") == []
    with fails_with(errno.ENOENT):
        driver.rmdir(b"one/two")


@scenario
def types_are_not_confused(driver: Driver) -> None:
    driver.mkdir(b"folder")
    write_file(driver, b"file", b"f")
    with fails_with(errno.EISDIR):
        driver.unlink(b"folder")
    with fails_with(errno.ENOTDIR):
        driver.rmdir(b"file")
    with fails_with(errno.EISDIR):
        driver.open(b"folder", os.O_WRONLY)
    with fails_with(errno.ENOTDIR):
        driver.stat(b"file/inside")
    with fails_with(errno.EISDIR):
        driver.rename(b"file", b"folder")
    with fails_with(errno.ENOTDIR):
        driver.rename(b"folder", b"file")


@scenario
def a_folder_of_many(driver: Driver) -> None:
    names = [b"name-%04d.txt" % i for i in range(300)]
    for name in names:
        write_file(driver, name, name)
    assert sorted(driver.listdir()) == names
    assert driver.stat(names[7]).size == len(names[7])


@scenario
def listing_under_change(driver: Driver) -> None:
    """What stays is listed exactly once, whatever comes and goes meanwhile."""
    stay = [b"stay-%04d" % i for i in range(200)]
    go = [b"go-%04d" % i for i in range(200)]
    for name in stay + go:
        write_file(driver, name, b"")
    folder = driver.open_folder(b"")
    seen = folder.take(10)
    for name in go:
        driver.unlink(name)
    for i in range(200):
        write_file(driver, b"come-%04d" % i, b"")
    seen += folder.take(1000)
    folder.close()
    assert sorted(name for name in seen if name.startswith(b"stay")) == stay
    assert len(seen) == len(set(seen))
    assert sorted(driver.listdir()) == sorted(stay + [b"come-%04d" % i for i in range(200)])


# ------------------------------------------------------------------------------------------- renames, removal


@scenario
def rename_file(driver: Driver) -> None:
    write_file(driver, b"old", b"content")
    inode = driver.stat(b"old").inode
    driver.rename(b"old", b"new")
    assert driver.listdir() == [b"new"]
    assert read_file(driver, b"new") == b"content"
    assert driver.stat(b"new").inode == inode
    with fails_with(errno.ENOENT):
        driver.stat(b"old")
    with fails_with(errno.ENOENT):
        driver.rename(b"old", b"other")


@scenario
def rename_across_folders(driver: Driver) -> None:
    driver.mkdir(b"a")
    driver.mkdir(b"b")
    write_file(driver, b"a/x", b"x")
    driver.rename(b"a/x", b"b/y")
    assert driver.listdir(b"a") == []
    assert read_file(driver, b"b/y") == b"x"


@scenario
def rename_over(driver: Driver) -> None:
    write_file(driver, b"a", b"new")
    write_file(driver, b"b", b"old")
    driver.rename(b"a", b"b")
    assert driver.listdir() == [b"b"]
    assert read_file(driver, b"b") == b"new"


@scenario
def rename_over_an_open_file(driver: Driver) -> None:
    write_file(driver, b"a", b"new")
    write_file(driver, b"b", b"old")
    opened = driver.open(b"b", os.O_RDONLY)
    driver.rename(b"a", b"b")
    assert opened.read(10, 0) == b"old"
    opened.close()
    assert read_file(driver, b"b") == b"new"


@scenario
def rename_without_replacing(driver: Driver) -> None:
    write_file(driver, b"a", b"a")
    write_file(driver, b"b", b"b")
    with fails_with(errno.EEXIST):
        driver.rename(b"a", b"b", NOREPLACE)
    driver.rename(b"a", b"c", NOREPLACE)
    assert sorted(driver.listdir()) == [b"b", b"c"]
    assert read_file(driver, b"b") == b"b"


@scenario
def exchange_is_refused(driver: Driver) -> None:
    write_file(driver, b"a", b"a")
    write_file(driver, b"b", b"b")
    with fails_with(errno.EINVAL):
        driver.rename(b"a", b"b", EXCHANGE)
    assert read_file(driver, b"a") == b"a"


@scenario
def rename_folder(driver: Driver) -> None:
    driver.mkdir(b"old")
    driver.mkdir(b"old/deep")
    write_file(driver, b"old/deep/x", b"x")
    driver.rename(b"old", b"new")
    assert read_file(driver, b"new/deep/x") == b"x"
    driver.mkdir(b"empty")
    driver.rename(b"new", b"empty")
    assert driver.listdir() == [b"empty"]
    assert driver.listdir(b"empty") == [b"deep"]
    driver.mkdir(b"other")
    with fails_with(errno.ENOTEMPTY):
        driver.rename(b"other", b"empty")


@scenario
def save_as_editors_do(driver: Driver) -> None:
    """Write beside, move aside, move into place."""
    write_file(driver, b"note.txt", b"first")
    write_file(driver, b".note.txt.swp", b"second")
    driver.rename(b"note.txt", b"note.txt~")
    driver.rename(b".note.txt.swp", b"note.txt")
    driver.unlink(b"note.txt~")
    assert driver.listdir() == [b"note.txt"]
    assert read_file(driver, b"note.txt") == b"second"


@scenario
def unlink_while_open(driver: Driver) -> None:
    write_file(driver, b"a", b"still here")
    opened = driver.open(b"a", os.O_RDWR)
    driver.unlink(b"a")
    assert driver.listdir() == []
    assert opened.read(100, 0) == b"still here"
    opened.write(b"!", 10)
    assert opened.read(100, 0) == b"still here!"
    found = opened.stat()
    assert found.nlink == 0
    assert found.size == 11
    write_file(driver, b"a", b"another")
    assert opened.read(5, 0) == b"still"
    opened.close()
    assert read_file(driver, b"a") == b"another"


@scenario
def remove_and_make_again(driver: Driver) -> None:
    for round_ in range(5):
        write_file(driver, b"a", b"%d" % round_)
        assert read_file(driver, b"a") == b"%d" % round_
        driver.unlink(b"a")
        with fails_with(errno.ENOENT):
            driver.stat(b"a")
        driver.mkdir(b"a")
        driver.rmdir(b"a")


# ------------------------------------------------------------------------------------------------------ links


@scenario
def symbolic_links(driver: Driver) -> None:
    write_file(driver, b"target", b"t")
    driver.symlink(b"target", b"link")
    driver.symlink(b"../no/such\xff thing", b"dangling")
    assert driver.readlink(b"link") == b"target"
    assert driver.readlink(b"dangling") == b"../no/such\xff thing"
    assert stat.S_ISLNK(driver.stat(b"link").mode)
    assert driver.stat(b"link").size == 6
    with fails_with(errno.EEXIST):
        driver.symlink(b"x", b"link")
    driver.unlink(b"link")
    assert read_file(driver, b"target") == b"t"


@scenario
def hard_links_and_devices_are_refused(driver: Driver) -> None:
    write_file(driver, b"a", b"a")
    with fails_with(errno.EPERM):
        driver.link(b"a", b"b")
    with fails_with(errno.EPERM):
        driver.mkfifo(b"pipe")
    assert driver.listdir() == [b"a"]


# ------------------------------------------------------------------------------------------------------ names


@scenario
def strange_names(driver: Driver) -> None:
    names = [
        b"with space",
        b"with\nnewline",
        b"with\ttab",
        b"100%",
        b"%41",
        b"-rf",
        b"invalid \xff\xfe utf8",
        "Grüße 本 𝕏.txt".encode(),
        b"\xc2\x85control",
        b"'quotes\" and \\backslash",
        b"n" * 255,
    ]
    for name in names:
        write_file(driver, name, name)
    assert sorted(driver.listdir()) == sorted(names)
    for name in names:
        assert read_file(driver, name) == name
        driver.unlink(name)
    assert driver.listdir() == []


@scenario
def names_too_long(driver: Driver) -> None:
    with fails_with(errno.ENAMETOOLONG):
        write_file(driver, b"n" * 256, b"")
    with fails_with(errno.ENAMETOOLONG):
        driver.mkdir(b"n" * 256)
    with fails_with(errno.ENAMETOOLONG):
        driver.stat(b"n" * 256)
    write_file(driver, b"a", b"")
    with fails_with(errno.ENAMETOOLONG):
        driver.rename(b"a", b"n" * 256)
    assert driver.listdir() == [b"a"]


# ------------------------------------------------------------------------------------------------- attributes


@scenario
def modes(driver: Driver) -> None:
    write_file(driver, b"a", b"x")
    driver.chmod(b"a", 0o600)
    assert stat.S_IMODE(driver.stat(b"a").mode) == 0o600
    driver.chmod(b"a", 0o755)
    assert stat.S_IMODE(driver.stat(b"a").mode) == 0o755
    driver.mkdir(b"folder", 0o700)
    assert stat.S_IMODE(driver.stat(b"folder").mode) == 0o700
    opened = driver.open(b"readonly", os.O_WRONLY | os.O_CREAT, 0o400)
    opened.write(b"written all the same", 0)
    opened.close()
    assert stat.S_IMODE(driver.stat(b"readonly").mode) == 0o400


@scenario
def times(driver: Driver) -> None:
    write_file(driver, b"a", b"x")
    driver.utime(b"a", 1_234_567_890_123_456_789, 987_654_321_987_654_321)
    found = driver.stat(b"a")
    assert (found.atime_ns, found.mtime_ns) == (1_234_567_890_123_456_789, 987_654_321_987_654_321)
    driver.mkdir(b"folder")
    driver.utime(b"folder", 10**18, 2 * 10**18)
    assert driver.stat(b"folder").mtime_ns == 2 * 10**18
    write_file(driver, b"folder/new", b"")
    assert driver.stat(b"folder").mtime_ns != 2 * 10**18


@scenario
def owners(driver: Driver) -> None:
    write_file(driver, b"a", b"x")
    assert (driver.stat(b"a").uid, driver.stat(b"a").gid) == (os.getuid(), os.getgid())
    if os.getuid() == 0:
        driver.chown(b"a", 1234, 4321)
        assert (driver.stat(b"a").uid, driver.stat(b"a").gid) == (1234, 4321)
    driver.chown(b"a", os.getuid(), os.getgid())


@scenario
def group_of_a_set_group_id_folder(driver: Driver) -> None:
    driver.mkdir(b"shared")
    driver.chmod(b"shared", 0o2775)
    gid = driver.stat(b"shared").gid
    driver.mkdir(b"shared/inner")
    write_file(driver, b"shared/a", b"")
    assert driver.stat(b"shared/a").gid == gid
    assert driver.stat(b"shared/inner").mode & stat.S_ISGID


@scenario
def space(driver: Driver) -> None:
    assert driver.free_bytes() > 0


@scenario
def extended_attributes(driver: Driver) -> None:
    write_file(driver, b"a", b"x")
    for name in ("user.kgfs.nothing_like_it", "user.other"):
        with fails_with(errno.ENODATA):
            driver.getxattr(b"a", name)
    with fails_with(errno.EOPNOTSUPP):
        driver.setxattr(b"a", "user.other", b"value")
    for name in driver.listxattr(b"a"):
        assert name.startswith("user.kgfs.")
        assert isinstance(driver.getxattr(b"a", name), bytes)
