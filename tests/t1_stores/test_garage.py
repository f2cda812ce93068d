"""What every Objects promises (by the garage's name), then what holds for files: rot, kills, a full disk.

Small objects that are had without waiting: right or not at all.

What every garage tells of itself as folders and files: names below a folder, looks, and the ledger's segments.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.errors import (
    BadInputError,
    CorruptError,
    ExistsError,
    MissingError,
    NameTooLongError,
    NoSpaceError,
    StoreError,
)
from kgfs.ingest.storing.content import SMALL, Kept
from kgfs.stores import timing
from kgfs.stores.garage import files as files_module
from kgfs.stores.garage.contract import BLOCK, Garage, Ledger, Objects, Sums
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.ledger import SegmentLedger
from kgfs.stores.garage.listing import object_path, sums_path
from kgfs.stores.garage.opening import FileGarage
from kgfs.stores.garage.reader import buffer_of
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.sums import decode_sums, encode_sums, sums_of
from tests.fakes.garage import MemoryGarage
from tests.support.peers.buckets import GARAGES, garage_of
from tests.support.required import missing
from tests.support.small_disk import small_file_system

KEY = "sources/Philosophy/watts.txt"
LONG = random.Random(1).randbytes(2 * BLOCK + BLOCK // 2)
"""Three blocks, the last one half."""

LONG_SUMS = sums_of(LONG)


@pytest.fixture(params=GARAGES)
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Objects]:
    with closing(garage_of(request.param, tmp_path, request)) as garage:
        yield garage.objects


@pytest.fixture
def files(tmp_path: Path) -> FileObjects:
    return FileObjects(tmp_path / "objects")


def file_of(files: FileObjects, key: str) -> Path:
    path = object_path(files._root, key)
    path.chmod(0o600)
    return path


def flip(path: Path, offset: int) -> None:
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def hashed_key(content: bytes) -> str:
    return f"sources/T/{hashlib.sha256(content).hexdigest()[:32]}.bin"


# ---------------------------------------------------------------------------------- every garage


@pytest.mark.parametrize("content", [b"", b"x", LONG[:BLOCK], LONG[: BLOCK + 1], LONG], ids=len)
@pytest.mark.parametrize("as_file", [False, True], ids=["bytes", "file"])
def test_what_was_put_is_there(objects: Objects, tmp_path: Path, content: bytes, as_file: bool) -> None:
    source = tmp_path / "source"
    source.write_bytes(content)
    sums = objects.put(KEY, source if as_file else content)
    assert sums == sums_of(content) == objects.stat(KEY)
    assert sums.sha256 == hashlib.sha256(content).hexdigest()
    assert objects.get(KEY) == content
    assert objects.exists(KEY)
    assert source.exists()


def test_what_was_not_put_is_missing(objects: Objects) -> None:
    assert not objects.exists(KEY)
    assert not objects.delete(KEY)
    for ask in (objects.stat, objects.get, objects.open):
        with pytest.raises(MissingError, match="watts"):
            ask(KEY)


def test_the_same_content_again_changes_nothing(objects: Objects) -> None:
    assert objects.put(KEY, b"zen") == objects.put(KEY, b"zen", sums_of(b"zen"))
    assert objects.get(KEY) == b"zen"


def test_another_content_is_refused(objects: Objects, tmp_path: Path) -> None:
    objects.put(KEY, b"zen")
    source = tmp_path / "source"
    source.write_bytes(b"koan")
    with pytest.raises(ExistsError, match="watts"):
        objects.put(KEY, b"koan")
    with pytest.raises(ExistsError):
        objects.put(KEY, source, move=True)
    assert source.read_bytes() == b"koan"
    assert objects.get(KEY) == b"zen"
    assert objects.stat(KEY) == sums_of(b"zen")


@pytest.mark.parametrize("known", [False, True], ids=["first", "again"])
def test_a_moved_file_is_taken_away(objects: Objects, tmp_path: Path, known: bool) -> None:
    if known:
        objects.put(KEY, LONG)
    source = tmp_path / "source"
    source.write_bytes(LONG)
    objects.put(KEY, source, sums_of(LONG), move=True)
    assert not source.exists()
    assert objects.get(KEY) == LONG


def test_sums_of_another_length_are_refused(objects: Objects, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"zen and more")
    for content, move in ((b"zen and more", False), (source, False), (source, True)):
        with pytest.raises(BadInputError):
            objects.put(KEY, content, sums_of(b"zen"), move=move)
    assert source.exists()
    assert not objects.exists(KEY)


def test_a_file_that_is_not_there_cannot_be_put(objects: Objects, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="watts"):
        objects.put(KEY, tmp_path / "absent")
    assert not objects.exists(KEY)


def test_delete_takes_the_object_and_its_place_is_free(objects: Objects) -> None:
    objects.put(KEY, b"zen")
    assert objects.delete(KEY)
    assert not objects.exists(KEY)
    assert list(objects.keys()) == []
    objects.put(KEY, b"koan")
    assert objects.get(KEY) == b"koan"


def test_a_reader_outlives_the_deletion(objects: Objects) -> None:
    objects.put(KEY, LONG)
    with closing(objects.open(KEY)) as reader:
        assert reader.read_at(0, 9) == LONG[:9]
        objects.delete(KEY)
        objects.put(KEY, b"another")
        try:
            assert reader.read_at(0, len(LONG)) == LONG
        except MissingError:  # of a server, only what is in memory already
            assert reader.read_at(3, 9) == LONG[3:12]
        assert reader.sums == sums_of(LONG)


def test_an_empty_object_reads_as_empty(objects: Objects) -> None:
    objects.put(KEY, b"")
    assert objects.get(KEY, 0, 10) == objects.get(KEY, 5) == b""


def test_negative_spans_are_refused(objects: Objects) -> None:
    objects.put(KEY, b"zen")
    with pytest.raises(BadInputError):
        objects.get(KEY, -1)
    with closing(objects.open(KEY)) as reader, pytest.raises(BadInputError):
        reader.read_at(0, -1)


EDGES = st.sampled_from([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, len(LONG) - 1, len(LONG), len(LONG) + 7])
OFFSETS = EDGES | st.integers(0, len(LONG) + 10)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spans=st.lists(st.tuples(OFFSETS, OFFSETS), min_size=1, max_size=6))
def test_ranged_reads_are_slices(objects: Objects, spans: list[tuple[int, int]]) -> None:
    objects.put(KEY, LONG, LONG_SUMS)
    with closing(objects.open(KEY)) as reader:
        for start, length in spans:
            assert reader.read_at(start, length) == LONG[start : start + length]
    start, length = spans[0]
    assert objects.get(KEY, start, length) == LONG[start : start + length]
    assert objects.get(KEY, start) == LONG[start:]


PART = st.text("AZaz09._~%+-", min_size=1, max_size=5).filter(lambda part: part not in (".", ".."))
KEYS = st.lists(PART, min_size=1, max_size=3).map("/".join)


@settings(max_examples=20, deadline=None)
@given(keys=st.sets(KEYS, max_size=12), prefix=KEYS | st.just(""), cut=st.integers(0, 3))
@pytest.mark.parametrize("kind", GARAGES)
def test_keys_are_listed_in_order(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    keys: set[str],
    prefix: str,
    cut: int,
) -> None:
    folder = tmp_path_factory.mktemp("keys")
    with closing(garage_of(kind, folder, request)) as garage:
        objects = garage.objects
        for key in keys:
            objects.put(key, key.encode())
        for start in (prefix, prefix[:cut], *(key[:-1] for key in keys)):
            assert list(objects.keys(start)) == sorted((key, len(key)) for key in keys if key.startswith(start))
    shutil.rmtree(folder)


def test_keys_that_extend_one_another_are_apart(objects: Objects) -> None:
    keys = ["a", "a/a", "a/a.sums", "a/ab", "a/ab/abc", "a/a/a", "tmp/x", "tm", "objects/x"]
    for key in keys:
        objects.put(key, key.encode())
    assert {key: objects.get(key).decode() for key in keys} == {key: key for key in keys}
    assert list(dict(objects.keys())) == sorted(keys)


BAD_KEYS = ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\0b", "a\nb", "a b", "ä", "a@b", "a\\b", "a:b"]


@pytest.mark.parametrize("key", BAD_KEYS)
def test_what_is_no_key_is_refused(objects: Objects, key: str) -> None:
    for ask in (objects.stat, objects.get, objects.open, objects.exists, objects.delete):
        with pytest.raises(BadInputError):
            ask(key)
    with pytest.raises(BadInputError):
        objects.put(key, b"zen")


@pytest.mark.parametrize("key", ["a" * 241, "/".join(["a" * 200] * 6)], ids=["part", "whole"])
def test_too_long_keys_are_refused(objects: Objects, key: str) -> None:
    with pytest.raises(NameTooLongError):
        objects.put(key, b"zen")


def test_the_longest_part_is_kept(objects: Objects) -> None:
    objects.put("a" * 240, b"zen")
    assert objects.get("a" * 240) == b"zen"


@pytest.mark.parametrize("same", [True, False], ids=["same", "other"])
def test_eight_threads_put_one_key(objects: Objects, same: bool) -> None:
    barrier = threading.Barrier(8)

    def put(number: int) -> str:
        content = LONG[: BLOCK + 10] + (b"" if same else b"%d" % number)
        barrier.wait(10)
        try:
            return objects.put(KEY, content).sha256
        except ExistsError:
            return ""

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(put, range(8)))
    kept = objects.get(KEY)
    assert hashlib.sha256(kept).hexdigest() == objects.stat(KEY).sha256
    assert answers.count(objects.stat(KEY).sha256) == (8 if same else 1)
    assert answers.count("") == (0 if same else 7)


def test_puts_deletes_and_reads_at_once_never_show_rot(objects: Objects) -> None:
    """The same key with ever other contents: a reader sees one of them whole, or nothing."""
    stop = threading.Event()
    seen = 0

    def churn(content: bytes) -> None:
        while not stop.is_set():
            try:
                objects.put(KEY, content)
            except ExistsError:
                objects.delete(KEY)

    contents = [b"zen" * 100, b"koan" * 1000]
    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(churn, content) for content in contents]
        try:
            begun = time.monotonic()
            while (passed := time.monotonic() - begun) < 0.7 or (not seen and passed < 60):
                try:
                    assert objects.get(KEY) in contents
                    seen += 1
                except MissingError:
                    pass
        finally:
            stop.set()
        for writer in writers:
            writer.result()
    assert seen


# ------------------------------------------------------------------------------------------ files


def test_the_file_is_the_content(files: FileObjects, tmp_path: Path) -> None:
    files.put(KEY, LONG)
    path = tmp_path / "objects/sources/Philosophy/@wa/watts.txt"
    assert path.read_bytes() == LONG
    assert path.stat().st_mode & 0o777 == 0o400


@pytest.mark.parametrize("umask", [0o000, 0o777], ids=oct)
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"moved")
    source.chmod(0o666)
    before = os.umask(umask)
    try:
        garage = FileGarage(tmp_path / "garage")
        garage.objects.put(KEY, b"zen")
        garage.objects.put("moved", source, move=True)
        garage.ledger.append(1, [b"{}"])
    finally:
        os.umask(before)
    for path in (tmp_path / "garage").rglob("*"):
        mode = path.stat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600 if path.suffix == ".log" else 0o400), path


def test_a_move_keeps_the_inode_but_not_of_a_file_with_two_names(files: FileObjects, tmp_path: Path) -> None:
    for key, names in (("alone", 1), ("twice", 2)):
        source = tmp_path / key
        source.write_bytes(LONG)
        number = source.stat().st_ino
        if names == 2:
            os.link(source, tmp_path / "second")
        files.put(key, source, move=True)
        assert not source.exists()
        assert (file_of(files, key).stat().st_ino == number) is (names == 1)
    (tmp_path / "second").write_bytes(b"changed through the second name")
    assert files.get("twice") == LONG


def test_a_move_from_another_file_system_copies(files: FileObjects, tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or shared.stat().st_dev == tmp_path.stat().st_dev:
        missing("shm", "no second file system at /dev/shm")
    source = shared / f"kgfs-test-{os.getpid()}"
    source.write_bytes(LONG)
    try:
        files.put(KEY, source, move=True)
        assert not source.exists()
    finally:
        source.unlink(missing_ok=True)
    assert files.get(KEY) == LONG


@pytest.mark.parametrize("block", [0, 1, 2])
@pytest.mark.parametrize("place", ["first", "last", "between"])
def test_rot_is_noticed_where_it_is_and_only_there(files: FileObjects, block: int, place: str) -> None:
    files.put(KEY, LONG)
    start, end = block * BLOCK, min((block + 1) * BLOCK, len(LONG))
    flip(file_of(files, KEY), {"first": start, "last": end - 1, "between": start + 4711}[place])
    for other in range(3):
        if other == block:
            for offset in (other * BLOCK, end - 1):
                with pytest.raises(CorruptError, match=f"watts.*block {block}"):
                    files.get(KEY, offset, 1)
        else:
            stop = min((other + 1) * BLOCK, len(LONG))
            assert files.get(KEY, other * BLOCK, BLOCK if other < 2 else None) == LONG[other * BLOCK : stop]
    with pytest.raises(CorruptError):
        files.get(KEY)


@pytest.mark.parametrize("size", [0, 1, BLOCK, BLOCK + 1, len(LONG) - 1])
def test_a_truncated_file_is_rot_from_its_end_on(files: FileObjects, size: int) -> None:
    files.put(KEY, LONG)
    os.truncate(file_of(files, KEY), size)
    whole = size // BLOCK * BLOCK
    assert files.get(KEY, 0, whole) == LONG[:whole]
    with pytest.raises(CorruptError):
        files.get(KEY, whole, 1)
    assert files.stat(KEY).size == len(LONG)


def test_a_file_cut_off_under_a_reader_is_rot(files: FileObjects) -> None:
    files.put(KEY, LONG)
    with closing(files.open(KEY)) as reader:
        reader.read_at(0, 1)
        reader.read_at(BLOCK, 1)
        os.truncate(file_of(files, KEY), 10)
        assert reader.read_at(0, 10) == LONG[:10]
        with pytest.raises(CorruptError):
            reader.read_at(0, 11)


def test_what_was_read_last_is_at_hand(files: FileObjects) -> None:
    files.put(KEY, LONG)
    with closing(files.open(KEY)) as reader:
        assert reader.read_at(0, 10) == LONG[:10]
        assert reader.cached(5, BLOCK // 2) == LONG[5 : 5 + BLOCK // 2]
        assert reader.cached(len(LONG), 1) == b""


def test_rot_is_never_at_hand_and_is_told_to_who_reads_it(files: FileObjects) -> None:
    files.put(KEY, LONG)
    flip(file_of(files, KEY), BLOCK + 7)
    with closing(files.open(KEY)) as reader:
        assert reader.read_at(0, BLOCK) == LONG[:BLOCK]
        for _ in range(2):
            assert reader.cached(BLOCK, 1) is None
            with pytest.raises(CorruptError, match="block 1"):
                reader.read_at(BLOCK, 1)
        assert reader.read_at(2 * BLOCK, 10) == LONG[2 * BLOCK : 2 * BLOCK + 10]


@settings(max_examples=50, deadline=None)
@given(reads=st.lists(st.tuples(st.integers(0, len(LONG) + 10), st.integers(0, BLOCK * 2)), max_size=20))
def test_what_is_at_hand_is_what_reading_gives(reads: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as folder:
        files = FileObjects(Path(folder))
        files.put(KEY, LONG)
        with closing(files.open(KEY)) as reader:
            for offset, length in reads:
                assert reader.cached(offset, length) in (None, LONG[offset : offset + length])
                assert reader.read_at(offset, length) == LONG[offset : offset + length]


def test_what_was_appended_to_a_file_is_not_shown(files: FileObjects) -> None:
    files.put(KEY, b"zen")
    with file_of(files, KEY).open("ab") as file:
        file.write(b"more")
    assert files.get(KEY) == b"zen"


def test_a_content_that_takes_the_place_while_it_is_opened_is_read_whole(
    files: FileObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old file is open when its sums are replaced by the new one's."""
    files.put(KEY, b"zen")

    def read_sums_late(path: str) -> Sums | None:
        monkeypatch.undo()
        files.delete(KEY)
        files.put(KEY, b"koan")
        return decode_sums(Path(path).read_bytes())

    monkeypatch.setattr(files_module, "_read_sums", read_sums_late)
    assert files.get(KEY) == b"koan"


