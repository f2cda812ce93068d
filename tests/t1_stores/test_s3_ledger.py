"""What holds for a ledger in a bucket beyond what every ledger promises: merging, writers that slept, kills, lies."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.errors import CorruptError, StoreError
from kgfs.stores.garage.s3.bucket import Bucket, Found
from kgfs.stores.garage.s3.ledger import S3Ledger
from kgfs.stores.garage.s3.pieces import ENTRIES, LAST, MERGED, Piece, chain, entries_name, merge
from kgfs.stores.garage.segments import encode_line
from tests.support.ledger_entries import entries, numbered
from tests.support.peers.buckets import S3, Server


@pytest.fixture(params=[*S3])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def bucket(server: Server) -> Iterator[Bucket]:
    with closing(Bucket(server.place)) as made:
        yield made


def names(bucket: Bucket, prefix: str) -> list[str]:
    return [found.name.removeprefix(prefix).lstrip("0") for found in bucket.listed(prefix)]


def one_by_one(ledger: S3Ledger, first: int, last: int) -> None:
    for seq in range(first, last + 1):
        assert ledger.append(seq, entries(seq, seq)) == seq


# ------------------------------------------------------------------------------------------- merging


def test_many_pieces_become_few_and_a_full_segment_one(bucket: Bucket) -> None:
    ledger = S3Ledger(bucket, segment=40, merge_every=8)
    one_by_one(ledger, 1, 39)
    assert len(names(bucket, ENTRIES)) == 7
    assert 1 <= len(names(bucket, MERGED)) <= 3
    ledger.append(40, entries(40, 95))
    assert names(bucket, ENTRIES) == ["41", "81"]  # the first of them is a full segment as it was put
    assert [name.partition("-")[0] for name in names(bucket, MERGED)] == ["40"]
    for reader in (ledger, S3Ledger(bucket, segment=40)):
        assert list(reader.replay()) == numbered(1, 95)
        assert list(reader.replay(after=77)) == numbered(78, 95)
        assert reader.last_seq() == 95
    assert [segment.name.lstrip("0") for segment in ledger.segments()] == ["1.log", "41.log", "81.log"]
    sizes = [sum(len(encode_line(*line)) for line in numbered(*span)) for span in ((1, 40), (41, 80), (81, 95))]
    assert [segment.size for segment in ledger.segments()] == sizes


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=8), segment=st.integers(1, 12))
def test_any_sending_and_merging_gives_the_same_ledger(
    server: Server, sizes: list[tuple[int, int]], segment: int
) -> None:
    with closing(Bucket(server.place)) as bucket:
        old, last = S3Ledger(bucket, segment, merge_every=2), 0
        for count, back in sizes:
            first = max(1, last + 1 - back)
            writer = random.Random(count).choice([old, S3Ledger(bucket, segment, merge_every=1)])
            assert writer.append(first, entries(first, first + count - 1)) == max(last, first + count - 1)
            last = max(last, first + count - 1)
        for after in range(last + 1):
            assert list(old.replay(after)) == numbered(after + 1, last)
        assert old.last_seq() == last
        assert old.faults() == []


SPAN = st.tuples(st.integers(1, 6), st.integers(1, 3))


@settings(max_examples=200, deadline=None)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=9),
    merges=st.lists(SPAN, max_size=4),
    after=st.integers(0, 30),
)
def test_whatever_was_merged_and_left_behind_each_entry_is_read_once(
    counts: list[int], merges: list[tuple[int, int]], after: int
) -> None:
    starts = [1 + sum(counts[:at]) for at in range(len(counts) + 1)]
    loose = [Piece(entries_name(start), start, 0, 0, 0) for start in starts[:-1]]
    merged = []
    for at, width in merges:
        if at + width < len(starts) and at:
            first, last = starts[at - 1], starts[at - 1 + width] - 1
            merged.append(Piece(f"{MERGED}{last:016d}-{first:016d}", first, last, 0, 0))
            loose.append(Piece("void", first + 1, 0, 0, 0)) if last > first else None
    loose = [piece for piece in loose if not any(m.first <= piece.first <= m.last for m in merged) or piece.first % 2]
    got: list[int] = []
    for piece in chain(loose, merged, after):
        got += range(max(piece.first, got[-1] + 1 if got else after + 1), (piece.last or starts[-1] - 1) + 1)
    assert got == list(range(after + 1, starts[-1]))


def test_many_writers_and_readers_while_pieces_are_merged(bucket: Bucket) -> None:
    stop = threading.Event()

    def write(_: int) -> None:
        ledger = S3Ledger(bucket, segment=50, merge_every=4)
        for first in range(1, 101, 4):
            assert ledger.append(first, entries(first, first + 3)) >= first + 3

    def look() -> int:
        seen = 0
        while not stop.is_set():
            got = list(S3Ledger(bucket, segment=50).replay())
            assert got == numbered(1, len(got))
            assert len(got) >= seen
            seen = len(got)
        return seen

    with ThreadPoolExecutor(5) as pool:
        looking = pool.submit(look)
        try:
            list(pool.map(write, range(4)))
        finally:
            stop.set()
        looking.result()
    assert list(S3Ledger(bucket, segment=50).replay()) == numbered(1, 100)


# ------------------------------------------------------------------------------ others who write or die


def test_a_writer_that_slept_while_its_number_was_taken_and_merged_is_refused(bucket: Bucket) -> None:
    sleeper, other = S3Ledger(bucket), S3Ledger(bucket)
    sleeper.append(1, entries(1, 4))
    one_by_one(other, 5, 8)
    merge(bucket, 0, 8192)
    assert names(bucket, ENTRIES) == []
    with pytest.raises(StoreError, match="another entry 5"):
        sleeper.append(5, [b'"another"'])
    assert list(other.replay()) == numbered(1, 8)
    assert sleeper.append(5, entries(5, 9)) == 9
    assert list(other.replay()) == numbered(1, 9)


def test_what_such_a_writer_left_when_it_was_killed_is_nothing_to_anybody(bucket: Bucket) -> None:
    ledger, reader = S3Ledger(bucket), S3Ledger(bucket)
    one_by_one(ledger, 1, 8)
    merge(bucket, 0, 8192)
    assert reader.last_seq() == 8
    stale = b"".join(encode_line(seq, b'"stale"') for seq in range(5, 12))
    bucket.put(entries_name(5), stale, {LAST: "11"})
    assert reader.last_seq() == S3Ledger(bucket).last_seq() == 8
    assert list(reader.replay(8)) == list(reader.replay(9)) == []
    assert ledger.append(9, entries(9, 9)) == 9
    assert list(reader.replay(8)) == numbered(9, 9)
    merge(bucket, 0, 8192)
    assert names(bucket, ENTRIES) == ["9"]
    assert list(reader.replay(0)) == numbered(1, 9)


def put_by_a_sleeper(bucket: Bucket, first: int, last: int) -> None:
    """As one does who knows the ledger up to the entry before, and has not looked yet whether his name was free for being merged."""
    merge(bucket, 0, 8192)
    stale = b"".join(encode_line(seq, b'"stale"') for seq in range(first, last + 1))
    assert bucket.put(entries_name(first), stale, {LAST: str(last)})


def test_what_such_a_writer_has_just_put_is_nothing_to_who_has_listed_before(bucket: Bucket) -> None:
    one_by_one(S3Ledger(bucket), 1, 8)
    reading = S3Ledger(bucket).replay()
    got = [next(reading)]
    put_by_a_sleeper(bucket, 2, 2)
    got += reading
    assert got == numbered(1, 8)


def test_nor_does_the_ledger_end_there(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one(S3Ledger(bucket), 1, 8)
    with closing(Bucket(bucket.place)) as mine:
        get, meanwhile = mine.get, [lambda: put_by_a_sleeper(bucket, 8, 12)]

        def get_later(name: str) -> tuple[Found, bytes]:
            while meanwhile:
                meanwhile.pop()()
            return get(name)

        monkeypatch.setattr(mine, "get", get_later)
        assert S3Ledger(mine).last_seq() == 8


def test_what_is_merged_under_who_looks_for_damage_is_none(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one(S3Ledger(bucket), 1, 8)
    lie(bucket, entries_name(7), bucket.get(entries_name(7))[1][:-4])
    known = dict(numbered(1, 8))
    with closing(Bucket(bucket.place)) as mine:
        get, meanwhile = mine.get, [lambda: merge(bucket, 0, 8192), lambda: S3Ledger(bucket).mend(known.get)]

        def get_later(name: str) -> tuple[Found, bytes]:
            while meanwhile and name == entries_name(3):
                meanwhile.pop()()
            return get(name)

        monkeypatch.setattr(mine, "get", get_later)
        assert S3Ledger(mine).faults() == []
    assert [piece.name for piece in bucket.listed(ENTRIES)] == []


def test_pieces_are_read_from_servers_that_tag_otherwise_in_listings(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is known that does; what is long has another tag than what is short on some."""
    ledger, long = S3Ledger(bucket), [b'"%s"' % (b"x" * 1_000_000)] * 12
    assert ledger.append(1, long) == 12
    (piece,) = bucket.listed(ENTRIES)
    assert piece.etag == bucket.head(piece.name).etag != ""
    listed = bucket.listed
    monkeypatch.setattr(bucket, "listed", lambda *words, **more: (replace(f, etag="-") for f in listed(*words, **more)))
    assert [entry for _, entry in ledger.replay()] == long


