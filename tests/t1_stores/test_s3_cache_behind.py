"""The cache that is written behind its readers: several files at once, whatever becomes of one of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.s3 import behind
from kgfs.stores.garage.s3.behind import CacheBehind
from kgfs.stores.garage.s3.cache import PAGE, Cache
from kgfs.stores.garage.sums import sums_of

LIMIT = 8 << 20
LONG = random.Random(6).randbytes(3 * BLOCK)


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "state"]


def test_what_comes_together_is_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "LINGER", 60)
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
    monkeypatch.setattr(behind, "LINGER", 60)
    for limit in ("OPENING", "CLOSING"):
        monkeypatch.setattr(behind, limit, 30)
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