def lose_sums(files: FileObjects, key: str, how: str) -> None:
    path = sums_path(file_of(files, key))
    if how == "missing":
        path.unlink()
    elif how == "empty":
        path.chmod(0o600)
        path.write_bytes(b"")
    else:
        flip(path, 20)


LOSSES = pytest.mark.parametrize("how", ["missing", "empty", "flipped"])


@LOSSES
def test_lost_sums_are_rot_when_nothing_proves_the_bytes(files: FileObjects, how: str) -> None:
    files.put(KEY, b"zen")
    lose_sums(files, KEY, how)
    for ask in (files.stat, files.get, files.open):
        with pytest.raises(CorruptError, match="watts"):
            ask(KEY)
    with pytest.raises(CorruptError):
        files.put(KEY, b"koan")


@LOSSES
def test_lost_sums_come_back_when_the_name_proves_the_bytes(files: FileObjects, how: str) -> None:
    key = hashed_key(LONG)
    files.put(key, LONG)
    lose_sums(files, key, how)
    assert files.get(key) == LONG
    flip(file_of(files, key), 5)
    with pytest.raises(CorruptError, match="block 0"):
        files.get(key, 0, 1)
    assert files.get(key, BLOCK) == LONG[BLOCK:]


@LOSSES
def test_lost_sums_of_rotten_bytes_do_not_come_back(files: FileObjects, how: str) -> None:
    key = hashed_key(LONG)
    files.put(key, LONG)
    flip(file_of(files, key), 5)
    lose_sums(files, key, how)
    with pytest.raises(CorruptError):
        files.get(key, BLOCK, 1)


