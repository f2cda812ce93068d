"""One file, thousands of random reads, writes, truncations and maps, against a bytearray; as fsx does elsewhere."""

from __future__ import annotations

import mmap
import os
import random
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

import pytest

from kgfs.app.home import request_settling
from kgfs.config import load
from tests.support.mounting import Library, sha

pytestmark = [pytest.mark.mounted, pytest.mark.claim("POSIX-2")]

OPERATIONS = 1500


class Exercise:
    """The file and what it must hold."""

    def __init__(self, path: Path, longest: int, seed: int, settle: Callable[[], None]) -> None:
        self.path = path
        self.content = bytearray()
        self.done: Counter[str] = Counter()
        self._longest = longest
        self._random = random.Random(seed)
        self._settle = settle
        self._last: deque[str] = deque(maxlen=20)
        """For people, when it goes wrong."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)

    def run(self, operations: int) -> None:
        steps = [
            self.read,
            self.read,
            self.write,
            self.write,
            self.append,
            self.truncate,
            self.map_read,
            self.map_write,
        ]
        steps += [self.copy, self.sync] + [self.reopen] * 2
        for _ in range(operations):
            step = self._random.choice(steps) if self._random.random() < 0.99 else self.settle
            self.done[step.__name__] += 1
            step()
            assert os.fstat(self._file).st_size == len(self.content), self._reported()
        os.close(self._file)
        assert self.path.read_bytes() == self.content, self._reported()

    def _note(self, *words: object) -> None:
        self._last.append(" ".join(map(str, words)))

    def _reported(self) -> str:
        return "after: " + "; ".join(self._last)

    def _span(self, end: int) -> tuple[int, int]:
        """A random (offset, length) that may reach ``end``; mostly short, on page borders at times."""
        offset = self._random.randrange(end + 1)
        if self._random.random() < 0.2:
            offset -= offset % 4096
        length = self._random.choice([1, 10, 512, 4096, 4097, self._longest // 3])
        return offset, max(0, min(self._random.randint(1, length), end - offset))

    def _bytes(self, length: int) -> bytes:
        return self._random.randbytes(length)

    def _put(self, offset: int, data: bytes) -> None:
        if offset > len(self.content):
            self.content.extend(bytes(offset - len(self.content)))
        self.content[offset : offset + len(data)] = data

    # ------------------------------------------------------------------------------------- operations

    def read(self) -> None:
        offset, length = self._span(self._longest)
        self._note("read", offset, length)
        assert os.pread(self._file, length, offset) == self.content[offset : offset + length], self._reported()

    def write(self) -> None:
        offset, length = self._span(self._longest)
        self._note("write", offset, length)
        data = self._bytes(length)
        assert os.pwrite(self._file, data, offset) == length, self._reported()
        if data:
            self._put(offset, data)

    def append(self) -> None:
        """Through a descriptor of its own."""
        length = min(self._span(self._longest)[1], self._longest - len(self.content))
        if length <= 0:
            return
        self._note("append", length)
        data = self._bytes(length)
        with self.path.open("ab", buffering=0) as file:
            assert file.write(data) == length, self._reported()
        self.content += data

    def truncate(self) -> None:
        size = self._random.choice([0, self._random.randrange(self._longest), len(self.content) // 2])
        by_path = self._random.random() < 0.5
        self._note("truncate", size, "by path" if by_path else "by handle")
        os.truncate(self.path if by_path else self._file, size)
        if size < len(self.content):
            del self.content[size:]
        else:
            self.content.extend(bytes(size - len(self.content)))

    def map_read(self) -> None:
        if not self.content:
            return
        offset, length = self._span(len(self.content))
        self._note("map_read", offset, length)
        with mmap.mmap(self._file, 0, access=mmap.ACCESS_READ) as mapped:
            assert mapped[offset : offset + length] == self.content[offset : offset + length], self._reported()

    def map_write(self) -> None:
        if not self.content:
            return
        offset, length = self._span(len(self.content))
        self._note("map_write", offset, length)
        data = self._bytes(length)
        with mmap.mmap(self._file, 0) as mapped:
            mapped[offset : offset + length] = data
            if self._random.random() < 0.5:
                mapped.flush()
        self._put(offset, data)

    def copy(self) -> None:
        """copy_file_range from one place of the file to another."""
        offset, length = self._span(len(self.content))
        goal = self._random.randrange(self._longest)
        length = min(length, self._longest - goal, abs(goal - offset))
        if length <= 0:
            return
        self._note("copy", offset, length, goal)
        copied = os.copy_file_range(self._file, self._file, length, offset, goal)
        assert copied == length, self._reported()
        self._put(goal, bytes(self.content[offset : offset + length]))

    def sync(self) -> None:
        self._note("sync")
        self._random.choice([os.fsync, os.fdatasync])(self._file)

    def reopen(self) -> None:
        self._note("reopen")
        os.close(self._file)
        self._file = os.open(self.path, os.O_RDWR)

    def settle(self) -> None:
        self._note("settle")
        os.close(self._file)
        self._settle()
        self._file = os.open(self.path, os.O_RDWR)


@pytest.mark.parametrize(("longest", "seed"), [(20_000, 1), (150_000, 2), (150_000, 3), (600_000, 4)])
def test_random_access(longest: int, seed: int, library: Library) -> None:
    def settle() -> None:
        request_settling(load(library.place.home))
        library.settled()

    exercise = Exercise(library.documents / "exercised.bin", longest, seed, settle)
    exercise.run(OPERATIONS)
    assert min(exercise.done.values()) > 3, exercise.done
    library.settled()
    assert exercise.path.read_bytes() == exercise.content
    if exercise.content:
        assert library.minted()[-1][2] == sha(bytes(exercise.content))