def test_a_second_writer_of_other_entries_is_refused(bucket: Bucket) -> None:
    first, second = S3Ledger(bucket), S3Ledger(bucket)
    assert second.last_seq() == 0
    first.append(1, entries(1, 2))
    for start, other in ((1, [b'"x"', b'"y"']), (2, [b'"y"', b'"z"'])):
        with pytest.raises(StoreError, match=f"another entry {start}"):
            second.append(start, other)
    assert list(second.replay()) == numbered(1, 2)


MERGER = """
import sys
from pathlib import Path
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.pieces import merge
from kgfs.stores.garage.s3.endpoint import Endpoint

endpoint, prefix, access, secret = sys.argv[1:]
merge(Bucket(Endpoint(endpoint, "kgfs", prefix, access_key_file=Path(access), secret_key_file=Path(secret))), 0, 8192)
"""


@pytest.mark.parametrize("where", ["ledger-merged", "ledger-piece-removed:1", "ledger-piece-removed:3"])
def test_a_kill_in_the_middle_of_merging_leaves_the_same_ledger(bucket: Bucket, where: str) -> None:
    ledger, place = S3Ledger(bucket), bucket.place
    one_by_one(ledger, 1, 5)
    words = map(str, (place.endpoint, place.prefix, place.access_key_file, place.secret_key_file))
    merger = subprocess.run([sys.executable, "-c", MERGER, *words], env={"KGFS_FAIL_AT": where}, timeout=60)
    assert merger.returncode == -signal.SIGKILL
    assert names(bucket, ENTRIES)
    assert list(S3Ledger(bucket).replay()) == numbered(1, 5)
    assert ledger.append(6, entries(6, 6)) == 6
    merge(bucket, 0, 8192)
    assert names(bucket, ENTRIES) == ["6"]  # too little to copy the others for
    assert len(names(bucket, MERGED)) == 1
    assert list(S3Ledger(bucket).replay()) == numbered(1, 6)


