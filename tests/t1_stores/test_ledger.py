"""What every Ledger promises (by the garage's name), then what holds for segments: torn tails, rot, processes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgfs.errors import BadInputError, CorruptError, StoreError
from kgfs.stores.garage.contract import Ledger
from kgfs.stores.garage.ledger import SegmentLedger
from kgfs.stores.garage.segments import encode_line
from tests.support.ledger_entries import entries, numbered
from tests.support.peers.buckets import GARAGES, garage_of


@pytest.fixture(params=GARAGES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with closing(garage_of(request.param, tmp_path, request)) as garage:
        yield garage.ledger


# ---------------------------------------------------------------------------------- every ledger


def test_an_empty_ledger(ledger: Ledger) -> None:
    assert ledger.last_seq() == 0
    assert list(ledger.replay()) == []
    assert ledger.append(1, []) == 0
    assert list(ledger.replay()) == []


def test_appended_entries_are_replayed_in_order(ledger: Ledger) -> None:
    assert ledger.append(1, entries(1, 3)) == 3
    assert ledger.append(4, entries(4, 4)) == 4
    assert ledger.last_seq() == 4
    assert list(ledger.replay()) == numbered(1, 4)
    assert list(ledger.replay(after=2)) == numbered(3, 4)
    assert list(ledger.replay(after=4)) == list(ledger.replay(after=9)) == []


def test_what_is_kept_already_is_skipped(ledger: Ledger) -> None:
    ledger.append(1, entries(1, 3))
    assert ledger.append(1, entries(1, 3)) == 3
    assert ledger.append(2, entries(2, 2)) == 3
    assert ledger.append(2, entries(2, 5)) == 5
    assert ledger.append(6, []) == 5
    assert list(ledger.replay()) == numbered(1, 5)


def test_a_gap_is_refused(ledger: Ledger) -> None:
    with pytest.raises(StoreError, match="2"):
        ledger.append(2, entries(2, 2))
    ledger.append(1, entries(1, 3))
    with pytest.raises(StoreError, match=r"entry 3.* 5 cannot follow"):
        ledger.append(5, entries(5, 6))
    assert list(ledger.replay()) == numbered(1, 3)


@pytest.mark.parametrize("entry", [b"", b"a\nb", b"a\n", b"a\0"])
def test_what_is_no_line_is_refused(ledger: Ledger, entry: bytes) -> None:
    with pytest.raises(BadInputError, match="2"):
        ledger.append(1, [b"{}", entry])
    with pytest.raises(BadInputError):
        ledger.append(0, [b"{}"])
    assert ledger.last_seq() == 0


def test_eight_threads_send_the_same(ledger: Ledger) -> None:
    barrier = threading.Barrier(8)

    def send(_: int) -> None:
        barrier.wait(10)
        for first in range(1, 41, 4):
            assert ledger.append(first, entries(first, first + 3)) >= first + 3

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(8)))
    assert list(ledger.replay()) == numbered(1, 40)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=12), size=st.integers(1, 400))
def test_any_sending_gives_the_same_ledger(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[int, int]], size: int
) -> None:
    """Batches of any size that reach back any number, segments of any size, seen by objects old and new."""
    root = tmp_path_factory.mktemp("ledger")
    old, last = SegmentLedger(root, size), 0
    for count, back in sizes:
        first = max(1, last + 1 - back)
        writer = random.Random(count).choice([old, SegmentLedger(root, size)])
        assert writer.append(first, entries(first, first + count - 1)) == max(last, first + count - 1)
        last = max(last, first + count - 1)
        assert old.last_seq() == SegmentLedger(root).last_seq() == last
    for after in range(last + 1):
        assert list(old.replay(after)) == numbered(after + 1, last)


# ------------------------------------------------------------------------------------- segments


def test_segments_are_text_named_after_their_first_entry(tmp_path: Path) -> None:
    ledger = SegmentLedger(tmp_path, segment_size=100)
    for n in range(1, 8):
        ledger.append(n, entries(n, n))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"{n:016d}.log" for n in (1, 3, 5, 7)]
    first, second = (tmp_path / names[0]).read_bytes().splitlines()
    assert first.split(b" ", 2)[1:] == [b"1", entries(1, 1)[0]]
    assert second.split(b" ", 2)[1:] == [b"2", entries(2, 2)[0]]
    assert list(SegmentLedger(tmp_path).replay()) == numbered(1, 7)


TEARS: dict[str, Callable[[bytes, int], bytes]] = {
    "cut": lambda line, at: line[:at],
    "zeros": lambda line, at: line[:at] + bytes(len(line) - at),
    "zeros and more": lambda line, at: line[:at] + bytes(5000),
    "two entries": lambda line, at: line[:-5] + b"?\n" + line[:at] + b"?",
}


@pytest.mark.parametrize("tear", TEARS)
@pytest.mark.parametrize("whole", [0, 1, 3], ids=lambda n: f"after {n}")
def test_a_tail_torn_anywhere_is_repaired_by_the_next_append(tmp_path: Path, tear: str, whole: int) -> None:
    ledger = SegmentLedger(tmp_path)
    segment = tmp_path / f"{1:016d}.log"
    ledger.append(1, entries(1, whole + 1))
    raw = segment.read_bytes()
    line = encode_line(whole + 1, entries(whole + 1, whole + 1)[0])
    assert raw.endswith(line)
    for at in range(len(line)):
        torn = raw[: -len(line)] + TEARS[tear](line, at)
        segment.write_bytes(torn)
        fresh = SegmentLedger(tmp_path)
        assert fresh.last_seq() == whole
        assert list(fresh.replay()) == numbered(1, whole)
        assert segment.read_bytes() == torn, "a reader has changed the ledger"
        assert fresh.append(whole + 1, entries(whole + 1, whole + 2)) == whole + 2
        assert list(SegmentLedger(tmp_path).replay()) == numbered(1, whole + 2)


def test_a_long_lived_writer_repairs_what_another_left(tmp_path: Path) -> None:
    ledger = SegmentLedger(tmp_path)
    ledger.append(1, entries(1, 2))
    with (tmp_path / f"{1:016d}.log").open("ab") as file:
        file.write(encode_line(3, entries(3, 3)[0]) + encode_line(4, entries(4, 4)[0])[:20])
    assert ledger.append(3, entries(3, 5)) == 5
    assert list(ledger.replay()) == numbered(1, 5)


def test_a_new_segment_without_entries_is_filled(tmp_path: Path) -> None:
    ledger = SegmentLedger(tmp_path)
    ledger.append(1, entries(1, 2))
    (tmp_path / f"{3:016d}.log").touch()
    assert SegmentLedger(tmp_path).last_seq() == ledger.last_seq() == 2
    assert ledger.append(3, entries(3, 3)) == 3
    assert list(SegmentLedger(tmp_path).replay()) == numbered(1, 3)


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0), bit=st.integers(0, 7))
@example(place=-12, bit=5)  # the last blank becomes NUL, as in the tail of a crash
def test_a_flipped_bit_is_rot_and_never_a_wrong_entry(
    tmp_path_factory: pytest.TempPathFactory, place: int, bit: int
) -> None:
    root = tmp_path_factory.mktemp("ledger")
    writer = SegmentLedger(root, segment_size=100)
    for first in (1, 3, 5):
        writer.append(first, entries(first, first + 1))
    paths = sorted(root.iterdir())
    raws = [bytearray(path.read_bytes()) for path in paths]
    place %= sum(map(len, raws)) - 1  # without its very last line end an append looks torn
    seq = 1
    for path, raw in zip(paths, raws, strict=True):
        if place < len(raw):
            seq += raw[:place].count(b"\n")
            raw[place] ^= 1 << bit
            path.write_bytes(raw)
            break
        place -= len(raw)
        seq += raw.count(b"\n")
    got: list[tuple[int, bytes]] = []
    with pytest.raises(CorruptError, match=rf"{path.name}: entry {seq} "):
        got.extend(SegmentLedger(root).replay())
    assert got == numbered(1, seq - 1)


def test_rot_in_the_last_entry_stops_the_writer(tmp_path: Path) -> None:
    SegmentLedger(tmp_path).append(1, entries(1, 2))
    path = tmp_path / f"{1:016d}.log"
    raw = bytearray(path.read_bytes())
    raw[-5] ^= 4
    path.write_bytes(raw)
    for ask in (lambda: SegmentLedger(tmp_path).append(3, entries(3, 3)), SegmentLedger(tmp_path).last_seq):
        with pytest.raises(CorruptError, match="entry 2"):
            ask()
    assert path.read_bytes() == raw


@pytest.mark.parametrize("lost", [1, 3, 5])
def test_a_lost_segment_is_rot(tmp_path: Path, lost: int) -> None:
    ledger = SegmentLedger(tmp_path, segment_size=100)
    for n in range(1, 8):
        ledger.append(n, entries(n, n))
    (tmp_path / f"{lost:016d}.log").unlink()
    with pytest.raises(CorruptError, match=str(lost)):
        list(SegmentLedger(tmp_path).replay())
    assert list(SegmentLedger(tmp_path).replay(after=6)) == numbered(7, 7)


def test_a_cut_segment_before_the_last_is_rot(tmp_path: Path) -> None:
    ledger = SegmentLedger(tmp_path, segment_size=100)
    for n in range(1, 6):
        ledger.append(n, entries(n, n))
    path = tmp_path / f"{1:016d}.log"
    raw = path.read_bytes()
    for size in (len(raw) - 5, raw.index(b"\n") + 1):
        path.write_bytes(raw[:size])
        with pytest.raises(CorruptError, match="2"):
            list(SegmentLedger(tmp_path).replay())


# -------------------------------------------------------------------------------- other processes

SENDER = """
import sys
from pathlib import Path
from kgfs.stores.garage.ledger import SegmentLedger