@LOSSES
def test_lost_sums_come_back_when_the_content_is_put_again(files: FileObjects, how: str) -> None:
    files.put(KEY, LONG)
    lose_sums(files, KEY, how)
    files.put(KEY, LONG)
    assert files.stat(KEY) == LONG_SUMS


NAMED = [(16, "readings/a/{}.json"), (15, "texts/a/tt{}.json"), (24, "decisions/a/0123456789abcdef-{}.json")]


@pytest.mark.parametrize(("digits", "pattern"), [(32, "sources/T/{}.bin"), *NAMED, (32, "parts/0123456789abcdef.{}")])
def test_a_small_object_is_proved_by_its_name(files: FileObjects, digits: int, pattern: str) -> None:
    content = LONG[: files_module.SELF_PROVED]
    key = pattern.format(hashlib.sha256(content).hexdigest()[:digits])
    files.put(key, content)
    path = file_of(files, key)
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert files.stat(key) == sums_of(content)
    assert files.has_sums(key)
    for damage in (lambda: flip(path, 4711), lambda: path.write_bytes(content[:-1]), lambda: path.write_bytes(LONG)):
        damage()
        for ask in (files.stat, files.get, files.open):
            with pytest.raises(CorruptError):
                ask(key)
        files.put(key, content)
        assert files.get(key) == content
        path.chmod(0o600)


