"""The adapter alone: whatever the tree raises, only FUSEError leaves a handler, with the right number, never ENOSYS."""

from __future__ import annotations

import errno
import inspect
import logging
import os
from pathlib import Path
from typing import Any, cast

import pyfuse3
import pytest
import trio

from kgfs import errors
from kgfs.errors import KgfsError, StoreError, TimedOutError
from kgfs.fuse.adapter import Operations
from kgfs.tree.vfs import Vfs, space_of
from tests.support.depositing import desk_at
from tests.support.documents_tree import root_of
from tests.support.scenarios.small_tree import Tree

HANDLERS = sorted(
    name
    for name, member in inspect.getmembers(pyfuse3.Operations)
    if inspect.iscoroutinefunction(member) and name != "forget"
)


def _all(kind: type[KgfsError]) -> list[type[KgfsError]]:
    return [kind, *(one for child in kind.__subclasses__() for one in _all(child))]


KINDS = sorted({kind for kind in _all(KgfsError) if kind.__module__ == errors.__name__}, key=lambda kind: kind.__name__)


class RaisingVfs:
    """A tree in which everything fails in one way: ``late``, only where it may wait."""

    def __init__(self, error: BaseException, *, late: bool = False) -> None:
        self._error = error
        self._late = late

    def __getattr__(self, name: str) -> Any:
        if name in ("files", "folders"):
            return self
        return self._raise_late if self._late and name not in NEVER_WAIT else self._raise

    def _raise(self, *arguments: object) -> None:
        raise self._error

    async def _raise_late(self, *arguments: object) -> None:
        await trio.lowlevel.checkpoint()
        raise self._error


NEVER_WAIT = {"access", "statfs", "releasedir"}


class Context:
    uid, gid, pid, umask = 1000, 1000, 1, 0o22


def _arguments(name: str) -> list[Any]:
    """Something of the right type for each parameter of a handler."""
    values: dict[str, Any] = {
        "ctx": Context(),
        "attr": pyfuse3.EntryAttributes(),
        "fields": pyfuse3.SetattrFields(),
        "name": b"n",
        "name_old": b"n",
        "name_new": b"m",
        "new_name": b"n",
        "target": b"t",
        "value": b"v",
        "buf": b"b",
        "token": None,
        "poll_handle": None,
    }
    parameters = list(inspect.signature(getattr(pyfuse3.Operations, name)).parameters)[1:]
    return [values.get(parameter, 1) for parameter in parameters]


def _operations(error: BaseException, logged: list[BaseException], *, late: bool = False) -> Operations:
    return Operations(cast(Vfs, RaisingVfs(error, late=late)), lambda where, error: logged.append(error))


async def _number(operations: Operations, name: str) -> int | None:
    try:
        await getattr(operations, name)(*_arguments(name))
    except pyfuse3.FUSEError as error:
        return error.errno
    return None


NEVER_FAIL = {"poll"}
"""Handlers that ask the tree nothing."""


def test_every_handler_is_overridden() -> None:
    assert len(HANDLERS) > 25
    for name in [*HANDLERS, "forget", "init"]:
        assert name in vars(Operations), f"{name} would answer ENOSYS"
    assert not Operations.enable_writeback_cache


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("name", HANDLERS)
async def test_no_handler_answers_enosys(name: str, late: bool) -> None:
    unknown = [OSError(errno.ENOSYS, "not there"), NotImplementedError(), RuntimeError("in a library"), KeyError("bug")]
    for error in [*(kind("message") for kind in KINDS), *unknown]:
        number = await _number(_operations(error, [], late=late), name)
        assert number != errno.ENOSYS
        if name not in NEVER_FAIL:
            assert number == (error.errno if isinstance(error, KgfsError) else errno.EIO)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_every_error_has_its_number(kind: type[KgfsError]) -> None:
    assert kind.errno in errno.errorcode
    assert kind.errno != errno.ENOSYS
    assert await _number(_operations(kind("message"), []), "getattr") == kind.errno


async def test_a_store_that_passes_enosys_on_is_eio() -> None:
    error = StoreError("a call this kernel does not have")
    error.errno = errno.ENOSYS
    assert await _number(_operations(error, []), "write") == errno.EIO


