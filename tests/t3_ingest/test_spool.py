"""Working copies behave as files on ext4 do, and their sums are those of the bytes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.documents import StorageTier
from kgfs.errors import CorruptError, MissingError
from kgfs.ingest.storing.content import SMALL
from tests.support.depositing import Desk, desk_at

BIG = bytes(range(256)) * 1024  # 256 KiB

OFFSETS = st.one_of(st.integers(0, 300), st.integers(SMALL - 40, SMALL + 40), st.integers(0, 200_000))
SIZES = st.one_of(st.integers(0, 50), st.sampled_from([SMALL - 1, SMALL, SMALL + 1, 70_000, 150_000]))
DATA = st.tuples(SIZES, st.binary(min_size=1, max_size=8)).map(lambda drawn: (drawn[1] * drawn[0])[: drawn[0]])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), OFFSETS, DATA),
        st.tuples(st.just("append"), st.just(0), DATA),
        st.tuples(st.just("truncate"), OFFSETS, st.just(b"")),
        st.tuples(st.just("read"), OFFSETS, st.just(b"")),
        st.tuples(st.just("flush"), st.just(0), st.just(b"")),
        st.tuples(st.just("reopen"), st.just(0), st.just(b"")),
        st.tuples(st.just("settle"), st.just(0), st.just(b"")),
    ),
    max_size=14,
)


@given(start=DATA, steps=STEPS)
@settings(max_examples=30, deadline=None)
def test_any_sequence_equals_an_ordinary_file(start: bytes, steps: list[tuple[str, int, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder, desk_at(Path(folder)) as desk:
        name_id = desk.file(content=start).id
        expected = bytearray(start)
        writer = desk.deposits.open(name_id, write=True)
        appender = desk.deposits.open(name_id, append=True)
        reader = desk.deposits.open(name_id)
        for what, offset, data in steps:
            if what == "write" and data:
                writer.write(offset, data)
                expected.extend(bytes(max(0, offset - len(expected))))
                expected[offset : offset + len(data)] = data
            elif what == "append":
                appender.write(0, data)
                expected.extend(data)
            elif what == "truncate":
                writer.truncate(offset)
                del expected[offset:]
                expected.extend(bytes(offset - len(expected)))
            elif what == "read":
                assert reader.read(offset, 70_000) == expected[offset : offset + 70_000]
            elif what == "flush":
                writer.flush()
                row = desk.row(name_id)
                assert row.size == len(expected)
                assert row.sha256 == (hashlib.sha256(expected).hexdigest() if expected else "")
            elif what == "reopen":
                writer.release()
                writer = desk.deposits.open(name_id, write=True)
            elif what == "settle":
                writer.release()
                appender.release()
                desk.settle()
                assert desk.row(name_id).place in (StorageTier.GARAGE, StorageTier.NONE)
                writer = desk.deposits.open(name_id, write=True)
                appender = desk.deposits.open(name_id, append=True)
            shown = desk.deposits.shown(name_id)
            assert shown is not None
            assert shown.size == len(expected)
            assert reader.read(0, len(expected) + 1) == expected
        for file in (writer, appender, reader):
            file.release()
        desk.settle()
        assert desk.read(name_id) == expected
        row = desk.row(name_id)
        if expected:
            sums = desk.stores.garage.objects.stat(row.key)
            assert sums.sha256 == row.sha256 == hashlib.sha256(expected).hexdigest()
            assert desk.stores.garage.objects.get(row.key) == expected
        assert desk.spool_files() == []
        assert not desk.config.errors_log.exists()


def test_small_contents_need_no_spool_file(desk: Desk) -> None:
    name = desk.file(content=b"x" * SMALL)
    assert name.place is StorageTier.INBOX
    assert desk.spool_files() == []
    assert desk.catalog.inbox(name.sha256) == b"x" * SMALL


def test_large_contents_are_spooled_for_their_owner_only(desk: Desk) -> None:
    name = desk.file(content=b"x" * (SMALL + 1))
    assert name.place is StorageTier.SPOOL
    assert desk.spool_files() == [name.key]
    assert (desk.config.spool / name.key).stat().st_mode & 0o777 == 0o600


def test_opening_for_writing_copies_nothing_until_the_first_write(desk: Desk) -> None:
    name = desk.file(content=BIG)
    desk.settle()
    file = desk.deposits.open(name.id, write=True)
    assert file.read(0, 10) == BIG[:10]
    file.flush()
    assert desk.spool_files() == []
    file.write(5, b"!")
    assert len(desk.spool_files()) == 1
    file.release()
    assert desk.read(name.id) == BIG[:5] + b"!" + BIG[6:]


def test_a_reader_opened_before_sees_what_is_written_in_place(desk: Desk) -> None:
    name = desk.file(content=BIG)
    desk.settle()
    reader = desk.deposits.open(name.id)
    assert reader.read(0, 3) == BIG[:3]
    writer = desk.deposits.open(name.id, write=True)
    writer.write(0, b"new")
    assert reader.read(0, 3) == b"new"
    writer.truncate(0)
    assert reader.read(0, 3) == b""
    writer.release()
    reader.release()


def test_a_reader_of_a_replaced_version_keeps_its_bytes(desk: Desk) -> None:
    old, new = desk.file("a.txt", BIG), desk.file("a.tmp", b"new")
    desk.settle()
    reader = desk.deposits.open(old.id)
    desk.deposits.move(new.id, new.parent, "a.txt", replace=True)
    desk.settle()
    assert reader.read(0, 10) == BIG[:10]
    assert reader.read(len(BIG) - 10, 100) == BIG[-10:]
    reader.release()
    assert desk.read(new.id) == b"new"
    with pytest.raises(MissingError):
        desk.deposits.open(old.id)


def test_appending_to_a_kept_spool_file_goes_on_in_it(desk: Desk) -> None:
    name = desk.file()
    file = desk.deposits.open(name.id, append=True)
    file.write(0, BIG)
    file.flush()
    first = desk.row(name.id).key
    file.write(0, b"tail")
    file.flush()
    assert desk.row(name.id).key == first
    file.write(0, b"more")
    assert desk.row(name.id).sha256 == hashlib.sha256(BIG + b"tail").hexdigest()
    file.release()
    assert desk.read(name.id) == BIG + b"tailmore"
    assert desk.spool_files() == [first]


def test_overwriting_kept_bytes_leaves_them_until_the_next_flush(desk: Desk) -> None:
    name = desk.file()
    file = desk.deposits.open(name.id, write=True)
    file.write(0, BIG)
    file.flush()
    kept = desk.config.spool / desk.row(name.id).key
    file.write(10, b"other")
    assert kept.read_bytes() == BIG
    file.flush()
    assert not kept.exists()
    assert len(desk.spool_files()) == 1
    file.release()


def test_sums_are_right_however_the_bytes_arrived(desk: Desk) -> None:
    pieces = [BIG[start : start + 50_000] for start in range(0, len(BIG), 50_000)]
    orders = {
        "in order": [0, 1, 2, 3, 4, 5],
        "backwards": [5, 4, 3, 2, 1, 0],
        "a gap filled": [0, 1, 3, 4, 2, 5],
        "twice": [0, 1, 2, 3, 1, 4, 5, 0],
    }
    for what, order in orders.items():
        name = desk.file(what)
        file = desk.deposits.open(name.id, write=True)
        for number in order:
            file.write(number * 50_000, pieces[number].upper())
            file.write(number * 50_000, pieces[number])
        file.flush()
        assert desk.row(name.id).sha256 == hashlib.sha256(BIG).hexdigest(), what
        file.write(100, b"changed")
        file.flush()
        assert desk.row(name.id).sha256 == hashlib.sha256(BIG[:100] + b"changed" + BIG[107:]).hexdigest(), what
        file.truncate(100_000)
        file.truncate(100_001)
        file.release()
        cut = BIG[:100] + b"changed" + BIG[107:100_000] + b"\0"
        assert desk.row(name.id).sha256 == hashlib.sha256(cut).hexdigest(), what
        desk.settle()
        assert desk.read(name.id) == cut


def test_what_went_to_the_garage_is_not_written_any_more(desk: Desk) -> None:
    """A reader keeps the working copy alive over the settling, with the file that became the object."""
    name = desk.file()
    reader = desk.deposits.open(name.id)
    writer = desk.deposits.open(name.id, write=True)
    writer.write(0, BIG)
    writer.release()
    desk.settle()
    key = desk.row(name.id).key
    (kept,) = [path for path in desk.config.garage.rglob(key.rpartition("/")[2]) if path.is_file()]
    writer = desk.deposits.open(name.id, append=True)
    writer.write(0, b"tail")
    writer.release()
    assert kept.read_bytes() == BIG
    assert desk.read(name.id) == BIG + b"tail" == reader.read(0, len(BIG) + 10)
    reader.release()
    assert desk.settle() == 1
    assert desk.read(name.id) == BIG + b"tail"


def test_holes_read_as_zeros_and_cost_no_memory(desk: Desk) -> None:
    name = desk.file()
    file = desk.deposits.open(name.id, write=True)
    file.write(50_000_000, b"end")
    assert file.read(49_999_998, 10) == b"\0\0end"
    file.release()
    row = desk.row(name.id)
    assert row.size == 50_000_003
    assert row.sha256 == hashlib.sha256(bytes(50_000_000) + b"end").hexdigest()
    assert (desk.config.spool / row.key).stat().st_blocks * 512 < 1_000_000


def test_damage_in_the_garage_is_an_error_not_wrong_bytes(desk: Desk) -> None:
    name = desk.file(content=BIG)
    desk.settle()
    key = desk.row(name.id).key
    (path,) = [path for path in desk.config.garage.rglob(key.rpartition("/")[2]) if path.is_file()]
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"rot")
    with pytest.raises(CorruptError):
        desk.read(name.id)


def test_nothing_is_left_of_a_file_that_was_never_flushed(desk: Desk) -> None:
    name = desk.file(content=b"before")
    file = desk.deposits.open(name.id, write=True)
    file.write(0, BIG)
    assert len(desk.spool_files()) == 1
    desk.deposits.remove(name.id)
    file.release()
    assert desk.spool_files() == []


_FLAT = """
import resource, sys
from pathlib import Path
from tests.support.depositing import desk_at
piece = bytes(range(256)) * 512
with desk_at(Path(sys.argv[1])) as desk:
    name = desk.file(content=piece)
    desk.settle()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    file = desk.deposits.open(name.id, write=True, truncate=True)
    for number in range(120 * 8):
        file.write(number * len(piece), piece)
    file.write(0, b"changed out of order")
    file.flush()
    file.release()
    assert desk.settle() == 1
    assert desk.row(name.id).place == "garage"
    reader = desk.deposits.open(name.id)
    for number in range(120 * 8):
        assert len(reader.read(number * len(piece), len(piece))) == len(piece)
    reader.release()
    source = Path(sys.argv[1]) / "source.bin"
    with source.open("wb") as out:
        out.truncate(120_000_000)
    desk.deposits.ingest_file(source, "Notes")
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_memory_stays_flat(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FLAT, str(home)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 40