def test_an_object_that_no_name_proves_or_that_is_larger_has_sums_beside_it(files: FileObjects) -> None:
    larger = LONG[: files_module.SELF_PROVED + 1]
    of_another = f"readings/a/{'0' * 16}.json"
    for key, content in ((hashed_key(larger), larger), (of_another, b"zen"), (KEY, b"zen")):
        files.put(key, content)
        assert decode_sums(sums_path(file_of(files, key)).read_bytes()) == sums_of(content)


def test_sums_that_earlier_versions_wrote_for_a_small_object_are_used_and_replaced(files: FileObjects) -> None:
    key = hashed_key(b"zen")
    files.put(key, b"zen")
    path = file_of(files, key)
    sums_path(path).write_bytes(encode_sums(sums_of(b"zen")))
    path.write_bytes(b"zem")
    assert files.stat(key) == sums_of(b"zen")
    with pytest.raises(CorruptError, match="block 0"):
        files.get(key)
    files.put(key, b"zen")
    assert files.get(key) == b"zen"
    files.delete(key)
    assert not sums_path(path).exists()
    sums_path(path).write_bytes(encode_sums(sums_of(b"koan")))  # of a deletion that was killed
    files.put(key, b"zen")
    assert files.get(key) == b"zen"


def test_sums_without_an_object_are_nothing(files: FileObjects) -> None:
    files.put(KEY, b"zen")
    file_of(files, KEY).unlink()
    assert not files.exists(KEY)
    assert list(files.keys()) == []
    files.put(KEY, b"koan")
    assert files.get(KEY) == b"koan"


