"""The cache that is written behind its readers: several files at once, whatever becomes of one of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kgfs.stores import timing
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.s3 import behind
from kgfs.stores.garage.s3.behind import CacheBehind
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import PAGE, Cache
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.reader import S3Reader
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.locks import locked

LIMIT = 8 << 20
LONG = random.Random(6).randbytes(3 * BLOCK)


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "state"]


def test_what_comes_together_is_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "CACHE_LINGER", 60)
    locked: list[Path] = []
    plain = Cache._locked
    monkeypatch.setattr(Cache, "_locked", lambda self: locked.append(self._folder) or plain(self))
    cache = CacheBehind(tmp_path, LIMIT)
    for number in range(100):
        cache.keep_block(f"sources/A/{number}", 0, b"zen", cache.round())
    assert cache.flush(30)
    assert len(locked) == 1
    assert len(files_of(tmp_path)) == 100
    assert cache.used() == 100 * PAGE
    cache.close()


def test_nobody_waits_for_more_to_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither who opens what is still to be written, nor who closes."""
    monkeypatch.setattr(timing, "CACHE_LINGER", 60)
    for limit in ("CACHE_OPEN_WAIT", "CACHE_CLOSE_WAIT"):
        monkeypatch.setattr(timing, limit, 30)
    cache = CacheBehind(tmp_path, LIMIT)
    for number in range(3):
        cache.keep_block("long", number, LONG[number * BLOCK : (number + 1) * BLOCK], cache.round())
    files = cache.open_blocks("long", 3)
    assert [file.readall() for _, file in sorted(files.items())] == [
        LONG[at : at + BLOCK] for at in range(0, 3 * BLOCK, BLOCK)
    ]
    for file in files.values():
        file.close()
    cache.keep_block("last", 0, b"last", cache.round())
    cache.close()
    assert Cache(tmp_path, LIMIT).block("last", 0, sums_of(b"last")) == b"last"


def test_a_reader_waits_for_room_a_part_of_the_time_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behind, "WAITING", BLOCK)
    cache = CacheBehind(tmp_path, LIMIT)
    waited: list[float] = []
    plain = CacheBehind._wait

    def wait(self: CacheBehind, until: Callable[[], bool], seconds: float) -> bool:
        waited.append(seconds)
        return plain(self, until, seconds)

    with locked(tmp_path / "state"):  # nothing can be written
        begun = time.monotonic()
        cache.keep_block("long", 0, LONG[:BLOCK], 0)
        monkeypatch.setattr(CacheBehind, "_wait", wait)
        for number in range(1, 3):
            cache.keep_block("long", number, LONG[:BLOCK], 0)
        took = time.monotonic() - begun
    assert 0 < waited[0] <= behind.WAITED * took
    assert waited[1] == 0.0, "nobody waits again until there is room"
    monkeypatch.undo()
    cache.close()


def test_its_folders_are_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        CacheBehind(tmp_path / "home/cache/garage", LIMIT).close()
    finally:
        os.umask(before)
    made = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3


def test_what_is_opened_for_a_reader_that_was_closed_meanwhile_is_closed(tmp_path: Path) -> None:
    cache, sums = Cache(tmp_path, LIMIT), sums_of(LONG)
    bucket = Bucket(Endpoint("http://127.0.0.1:1", "none"))
    for number in range(2):
        cache.keep_block("long", number, LONG[number * BLOCK : (number + 1) * BLOCK], cache.round())
    reader = S3Reader("long", sums, bucket, cache)
    cache.keep_block("long", 2, LONG[2 * BLOCK :], cache.round())
    reader.close()
    reader._prefetch(1)  # as one does whose block was read just before
    reader._prefetch(2)
    assert reader._following is not None and reader._following.closed


def test_one_that_cannot_be_written_keeps_the_others_from_nothing(tmp_path: Path) -> None:
    cache = CacheBehind(tmp_path, LIMIT)
    keys = [f"sources/A/{number}" for number in range(20)]
    plain = Path(cache._path(keys[7])).parent
    plain.write_bytes(b"no folder")
    too_long = bytes(LIMIT + 1)
    for key in keys:
        cache.keep_block(key, 0, key.encode(), cache.round())
    cache.keep_block("too long", 0, too_long, cache.round())
    cache.close()
    written = Cache(tmp_path, LIMIT)
    lost = [key for key in keys if written.block(key, 0, sums_of(key.encode())) is None]
    assert keys[7] in lost
    assert all(Path(cache._path(key)).parent == plain for key in lost)
    assert counted(written) == (len(keys) - len(lost)) * PAGE


def test_what_is_already_there_is_not_counted_twice(tmp_path: Path) -> None:
    for _ in range(2):
        cache = CacheBehind(tmp_path, LIMIT)
        for number in range(10):
            cache.keep_block(f"sources/A/{number}", 0, b"zen", cache.round())
        cache.close()
    assert counted(Cache(tmp_path, LIMIT)) == 10 * PAGE


def counted(cache: Cache) -> int:
    """What the cache takes itself for."""
    return int.from_bytes((cache._folder / "state").read_bytes()[:8], "little")


FILLER = """
import sys
from pathlib import Path
from kgfs.stores.garage.s3.behind import CacheBehind

cache = CacheBehind(Path(sys.argv[1]), 300 * 4096)
print("ready", flush=True)
for number in range(10**9):
    cache.keep_block(f"sources/{number % 500}", 0, b"%d" % (number % 500) * 2000, cache.round())
"""


@pytest.mark.claim("BUCKET-3")
def test_a_kill_among_several_that_are_written_leaves_no_wrong_one(tmp_path: Path) -> None:
    cache, limit = Cache(tmp_path, 300 * PAGE), 300 * PAGE
    filler = subprocess.Popen([sys.executable, "-c", FILLER, str(tmp_path)], stdout=subprocess.PIPE)
    assert filler.stdout
    filler.stdout.readline()
    while not files_of(tmp_path):
        assert filler.poll() is None
        time.sleep(0.01)
    filler.send_signal(signal.SIGKILL)
    filler.communicate()
    for number in range(500):
        wanted = b"%d" % number * 2000
        assert cache.block(f"sources/{number}", 0, sums_of(wanted)) in (None, wanted)
    assert cache.used() <= limit
    for number in range(400):
        cache.keep_block(f"other/{number}", 0, os.urandom(9), cache.round())
    assert cache.used() == counted(cache) <= limit