ledger = SegmentLedger(Path(sys.argv[1]), segment_size=2000)
while (last := ledger.last_seq()) < int(sys.argv[2]):
    kept = ledger.append(last + 1, [b'"%d"' % n for n in range(last + 1, last + 4)])
    print(kept, flush=True)
"""


def sender(root: Path, until: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", SENDER, str(root), str(until)], stdout=subprocess.PIPE, text=True)


def test_two_processes_append(tmp_path: Path) -> None:
    processes = [sender(tmp_path, 900), sender(tmp_path, 900)]
    reader = SegmentLedger(tmp_path)
    while any(process.poll() is None for process in processes):
        got = list(reader.replay())
        assert got == [(n, b'"%d"' % n) for n in range(1, len(got) + 1)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    got = list(reader.replay())
    assert len(got) >= 900
    assert got == [(n, b'"%d"' % n) for n in range(1, len(got) + 1)]


def test_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(5)
    for _ in range(10):
        process = sender(tmp_path, 10**9)
        assert process.stdout
        reported = [process.stdout.readline().strip() for _ in range(12)]
        time.sleep(chance.uniform(0.0, 0.1))
        process.kill()
        reported += process.communicate(timeout=300)[0].splitlines()
        told = [int(line) for line in reported if line.isdigit()]
        ledger = SegmentLedger(tmp_path)
        last = ledger.last_seq()
        assert last >= max(told, default=0)
        assert list(ledger.replay()) == [(n, b'"%d"' % n) for n in range(1, last + 1)]
    assert last > 100
    assert len(os.listdir(tmp_path)) > 2


@pytest.mark.parametrize("torn", (b"", b"0123456789abcdef 5 {", b"\0" * 40), ids=("whole", "cut", "zeros"))
@pytest.mark.parametrize("size", (10, 200_000), ids=("short", "longer than what is looked at"))
def test_the_last_line_tells_what_is_beyond(tmp_path: Path, torn: bytes, size: int) -> None:
    """By itself where it is whole; else the segment is read."""
    ledger = SegmentLedger(tmp_path)
    ledger.append(1, [*entries(1, 3), b'"%s"' % (b"x" * size)])
    (segment,) = tmp_path.glob("*.log")
    with segment.open("ab") as file:
        file.write(torn)
    fresh = SegmentLedger(tmp_path)
    assert [fresh.beyond(seq) for seq in range(6)] == [True, True, True, True, False, False]
    assert not SegmentLedger(tmp_path / "empty").beyond(0)
