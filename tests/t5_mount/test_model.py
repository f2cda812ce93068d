"""Random operations on documents/ of a mount and on a plain folder, side by side: the same results, the same errors."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kgfs.app.home import request_settling
from kgfs.config import load
from tests.support.mounting import mounted_place, settled
from tests.support.running import Place
from tests.support.scenarios.mounted import MountDriver, MountedFile

pytestmark = pytest.mark.mounted

SET_BEFORE = 1_500_000_000 * 10**9
"""Times below were set by a step; those above are of the clock, and differ on the two sides."""
LARGE = 70_000
"""More than what is kept as a row."""

paths = st.sampled_from([b"a", b"b", b"d", b"d/a", b"d/b", b"d/e", b"d/e/a", b"e", b"e/a", b"l", b"l/a", b"none"])
offsets = st.one_of(st.integers(0, 300), st.integers(0, LARGE * 3))
data = st.builds(
    lambda byte, length: bytes([byte]) * length, st.integers(1, 255), st.one_of(st.integers(0, 300), st.just(LARGE))
)
modes = st.integers(0, 0o777)
moments = st.integers(0, SET_BEFORE - 1)
flags = st.builds(
    lambda way, more: way | sum(more),
    st.sampled_from([os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_CREAT]),
    st.sets(st.sampled_from([os.O_TRUNC, os.O_APPEND, os.O_EXCL, os.O_CREAT, os.O_NOFOLLOW]), max_size=2),
).filter(lambda word: word & (os.O_EXCL | os.O_CREAT) != os.O_EXCL)
targets = st.sampled_from([b"a", b"d", b"d/a", b"../b", b"l", b"nowhere", b"e"])


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "ok", call()
    except OSError as error:
        return "failed", error.errno


def about(found: Any) -> tuple[Any, ...]:
    """What must be the same on both sides."""
    kind = stat.S_IFMT(found.mode)
    moment = found.mtime_ns if found.mtime_ns < SET_BEFORE else "clock"
    if kind == stat.S_IFREG:
        return kind, found.mode, found.uid, found.gid, found.size, found.nlink, moment
    return kind, found.mode, found.uid, found.gid, moment


class SideBySide(RuleBasedStateMachine):
    place: Place
    plain: Path
    numbers = itertools.count()
    outcomes: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        name = f"example-{next(self.numbers)}"
        self._folders = (self.place.mountpoint / "Model" / "documents" / name, self.plain / name)
        for folder in self._folders:
            folder.mkdir()
        self._sides = tuple(MountDriver(folder) for folder in self._folders)
        self._open: list[tuple[MountedFile, MountedFile]] = []

    def _both(self, call: Callable[[MountDriver], Any]) -> None:
        mounted, plain = (outcome(lambda side=side: call(side)) for side in self._sides)  # type: ignore[misc]
        assert mounted == plain
        self._count(call, plain)

    def _handles(self, which: int, call: Callable[[MountedFile], Any]) -> None:
        pair = self._open[which % len(self._open)]
        mounted, plain = (outcome(lambda opened=opened: call(opened)) for opened in pair)  # type: ignore[misc]
        assert mounted == plain
        self._count(call, plain)

    def _count(self, call: Callable[..., Any], found: tuple[str, Any]) -> None:
        word = found[0] if found[0] == "ok" else errno.errorcode[found[1]]
        self.outcomes[f"{call.__qualname__.split('.')[1]} {word}"] += 1

    @initialize(content=data)
    def furnish(self, content: bytes) -> None:
        for folder in (b"d", b"d/e", b"e"):
            self._both(lambda side, folder=folder: side.mkdir(folder))  # type: ignore[misc]
        for path in (b"a", b"b", b"d/a", b"d/e/a"):
            self._both(lambda side, path=path: _save(side, path, content))  # type: ignore[misc]

    # ------------------------------------------------------------------------------------- by path

    @rule(path=paths, content=data, offset=offsets, flags=flags, mode=modes)
    def write(self, path: bytes, content: bytes, offset: int, flags: int, mode: int) -> None:
        def call(side: MountDriver) -> int:
            opened = side.open(path, flags, mode)
            try:
                return opened.write(content, offset)
            finally:
                opened.close()

        self._both(call)
        self._look(path)

    @rule(path=paths, content=data)
    def save(self, path: bytes, content: bytes) -> None:
        self._both(lambda side: _save(side, path, content))
        self._look(path)

    @rule(path=paths)
    def read(self, path: bytes) -> None:
        self._both(lambda side: _content(side, path))

    @rule(path=paths)
    def look(self, path: bytes) -> None:
        self._look(path)

    @rule(path=paths)
    def listing(self, path: bytes) -> None:
        self._both(lambda side: sorted(side.listdir(path)))

    @rule(path=paths, size=offsets)
    def truncate(self, path: bytes, size: int) -> None:
        self._both(lambda side: side.truncate(path, size))
        self._look(path)

    @rule(old=paths, new=paths, noreplace=st.booleans())
    def rename(self, old: bytes, new: bytes, noreplace: bool) -> None:
        self._both(lambda side: side.rename(old, new, int(noreplace)))
        self._look(old)
        self._look(new)

    @rule(path=paths)
    def unlink(self, path: bytes) -> None:
        self._both(lambda side: side.unlink(path))
        self._look(path)

    @rule(path=st.sampled_from([b"d", b"d/e", b"e", b"l/e", b"a"]), mode=modes)
    def mkdir(self, path: bytes, mode: int) -> None:
        self._both(lambda side: side.mkdir(path, mode))
        self._look(path)

    @rule(path=paths)
    def rmdir(self, path: bytes) -> None:
        self._both(lambda side: side.rmdir(path))
        self._look(path)

    @rule(path=st.sampled_from([b"a", b"d/b", b"l", b"l/a"]), leads=targets)
    def symlink(self, path: bytes, leads: bytes) -> None:
        self._both(lambda side: side.symlink(leads, path))
        self._both(lambda side: side.readlink(path))

    @rule(path=paths, mode=modes)
    def chmod(self, path: bytes, mode: int) -> None:
        self._both(lambda side: side.chmod(path, mode))
        self._look(path)

    @rule(path=paths, atime=moments, mtime=moments)
    def utime(self, path: bytes, atime: int, mtime: int) -> None:
        self._both(lambda side: side.utime(path, atime, mtime))
        self._look(path)

    # ------------------------------------------------------------------------------------ by handle

    @rule(path=paths, flags=flags, mode=modes)
    def open(self, path: bytes, flags: int, mode: int) -> None:
        mounted, plain = (outcome(lambda side=side: side.open(path, flags, mode)) for side in self._sides)  # type: ignore[misc]
        both = [found for word, found in (mounted, plain) if word == "ok"]
        if len(both) == 2:
            self._open.append((both[0], both[1]))
        else:
            assert mounted == plain

    @precondition(lambda self: self._open)
    @rule(which=st.integers(0, 9), offset=offsets, length=st.integers(0, LARGE))
    def read_open(self, which: int, offset: int, length: int) -> None:
        self._handles(which, lambda opened: opened.read(length, offset))

    @precondition(lambda self: self._open)
    @rule(which=st.integers(0, 9), content=data, offset=offsets)
    def write_open(self, which: int, content: bytes, offset: int) -> None:
        self._handles(which, lambda opened: opened.write(content, offset))
        self._handles(which, lambda opened: about(opened.stat()))

    @precondition(lambda self: self._open)
    @rule(which=st.integers(0, 9), size=offsets)
    def truncate_open(self, which: int, size: int) -> None:
        self._handles(which, lambda opened: opened.truncate(size))
        self._handles(which, lambda opened: about(opened.stat()))

    @precondition(lambda self: self._open)
    @rule(which=st.integers(0, 9))
    def sync_open(self, which: int) -> None:
        self._handles(which, lambda opened: opened.sync())

    @precondition(lambda self: self._open)
    @rule(which=st.integers(0, 9))
    def close(self, which: int) -> None:
        self._handles(which, lambda opened: opened.close())
        self._open.pop(which % len(self._open))

    @rule()
    def settle(self) -> None:
        """Ask for it; it happens while the next steps go on."""
        request_settling(load(self.place.home))

    # ---------------------------------------------------------------------------------------- checks

    def _look(self, path: bytes) -> None:
        self._both(lambda side: about(side.stat(path)))

    def teardown(self) -> None:
        for pair in self._open:
            for opened in pair:
                opened.close()
        mounted, plain = (_tree(side) for side in self._sides)
        assert mounted == plain


def _content(side: MountDriver, path: bytes) -> bytes:
    opened = side.open(path, os.O_RDONLY)
    try:
        return opened.read(LARGE * 10, 0)
    finally:
        opened.close()


def _save(side: MountDriver, path: bytes, content: bytes) -> None:
    opened = side.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        opened.write(content, 0)
    finally:
        opened.close()


def _tree(side: MountDriver, below: bytes = b"") -> dict[bytes, tuple[Any, ...]]:
    found: dict[bytes, tuple[Any, ...]] = {}
    for name in sorted(side.listdir(below)):
        path = below + b"/" + name if below else name
        stated = side.stat(path)
        found[path] = about(stated)
        if os.geteuid() and not stat.S_ISLNK(stated.mode):
            side.chmod(path, stat.S_IMODE(stated.mode) | stat.S_IRWXU)  # to look inside; root may without
        if stat.S_ISDIR(stated.mode):
            found |= _tree(side, path)
        elif stat.S_ISLNK(stated.mode):
            found[path] += (side.readlink(path),)
        else:
            found[path] += (_content(side, path),)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Settles almost at once, so that it happens between any two steps."""
    with mounted_place(tmp_path_factory.mktemp("model"), "--no-worker", env={"KGFS_PIPELINE_SETTLE": "0.05"}) as found:
        found.ontology("Model")
        yield found


EXAMPLES, STEPS = 60 if os.environ.get("CI") else 150, 80
"""Fewer where they are the same ones each time."""


@pytest.mark.claim("POSIX-1")
def test_documents_behave_as_a_plain_folder(place: Place, tmp_path: Path) -> None:
    SideBySide.place, SideBySide.plain, SideBySide.outcomes = place, tmp_path, Counter()
    before = os.umask(0o022)
    try:
        run_state_machine_as_test(
            SideBySide,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        os.umask(before)
    assert SideBySide.outcomes.total() > 33 * EXAMPLES
    settled(place)