@given(size=st.integers(0, 5 * BLOCK), place=st.integers(0), bit=st.integers(0, 7))
@settings(max_examples=100, deadline=None)
def test_sums_come_back_from_their_file_or_not_at_all(size: int, place: int, bit: int) -> None:
    sums = sums_of(b"x" * (size % 100) if size < BLOCK else b"x" * size)
    raw = bytearray(encode_sums(sums))
    assert decode_sums(bytes(raw)) == sums
    raw[place % len(raw)] ^= 1 << bit
    assert decode_sums(bytes(raw)) is None
    assert decode_sums(encode_sums(sums)[: place % len(raw)]) is None


def test_only_old_left_overs_are_swept(tmp_path: Path) -> None:
    FileObjects(tmp_path)
    old, new = tmp_path / "@tmp/old", tmp_path / "@tmp/new"
    for path in (old, new):
        path.write_bytes(b"half")
    past = time.time() - timing.STAGING_LEFT_OVER - 1
    os.utime(old, (past, past))
    files = FileObjects(tmp_path)
    assert (old.exists(), new.exists()) == (False, True)
    assert list(files.keys()) == []


def test_nothing_temporary_stays(files: FileObjects, tmp_path: Path) -> None:
    files.put(KEY, b"zen")
    files.put(KEY, b"zen")
    with pytest.raises(ExistsError):
        files.put(KEY, b"koan")
    assert list((tmp_path / "objects/@tmp").iterdir()) == []


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was synced, in order: no kill can show that a sync is missing, only power loss does."""
    paths: list[str] = []

    def fsync(descriptor: int, real: Callable[[int], None] = os.fsync) -> None:
        paths.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


@pytest.mark.parametrize("move", [False, True], ids=["copied", "moved"])
def test_content_sums_and_every_name_are_synced_before_a_put_returns(
    synced: list[str], tmp_path: Path, move: bool
) -> None:
    root, source = tmp_path / "objects", tmp_path / "source"
    source.write_bytes(b"zen")
    FileObjects(root)
    assert synced == [str(tmp_path), str(root)]
    (root / "sources/Philosophy").mkdir(parents=True)  # another process made these and has not synced them yet
    files = FileObjects(root)
    synced.clear()
    files.put(KEY, source, move=move)
    folders = [str(root), str(root / "sources"), str(root / "sources/Philosophy")]
    temporary = str(root / "@tmp")
    assert [Path(path).parent.as_posix() for path in synced[:1]] == [str(tmp_path) if move else temporary]
    assert synced[1:4] == folders
    assert Path(synced[4]).parent.as_posix() == temporary
    assert synced[5:] == [str(object_path(root, KEY).parent)]
    synced.clear()
    files.put("sources/Philosophy/wattage.txt", b"koan")
    assert len(synced) == 3, "known folders are synced again"


def test_an_object_that_another_process_put_is_synced_before_its_put_returns(synced: list[str], tmp_path: Path) -> None:
    FileObjects(tmp_path).put(KEY, b"zen")
    files = FileObjects(tmp_path)
    synced.clear()
    files.put(KEY, b"zen")
    shard = object_path(tmp_path, KEY).parent
    assert synced == [*map(str, (tmp_path, tmp_path / "sources", shard.parent, shard))]
    synced.clear()
    files.delete(KEY)
    assert synced == [str(shard)]


def test_a_segment_and_its_name_are_synced_before_an_append_returns(synced: list[str], tmp_path: Path) -> None:
    first, second = SegmentLedger(tmp_path, 50), SegmentLedger(tmp_path, 50)
    segment = f"{tmp_path}/{1:016d}.log"
    for writer, sent, wanted in (
        (first, [b"{}"], [segment, str(tmp_path)]),
        (second, [b"{}"], [segment, str(tmp_path)]),  # it cannot know what the first one lived to sync
        (second, [b"{}"], [segment]),
        (first, [b"{}", b"{}"], [segment]),
        (first, [b"{}"] * 4, [segment]),
        (first, [b"{}"] * 5, [f"{tmp_path}/{5:016d}.log", str(tmp_path)]),
    ):
        synced.clear()
        second.last_seq()
        writer.append(1, sent)
        assert synced == wanted


# -------------------------------------------------------------------------------- other processes

PUTTER = """
import random, sys
from pathlib import Path
from kgfs.errors import ExistsError
from kgfs.stores.garage.files import FileObjects