async def test_an_unknown_exception_is_logged_once_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    logged: list[BaseException] = []
    operations = _operations(ZeroDivisionError("a bug"), logged)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert await _number(operations, "read") == errno.EIO
    assert [type(error) for error in logged] == [ZeroDivisionError]
    records = [record for record in caplog.records if record.exc_info]
    assert len(records) == 1
    assert "read" in records[0].getMessage()
    assert operations.requests.count("read") == 3
    assert 'kgfs_fuse_failures_total{operation="read",errno="EIO"} 3' in operations.requests.text()


@pytest.mark.parametrize("error", [StoreError("the disk"), TimedOutError("too slow")], ids=["store", "timeout"])
async def test_failures_of_a_backend_are_written_down(error: KgfsError) -> None:
    logged: list[BaseException] = []
    await _number(_operations(error, logged), "read")
    assert logged == [error]


async def test_what_users_get_wrong_is_not_written_down() -> None:
    logged: list[BaseException] = []
    await _number(_operations(errors.MissingError("no such thing"), logged), "lookup")
    assert logged == []


async def test_the_error_of_a_release_is_written_down_since_it_reaches_nobody() -> None:
    logged: list[BaseException] = []
    error = errors.BusyError("still held")
    await _number(_operations(error, logged), "release")
    assert logged == [error]


async def test_forget_never_raises() -> None:
    logged: list[BaseException] = []
    await _operations(ZeroDivisionError("a bug"), logged).forget([(1, 1)])
    assert len(logged) == 1


async def test_a_cancelled_request_is_answered() -> None:
    operations = _operations(errors.MissingError("unused"), [])
    operations._vfs = cast(Vfs, SleepingVfs())
    numbers = []
    with trio.CancelScope() as scope:
        scope.cancel()
        numbers.append(await _number(operations, "read"))
    assert numbers == [errno.ENOTCONN]


class SleepingVfs:
    @property
    def files(self) -> SleepingVfs:
        return self

    async def read(self, *arguments: object) -> bytes:
        await trio.sleep_forever()
        return b""


# ------------------------------------------------------------------------------------------- answers


@pytest.fixture
def operations() -> Operations:
    return Operations(Vfs(Tree(many=10).root, lambda: space_of("/")), lambda where, error: None)


CONTEXT = cast(pyfuse3.RequestContext, Context())


async def test_an_absent_name_is_an_answer_the_kernel_may_keep(operations: Operations) -> None:
    entry = await operations.lookup(1, b"nothing", CONTEXT)
    assert entry.st_ino == 0
    assert entry.entry_timeout >= 3600


async def test_attributes_are_complete(operations: Operations) -> None:
    entry = await operations.lookup(1, b"derived", CONTEXT)
    hello = await operations.lookup(entry.st_ino, b"hello.txt", CONTEXT)
    assert (hello.st_size, hello.st_mode & 0o7777, hello.st_nlink) == (15, 0o644, 1)
    assert hello.st_mtime_ns == 1_700_000_000_123_456_789
    assert hello.st_blocks == 1
    assert hello.entry_timeout >= 3600
    assert hello.attr_timeout >= 3600


async def test_only_what_is_shown_as_such_is_direct(operations: Operations) -> None:
    shown = await operations.lookup(1, b".kgfs", CONTEXT)
    now = await operations.lookup(shown.st_ino, b"now", CONTEXT)
    assert now.attr_timeout == 0
    assert (await operations.open(now.st_ino, 0, CONTEXT)).direct_io
    derived = await operations.lookup(1, b"derived", CONTEXT)
    hello = await operations.lookup(derived.st_ino, b"hello.txt", CONTEXT)
    opened = await operations.open(hello.st_ino, 0, CONTEXT)
    assert not opened.direct_io
    assert not opened.keep_cache, "what the kernel may have of it is not known"
    assert (await operations.open(hello.st_ino, 0, CONTEXT)).keep_cache


