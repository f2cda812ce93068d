"""What every garage tells of itself as folders and files: names below a folder, looks, and the ledger's segments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.errors import BadInputError, CorruptError, MissingError
from kgfs.stores.garage.contract import Garage, Ledger
from kgfs.stores.garage.ledger import SegmentLedger
from kgfs.stores.garage.opening import FileGarage
from tests.fakes.garage import MemoryGarage
from tests.support.peers.buckets import GARAGES, garage_of


@pytest.fixture(params=GARAGES)
def garage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Garage]:
    with closing(garage_of(request.param, tmp_path, request)) as made:
        yield made


def test_names_are_those_directly_below(garage: Garage) -> None:
    for key in ("sources/A/one.txt", "sources/A/two.txt", "sources/B/one.txt", "readings/d/r.json", "plain"):
        garage.objects.put(key, key.encode())
    assert garage.objects.names() == ["plain", "readings/", "sources/"]
    assert garage.objects.names("sources") == ["A/", "B/"]
    assert garage.objects.names("sources/A") == ["one.txt", "two.txt"]
    assert garage.objects.names("sources/A/one.txt") == []
    assert garage.objects.names("sources/nothing") == []


@settings(max_examples=40, deadline=None)
@given(
    keys=st.sets(
        st.lists(st.sampled_from(["a", "ab", "b.x", "c~1"]), min_size=1, max_size=3).map("/".join)
        | st.sampled_from(["a", "ab/x", "ab/y", "b.x"]).map("texts/0123456789abcdef/{}".format)
    )
)
def test_walking_the_names_finds_every_key_and_nothing_else(
    keys: set[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    for objects in (FileGarage(tmp_path_factory.mktemp("garage")).objects, MemoryGarage().objects):
        for key in keys:
            objects.put(key, b"x")
        found, folders = set(), [""]
        while folders:
            folder = folders.pop()
            assert not objects.exists(folder or "nothing") or folder in keys
            names = objects.names(folder)
            assert names == sorted(names)
            for name in names:
                path = f"{folder}/{name}".strip("/")
                assert objects.entry(path).folder is (name.endswith("/") and path not in keys)
                folders += [path] if name.endswith("/") else []
                found |= set() if name.endswith("/") else {path}
        assert found == keys


def test_a_look_tells_size_and_when_it_was_kept(garage: Garage, tmp_path: Path) -> None:
    before = time.time_ns()
    garage.objects.put("sources/A/one.txt", b"12345")
    look = garage.objects.entry("sources/A/one.txt")
    assert (look.folder, look.size) == (False, 5)
    assert before - 10**8 <= look.kept_at <= time.time_ns() + 10**8
    garage.objects.put("sources/A/one.txt", b"12345")
    assert garage.objects.entry("sources/A/one.txt") == look
    assert garage.objects.entry("sources/A").folder
    for absent in ("sources/A/two.txt", "sources/B", "sourc"):
        with pytest.raises(MissingError):
            garage.objects.entry(absent)
    with pytest.raises(BadInputError):
        garage.objects.entry("../etc")
    with pytest.raises(BadInputError):
        garage.objects.names("@tmp")


def test_what_was_deleted_is_not_named(garage: Garage) -> None:
    garage.objects.put("a/b", b"x")
    garage.objects.delete("a/b")
    assert garage.objects.names("a") == []
    with pytest.raises(MissingError):
        garage.objects.entry("a/b")


def read_all(ledger: Ledger) -> bytes:
    content = b""
    for segment in ledger.segments():
        with closing(ledger.open_segment(segment.name)) as reader:
            piece = b""
            while part := reader.read_at(len(piece), 7):
                piece += part
        assert len(piece) == segment.size
        content += piece
    return content


def test_segments_are_read_while_they_grow(garage: Garage) -> None:
    ledger = garage.ledger
    assert ledger.segments() == []
    ledger.append(1, [b'{"a":1}', b'{"a":2}'])
    [segment] = ledger.segments()
    with closing(ledger.open_segment(segment.name)) as reader:
        before = reader.read_at(0, 1 << 20)
        assert [line.split(b" ", 2)[2] for line in before.splitlines()] == [b'{"a":1}', b'{"a":2}']
        assert reader.read_at(len(before), 10) == b""
        ledger.append(3, [b'{"a":3}'])
        assert reader.read_at(len(before), 1 << 20).endswith(b'{"a":3}\n')
    assert ledger.segments()[0].size > segment.size
    assert read_all(ledger).count(b"\n") == 3
    with pytest.raises(MissingError):
        ledger.open_segment("0000000000000009.log")


def test_segments_of_a_file_ledger_are_its_files(tmp_path: Path) -> None:
    ledger = SegmentLedger(tmp_path, segment_size=50)
    for seq in range(1, 6):
        ledger.append(seq, [b'{"number":%d}' % seq])
    files = sorted(path for path in tmp_path.iterdir() if path.suffix == ".log")
    assert len(files) > 1
    assert [(s.name, s.size) for s in ledger.segments()] == [(f.name, f.stat().st_size) for f in files]
    assert read_all(ledger) == b"".join(file.read_bytes() for file in files)


def test_a_torn_tail_is_not_shown(tmp_path: Path) -> None:
    ledger = SegmentLedger(tmp_path)
    ledger.append(1, [b'{"a":1}'])
    [segment] = ledger.segments()
    with (tmp_path / segment.name).open("ab") as file:
        file.write(b"0123 2 {tor")
    for looking in (ledger, SegmentLedger(tmp_path)):
        assert [s.size for s in looking.segments()] == [segment.size]
        assert len(read_all(looking)) == segment.size


def test_a_flipped_bit_in_a_segment_is_rot(tmp_path: Path) -> None:
    ledger = SegmentLedger(tmp_path)
    ledger.append(1, [b'{"a":1}', b'{"a":2}'])
    [segment] = ledger.segments()
    path = tmp_path / segment.name
    raw = bytearray(path.read_bytes())
    raw[25] ^= 1
    path.write_bytes(raw)
    with closing(ledger.open_segment(segment.name)) as reader, pytest.raises(CorruptError):
        reader.read_at(0, 10)