objects, seed = FileObjects(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    for content in (b"same", seed.encode()):
        try:
            objects.put(f"race/{number}-{len(content)}", content)
            print("kept", number, content.decode(), flush=True)
        except ExistsError:
            print("refused", number, content.decode(), flush=True)
"""


def test_two_processes_put_the_same_keys(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PUTTER, str(tmp_path), seed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("first", "other")
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = "".join(process.communicate(timeout=300)[0] for process in processes).splitlines()
    assert [process.returncode for process in processes] == [0, 0]
    files = FileObjects(tmp_path)
    for number in range(60):
        assert files.get(f"race/{number}-4") == b"same"
        kept = files.get(f"race/{number}-5").decode()
        loser = {"first": "other", "other": "first"}[kept]
        assert f"kept {number} {kept}" in answers
        assert f"refused {number} {loser}" in answers
        assert answers.count(f"kept {number} same") == 2


KILLED = """
import hashlib, random, sys
from pathlib import Path
from kgfs.stores.garage.files import FileObjects

root, spool, chance = Path(sys.argv[1]), Path(sys.argv[2]), random.Random(int(sys.argv[3]))
objects = FileObjects(root)
while True:
    content = chance.randbytes(chance.choice([1, 2000, 70_000, (1 << 20) + 3, 3 << 20]))
    key = f"sources/T/{hashlib.sha256(content).hexdigest()[:32]}.bin"
    print("begin", key, flush=True)
    if chance.random() < 0.5:
        file = spool / hashlib.sha256(content).hexdigest()
        file.write_bytes(content)
        objects.put(key, file, move=True)
    else:
        objects.put(key, content)
    print("kept", key, flush=True)
"""


def test_kills_leave_objects_whole_or_absent(tmp_path: Path) -> None:
    root, spool, chance = tmp_path / "objects", tmp_path / "spool", random.Random(3)
    spool.mkdir()
    kept: set[str] = set()
    for attempt in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(root), str(spool), str(attempt)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout
        reported = [process.stdout.readline() for _ in range(5)]
        time.sleep(chance.uniform(0.0, 0.15))
        process.kill()
        reported += process.communicate(timeout=300)[0].splitlines()
        kept |= {line.split()[1] for line in reported if line.startswith("kept")}
    files = FileObjects(root)
    found = set(dict(files.keys()))
    assert len(kept) > 10
    assert kept <= found
    for key in found:
        assert hashed_key(files.get(key)) == key
    for source in spool.iterdir():  # given up by the caller, but not kept: the caller still has it
        content = source.read_bytes()
        files.put(hashed_key(content), source, move=True)
        assert files.get(hashed_key(content)) == content


# -------------------------------------------------------------------------------------- disk full


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path, "4m") as point:
        yield point


@pytest.mark.parametrize("kind", ["bytes", "copied file", "moved file"])
def test_a_full_disk_is_said_and_nothing_is_half(small_disk: Path, tmp_path: Path, kind: str) -> None:
    files = FileObjects(small_disk / "objects")
    files.put("first", LONG)
    source = tmp_path / "source"
    source.write_bytes(LONG[::-1])
    content = LONG[::-1] if kind == "bytes" else source
    with pytest.raises(NoSpaceError, match="second"):
        files.put("second", content, move=kind == "moved file")
    assert source.exists()
    assert list(dict(files.keys())) == ["first"]
    assert files.get("first") == LONG
    assert list((small_disk / "objects/@tmp").iterdir()) == []
    files.delete("first")
    files.put("second", content, move=kind == "moved file")
    assert files.get("second") == LONG[::-1]


def test_a_full_disk_leaves_the_ledger_whole(small_disk: Path) -> None:
    ledger = FileGarage(small_disk).ledger
    entry = b'"%s"' % (b"x" * 100_000)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2 << 20))
    assert ledger.append(1, [b'"first"']) == 1
    with pytest.raises(NoSpaceError, match="ledger"):
        ledger.append(2, [entry] * 30)
    assert ledger.last_seq() == 1
    assert ledger.append(2, [b'"second"']) == 2
    filler.unlink()
    assert ledger.append(3, [entry] * 20) == 22
    assert [got for _, got in ledger.replay()] == [b'"first"', b'"second"', *[entry] * 20]


@pytest.mark.parametrize("how", ["flipped", "cut", "longer"])
@pytest.mark.parametrize("move", [False, True])
def test_the_same_content_again_takes_the_place_of_what_is_rotten(
    files: FileObjects, tmp_path: Path, how: str, move: bool
) -> None:
    """Who puts it gives up what it puts, and with that the last right bytes."""
    key = hashed_key(LONG)
    files.put(key, LONG)
    path = file_of(files, key)
    if how == "flipped":
        flip(path, BLOCK + 7)
    else:
        path.write_bytes(LONG[:-1] if how == "cut" else LONG + b"x")
    source = tmp_path / "source"
    source.write_bytes(LONG)
    assert files.put(key, source, LONG_SUMS, move=move) == LONG_SUMS
    assert source.exists() is not move
    assert files.get(key) == LONG
    assert object_path(files._root, key).read_bytes() == LONG


ZEN = b"The finger that points at the moon is not the moon.\n"


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("content", [b"", ZEN, bytes(SMALL)], ids=["empty", "zen", "largest"])
def test_what_was_put_is_at_hand_by_its_hash(objects: Objects, content: bytes) -> None:
    objects.put(KEY, content)
    assert objects.cached(KEY, sha256_of(content), len(content)) == content
    assert objects.cached(KEY, sha256_of(b"another"), len(content)) is None
    assert objects.cached("sources/Philosophy/absent.txt", sha256_of(content), len(content)) is None


@settings(max_examples=60, deadline=None)
@given(content=st.binary(min_size=1, max_size=200), place=st.integers(0), how=st.sampled_from(["flip", "cut", "more"]))
def test_rot_is_never_at_hand(tmp_path_factory: pytest.TempPathFactory, content: bytes, place: int, how: str) -> None:
    folder = tmp_path_factory.mktemp("garage")
    objects = FileObjects(folder)
    objects.put(KEY, content)
    path, place = object_path(folder, KEY), place % len(content)
    damaged = {
        "flip": content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :],
        "cut": content[:place],
        "more": content + b"x",
    }[how]
    path.chmod(0o600)
    path.write_bytes(damaged)
    assert objects.cached(KEY, sha256_of(content), len(content)) is None


def test_a_small_content_is_read_without_its_sums_and_a_rotten_one_is_told(tmp_path: Path) -> None:
    objects = FileObjects(tmp_path)
    objects.put(KEY, ZEN)
    sums_path(object_path(tmp_path, KEY)).unlink()
    kept = Kept(objects, KEY, len(ZEN), sha256=sha256_of(ZEN))
    assert kept.cached(4, 6) == b"finger"
    assert kept.read_at(4, 6) == b"finger"
    kept.close()
    path = object_path(tmp_path, KEY)
    path.chmod(0o600)
    path.write_bytes(ZEN.replace(b"moon", b"noon"))
    rotten = Kept(objects, KEY, len(ZEN), sha256=sha256_of(ZEN))
    assert rotten.cached(0, 100) is None
    with pytest.raises(CorruptError):
        rotten.read_at(0, 100)
    rotten.close()


def test_a_content_under_another_key_is_found_by_who_waits_for_it(tmp_path: Path) -> None:
    objects = FileObjects(tmp_path)
    objects.put(KEY, ZEN)
    kept = Kept(objects, "sources/Zen/watts.txt", len(ZEN), lambda: KEY, sha256_of(ZEN))
    assert kept.cached(0, 3) in (None, b"The")
    assert kept.read_at(0, 3) == b"The"
    kept.close()


def test_nobody_waits_for_a_server_to_learn_that_nothing_is_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "two")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = Endpoint(f"http://127.0.0.1:{silent.getsockname()[1]}", "kgfs", region="us-east-1", timeout=1.0)
        with closing(S3Garage(place, tmp_path, 1 << 20)) as garage:
            for size in (len(ZEN), SMALL + 1):
                kept = Kept(garage.objects, KEY, size, sha256=sha256_of(ZEN))
                assert kept.cached(0, 3) is None
            silent.setblocking(False)
            with pytest.raises(BlockingIOError):
                silent.accept()


@pytest.mark.parametrize("size", [1, mmap.PAGESIZE + 1, BLOCK])
def test_blocks_are_read_to_the_start_of_a_page(size: int) -> None:
    buffer = buffer_of(size)
    assert len(buffer) == size
    assert ctypes.addressof(ctypes.c_char.from_buffer(buffer)) % mmap.PAGESIZE == 0


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