async def test_derived_things_refuse_to_change(operations: Operations) -> None:
    derived = await operations.lookup(1, b"derived", CONTEXT)
    for number, call in (
        (errno.EROFS, lambda: operations.mkdir(derived.st_ino, b"x", 0o755, CONTEXT)),
        (errno.EROFS, lambda: operations.create(derived.st_ino, b"x", 0o644, 1, CONTEXT)),
        (errno.EROFS, lambda: operations.unlink(derived.st_ino, b"hello.txt", CONTEXT)),
        (errno.EROFS, lambda: operations.rmdir(derived.st_ino, b"many", CONTEXT)),
        (errno.EROFS, lambda: operations.rename(derived.st_ino, b"link", derived.st_ino, b"y", 0, CONTEXT)),
        (errno.EINVAL, lambda: operations.rename(derived.st_ino, b"link", derived.st_ino, b"y", 2, CONTEXT)),
        (errno.EPERM, lambda: operations.link(derived.st_ino, derived.st_ino, b"y", CONTEXT)),
        (errno.EOPNOTSUPP, lambda: operations.getxattr(derived.st_ino, b"security.capability", CONTEXT)),
        (errno.EOPNOTSUPP, lambda: operations.setxattr(derived.st_ino, b"system.posix_acl_access", b"", CONTEXT)),
        (errno.ENODATA, lambda: operations.getxattr(derived.st_ino, b"user.any", CONTEXT)),
    ):
        with pytest.raises(pyfuse3.FUSEError) as raised:
            await call()
        assert raised.value.errno == number


async def test_the_caller_owns_what_it_makes(operations: Operations) -> None:
    documents = await operations.lookup(1, b"documents", CONTEXT)
    made = await operations.mkdir(documents.st_ino, b"mine", 0o750, CONTEXT)
    assert (made.st_uid, made.st_gid) == (Context.uid, Context.gid)


async def test_what_a_listing_will_be_asked_for_next_is_prepared_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bytes] = []
    monkeypatch.setattr(pyfuse3, "readdir_reply", lambda token, name, attr, position: _accept(answers, name, 10))
    vfs, complaints = Vfs(Tree(many=100).root, lambda: space_of("/")), list[str]()
    operations = Operations(vfs, lambda where, error: complaints.append(where))
    derived = await vfs.lookup(1, b"derived")
    assert derived is not None
    many = await vfs.lookup(derived.inode, b"many")
    assert many is not None
    fh = await vfs.opendir(many.inode)
    await operations.readdir(fh, 2, cast(Any, None))
    listing, _ = await vfs.folders.listing(fh, 2)
    assert (len(answers), sum(answer is not None for answer in listing.prepared)) == (10, 11)
    operations.meanwhile()
    assert [answer is not None for answer in listing.prepared] == [True] * 20 + [False] * 80
    operations.meanwhile()
    assert listing.prepared[20] is None, "what was not asked for since is not prepared for again"
    before = listing.prepared[15]
    answers.clear()
    await operations.readdir(fh, 12, cast(Any, None))
    assert (answers[0], listing.prepared[15]) == (b"name-000010.txt", before)
    monkeypatch.setattr(vfs.folders, "cached", RaisingVfs(StoreError("the disk is away"))._raise)
    operations.meanwhile()
    assert complaints == []


async def test_a_small_file_that_was_opened_is_read_meanwhile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk_at(home) as desk:
        desk.file("a.txt", b"a form of practice")
        desk.settle()
    with desk_at(home) as desk:
        operations = Operations(Vfs(root_of(desk), lambda: space_of("/")), lambda where, error: None)
        documents = await operations.lookup(1, b"documents", CONTEXT)
        found = await operations.lookup(documents.st_ino, b"a.txt", CONTEXT)
        opened = await operations.open(found.st_ino, os.O_RDONLY, CONTEXT)
        operations.meanwhile()
        for way in ("cached", "open"):
            monkeypatch.setattr(type(desk.stores.garage.objects), way, RaisingVfs(StoreError("too late"))._raise)
        assert await operations.read(opened.fh, 0, 100) == b"a form of practice"
        await operations.release(opened.fh)


def _accept(answers: list[bytes], name: bytes, room: int) -> bool:
    """The answer has room for so many."""
    if len(answers) < room:
        answers.append(name)
        return True
    return False