# ---------------------------------------------------------------------------------- servers that lie


def lie(bucket: Bucket, name: str, raw: bytes) -> None:
    bucket.replace(name, raw, bucket.get(name)[0].meta)


@pytest.mark.parametrize("seq", [1, 3, 5])
@pytest.mark.parametrize("how", ["flip", "cut", "a line less", "empty", "gone"])
def test_what_is_not_what_was_put_is_told_and_mended(bucket: Bucket, seq: int, how: str) -> None:
    ledger = S3Ledger(bucket)
    for first in (1, 3, 5):
        ledger.append(first, entries(first, first + 1))
    name = entries_name(seq)
    raw = bucket.get(name)[1]
    changed = {"flip": raw[:30] + bytes([raw[30] ^ 1]) + raw[31:], "cut": raw[:-4], "empty": b""}
    if how == "gone":
        bucket.delete(name)
    else:
        lie(bucket, name, changed.get(how, raw[: raw.index(b"\n") + 1]))
    if how == "gone" and seq == 5:  # nothing tells of it: the front does, which sent it
        assert ledger.last_seq() == 6
        assert S3Ledger(bucket).last_seq() == 4
        return
    got = []
    with pytest.raises(CorruptError):
        got.extend(S3Ledger(bucket).replay())
    assert got == numbered(1, len(got))
    assert S3Ledger(bucket).faults()
    assert ledger.mend(lambda _: None)
    known = dict(numbered(1, 6))
    assert ledger.mend(known.get) == []
    assert ledger.faults() == []
    assert list(S3Ledger(bucket).replay()) == numbered(1, 6)
    assert json.loads(list(ledger.replay())[-1][1])["n"] == 6
