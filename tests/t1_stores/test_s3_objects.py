"""What holds for objects in a bucket beyond what every garage promises: servers that lie, parts, sums, the cache, secrets."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.config import Config, load
from kgfs.errors import (
    BadInputError,
    CorruptError,
    ExistsError,
    MissingError,
    StoreError,
    UnavailableError,
)
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.garage.s3 import names, objects
from kgfs.stores.garage.s3.bucket import Bucket, Download
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.client import client_of
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.errors import NoBucketError
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.names import key_of, object_name
from kgfs.stores.garage.s3.objects import S3Objects
from kgfs.stores.garage.s3.reader import FIRST, S3Reader
from kgfs.stores.garage.sums import encode_sums, sums_of
from tests.support.peers.buckets import S3, Server

KEY = "sources/Philosophy/watts.txt"
LONG = random.Random(4).randbytes(2 * BLOCK + BLOCK // 2)
LONGER = random.Random(5).randbytes(11 << 20)


@pytest.fixture(params=[*S3])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def bucket(server: Server) -> Iterator[Bucket]:
    with closing(Bucket(server.place)) as made:
        yield made


@pytest.fixture
def kept(bucket: Bucket, tmp_path: Path) -> S3Objects:
    """Without a cache: all comes from the server."""
    return S3Objects(bucket, Cache(tmp_path / "cache", 0))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if contents were sixteen times as long."""
    monkeypatch.setattr(objects, "PART", 5 << 20)
    for module in (objects, names):
        monkeypatch.setattr(module, "BLOCKS_IN_META", 4)


def hashed_key(content: bytes) -> str:
    return f"sources/T/{hashlib.sha256(content).hexdigest()[:32]}.bin"


# ------------------------------------------------------------------------------------ servers that lie


def lie(bucket: Bucket, key: str, content: bytes) -> None:
    """Put other bytes, with the metadata of what was put."""
    name = object_name(key)
    bucket.replace(name, content, bucket.head(name).meta)


@pytest.mark.claim("BUCKET-2")
def test_a_flipped_byte_is_rot_in_its_block_only(kept: S3Objects, bucket: Bucket) -> None:
    kept.put(KEY, LONG)
    lie(bucket, KEY, LONG[: BLOCK + 9] + bytes([LONG[BLOCK + 9] ^ 1]) + LONG[BLOCK + 10 :])
    with pytest.raises(CorruptError, match=r"watts.*block 1"):
        kept.get(KEY)
    with closing(kept.open(KEY)) as reader:
        assert reader.read_at(0, BLOCK) == LONG[:BLOCK]
        for _ in range(2):
            with pytest.raises(CorruptError):
                reader.read_at(BLOCK, 1)
            assert reader.cached(BLOCK, 1) is None
        assert reader.read_at(2 * BLOCK, 9) == LONG[2 * BLOCK : 2 * BLOCK + 9]


@pytest.mark.claim("BUCKET-2")
def test_a_stream_that_lied_once_is_not_read_on(kept: S3Objects, bucket: Bucket) -> None:
    """Its next bytes are those of the next block, which would be rot for ever."""
    kept.put(KEY, LONG)
    lie(bucket, KEY, LONG[:BLOCK] + bytes(BLOCK) + LONG[2 * BLOCK :])
    with closing(kept.open(KEY)) as reader:
        lie(bucket, KEY, LONG)
        with pytest.raises(CorruptError):
            reader.read_at(BLOCK, 1)
        assert reader.read_at(BLOCK, BLOCK) == LONG[BLOCK : 2 * BLOCK]


@pytest.mark.claim("BUCKET-2")
@pytest.mark.parametrize("size", [0, 1, BLOCK, BLOCK + 1, len(LONG) - 1])
def test_a_truncated_object_is_rot_from_its_end_on(kept: S3Objects, bucket: Bucket, size: int) -> None:
    kept.put(KEY, LONG)
    lie(bucket, KEY, LONG[:size])
    whole = size // BLOCK * BLOCK
    assert kept.get(KEY, 0, whole) == LONG[:whole]
    with pytest.raises(CorruptError):
        kept.get(KEY, whole, 1)


@pytest.mark.claim("BUCKET-2")
def test_an_object_that_is_gone_is_missing_under_its_reader_too(kept: S3Objects, bucket: Bucket) -> None:
    kept.put(KEY, bytes(FIRST * BLOCK + 1))
    with closing(kept.open(KEY)) as reader:
        bucket.delete(object_name(KEY))
        with pytest.raises(MissingError):
            reader.read_at(FIRST * BLOCK, 1)
    with pytest.raises(MissingError):
        kept.get(KEY)


def test_bytes_of_strangers_are_taken_for_ours_only_where_the_name_proves_them(kept: S3Objects, bucket: Bucket) -> None:
    """Put by another tool, without our metadata: a bucket copied with a tool that loses it."""
    for key in (KEY, hashed_key(LONG)):
        bucket.replace(object_name(key), LONG, {})
        assert not kept.has_sums(key)
    with pytest.raises(CorruptError):
        kept.get(KEY)
    assert kept.get(hashed_key(LONG)) == LONG
    assert kept.has_sums(hashed_key(LONG))
    kept.put(KEY, LONG)
    assert kept.has_sums(KEY)
    assert kept.get(KEY) == LONG
    bucket.replace(object_name(hashed_key(LONG)), LONG[::-1], {})
    with pytest.raises(CorruptError):
        kept.get(hashed_key(LONG))


# ------------------------------------------------------------------------------------- long contents


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("as_file", [False, True], ids=["bytes", "file"])
def test_a_long_content_goes_in_parts_with_its_sums_beside_it(
    kept: S3Objects, bucket: Bucket, tmp_path: Path, as_file: bool
) -> None:
    source = tmp_path / "source"
    source.write_bytes(LONGER)
    content = source if as_file else LONGER
    assert kept.put(KEY, content) == sums_of(LONGER) == kept.stat(KEY)
    assert kept.get(KEY) == LONGER
    kept.put(KEY, content)
    other = LONGER[:-1] + b"x"
    with pytest.raises(ExistsError):
        kept.put(KEY, other)
    assert kept.get(KEY, 10 << 20) == LONGER[10 << 20 :]
    (sums,) = [found.name for found in bucket.listed("sums/")]
    bucket.delete(sums)
    assert not kept.has_sums(KEY)
    assert kept.get(KEY, 5, 9) == LONGER[5:14]
    assert kept.has_sums(KEY)
    assert kept.delete(KEY)
    assert list(bucket.listed("")) == []


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("content", [b"zen", LONGER], ids=["short", "long"])
def test_a_bucket_that_is_not_there_is_told_of_and_made_on_demand_alone(
    server: Server, tmp_path: Path, content: bytes
) -> None:
    with closing(Bucket(replace(server.place, bucket=f"new-{len(content)}"))) as bucket:
        kept = S3Objects(bucket, Cache(tmp_path / "cache", 0))
        asks: list[Callable[[], object]] = [
            lambda: kept.put(KEY, content),
            lambda: list(kept.keys()),
            lambda: kept.delete(KEY),
            lambda: kept.get(KEY),
        ]
        for ask in asks:
            with pytest.raises(NoBucketError, match=r"no such bucket.*garage\.bucket.*kgfs doctor --create"):
                ask()
        assert not client_of(bucket.place).bucket_exists(bucket.place.bucket)
        assert bucket.create()
        assert not bucket.create()
        assert list(kept.keys()) == []
        kept.put(KEY, content)
        assert kept.get(KEY) == content
        for key in ("sources/a-", "sources/a/b"):
            kept.put(key, b"zen")
        assert [key for key, _ in kept.keys("sources/a")] == ["sources/a-", "sources/a/b"]


def test_a_bucket_that_goes_is_away_and_is_not_made_anew(server: Server, tmp_path: Path) -> None:
    place = replace(server.place, bucket="going")
    client, long = client_of(place), objects.PART + 1
    with closing(S3Garage(place, tmp_path / "cache", 0)) as garage, closing(Bucket(place)) as reader:
        assert garage.create_bucket()
        kept, ledger = garage.objects, garage.ledger
        kept.put(KEY, b"zen")
        assert ledger.append(1, [b"{}"]) == 1
        assert list(S3Objects(reader, Cache(tmp_path / "none", 0)).keys()) == [(KEY, 3)]
        for item in list(client.list_objects("going", recursive=True)):
            client.remove_object("going", str(item.object_name))
        client.remove_bucket("going")
        asks: list[Callable[[], object]] = [
            lambda: kept.get(KEY),
            lambda: kept.names(),
            lambda: kept.delete(KEY),
            lambda: list(S3Objects(reader, Cache(tmp_path / "none", 0)).keys()),
        ]
        if server.name != "seaweedfs":  # it makes a bucket of what is put, by itself
            asks += [
                lambda: kept.put("later", b"zen"),
                lambda: kept.put("long", bytes(long)),
                lambda: ledger.append(2, [b"{}"]),
            ]
        for ask in asks:
            with pytest.raises(UnavailableError, match=r"not there any more\. Bring it back"):
                ask()
        assert not client.bucket_exists("going")
        client.make_bucket("going")
        kept.put(KEY, b"zen")
        assert kept.get(KEY) == b"zen"


@pytest.mark.parametrize("size", [100, 3 * BLOCK])
def test_an_answer_that_breaks_off_in_its_first_block_is_asked_for_once_more(
    kept: S3Objects, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    content = random.Random(size).randbytes(size)
    kept.put(KEY, content)

    def broken(*_: Any) -> Any:
        monkeypatch.undo()
        raise UnavailableError("the server ended in the middle of it")

    monkeypatch.setattr(Download, "read", broken)
    assert kept.get(KEY) == content


def test_a_cached_block_that_has_gone_comes_from_the_bucket(bucket: Bucket, tmp_path: Path) -> None:
    S3Objects(bucket, Cache(tmp_path / "cache", 64 << 20)).put(KEY, LONG)
    with closing(S3Objects(bucket, Cache(tmp_path / "cache", 64 << 20)).open(KEY)) as reader:
        assert isinstance(reader, S3Reader)
        for path in (tmp_path / "cache").rglob("*.*"):
            path.unlink()
        assert reader.read_at(0, len(LONG)) == LONG


def test_who_seeks_is_not_sent_what_follows(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, asked, download = S3Objects(bucket, Cache(tmp_path / "cache", 0)), list[int](), bucket.download
    kept.put(KEY, bytes(70 * BLOCK))

    def counted(name: str, start: int, length: int) -> Any:
        asked.append(length // BLOCK)
        return download(name, start, length)

    monkeypatch.setattr(bucket, "download", counted)
    with closing(kept.open(KEY)) as reader:
        for at in (40, 41, 20, 21):
            assert reader.read_at(at * BLOCK, BLOCK) == bytes(BLOCK)
    assert asked == [FIRST, 1, FIRST, 1, FIRST]


def test_a_server_that_says_taken_of_what_it_has_not_is_not_asked_for_ever(
    kept: S3Objects, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "put", lambda *_: False)
    with pytest.raises(UnavailableError, match="is called taken and is not there"):
        kept.put(KEY, b"zen")


@pytest.mark.usefixtures("small_parts")
def test_a_content_that_changed_after_it_was_hashed_is_refused(kept: S3Objects, bucket: Bucket) -> None:
    for content in (b"zen", LONGER):
        with pytest.raises(BadInputError, match="changed"):
            kept.put(KEY, content, sums_of(content[:-1] + b"x"))
        assert not kept.exists(KEY)
    assert list(bucket.uploads(object_name(KEY))) == []


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("server", ["seaweedfs"], indirect=True)
def test_memory_is_that_of_a_few_parts_whatever_the_length(kept: S3Objects, tmp_path: Path) -> None:
    source = tmp_path / "source"
    with source.open("wb") as file:
        for _ in range(64):
            file.write(LONG[:BLOCK])
    tracemalloc.start()
    try:
        sums, read = kept.put(KEY, source), hashlib.sha256()
        with closing(kept.open(KEY)) as reader:
            for at in range(0, sums.size, BLOCK):
                read.update(reader.read_at(at, BLOCK))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20 < sums.size
    finally:
        tracemalloc.stop()
    assert read.hexdigest() == sums.sha256


PUTTER = """
import sys
from pathlib import Path
from kgfs.stores.garage.s3 import objects
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.endpoint import Endpoint

objects.PART = 5 << 20
endpoint, prefix, access, secret, cache = sys.argv[1:]
place = Endpoint(endpoint, "kgfs", prefix, access_key_file=Path(access), secret_key_file=Path(secret))
garage = S3Garage(place, Path(cache), 0)
read = objects._Hashed.read

def reading(self, size=-1):
    if (part := self.__dict__.setdefault("part", 0)) and size:
        print("sent", part - 1, flush=True)
        sys.stdin.readline()
    self.__dict__["part"] += 1
    return read(self, size)

objects._Hashed.read = reading
garage.objects.put("sources/Philosophy/watts.txt", Path(cache).parent / "source")
"""


def test_parts_of_a_killed_process_are_found_and_aborted(kept: S3Objects, bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(LONGER)
    place = bucket.place
    words = [place.endpoint, place.prefix, place.access_key_file, place.secret_key_file, tmp_path / "cache"]
    process = subprocess.Popen(
        [sys.executable, "-c", PUTTER, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "sent 0\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert not kept.exists(KEY)
    assert [upload.name for upload in bucket.uploads(object_name(KEY))] == [object_name(KEY)]
    if bucket.lists_by_folder:  # the other server finds uploads by exact name only
        assert [key for key, _ in kept.left_over()] == [KEY]
    kept.sweep(begun_before=0.0)
    assert list(bucket.uploads(object_name(KEY)))
    assert not kept.delete(KEY)
    assert not list(bucket.uploads(object_name(KEY)))
    kept.put(KEY, LONGER)
    assert kept.get(KEY) == LONGER


# --------------------------------------------------------------------------------------------- names

PART = st.text("AZaz09._~%+-f", min_size=1, max_size=20).filter(lambda part: part not in (".", ".."))
KEYS = st.lists(PART | st.just("0123456789abcdef.txt"), min_size=1, max_size=3).map("/".join)


@settings(max_examples=200, deadline=None)
@given(keys=st.lists(KEYS, max_size=8, unique=True))
def test_names_are_in_the_order_of_keys_and_no_folder_has_the_name_of_an_object(keys: list[str]) -> None:
    named = {}
    for key in keys:
        try:
            named[key] = object_name(key)
        except BadInputError:
            assert "0123456789abcdef.txt/" in key
    assert sorted(named, key=named.__getitem__) == sorted(named)
    assert [key_of(name) for name in named.values()] == list(named)
    folders = {name[:at] for name in named.values() for at in range(len(name)) if name[at] == "/"}
    assert folders.isdisjoint(named.values())


# --------------------------------------------------------------------------------------------- cache


@pytest.fixture
def cached(bucket: Bucket, tmp_path: Path) -> S3Objects:
    return S3Objects(bucket, Cache(tmp_path / "cache", 8 << 20))


def files_of(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.name != "state"]


@pytest.mark.claim("BUCKET-3")
def test_what_was_read_once_is_read_without_the_server(cached: S3Objects, bucket: Bucket, tmp_path: Path) -> None:
    kept = S3Objects(bucket, Cache(tmp_path / "none", 0))
    kept.put(KEY, LONG)
    assert cached.get(KEY, 0, BLOCK + 1) == LONG[: BLOCK + 1]
    bucket.delete(object_name(KEY))
    assert cached.get(KEY, 0, 2 * BLOCK) == LONG[: 2 * BLOCK]
    with pytest.raises(MissingError):
        cached.get(KEY, 2 * BLOCK, 1)


def test_who_reads_on_from_cached_blocks_holds_no_connection(bucket: Bucket, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", 8 << 20)
    kept = S3Objects(bucket, cache)
    S3Objects(bucket, Cache(tmp_path / "none", 0)).put(KEY, LONG)
    cache.keep_block(KEY, 1, LONG[BLOCK : 2 * BLOCK], cache.round())
    with closing(kept.open(KEY)) as reader:
        assert isinstance(reader, S3Reader) and reader._download
        assert reader.read_at(BLOCK, BLOCK) == LONG[BLOCK : 2 * BLOCK]
        assert reader._download is None
        assert reader.read_at(0, 3 * BLOCK) == LONG


class _Says(BaseHTTPRequestHandler):
    """All of LONG, or for the path /cut what is less than it promised."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(LONG)))
        self.end_headers()
        self.wfile.write(LONG[: BLOCK + 1] if self.path == "/cut" else LONG)
        self.close_connection = self.path == "/cut"

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.mark.claim("BUCKET-3")
@pytest.mark.parametrize("how", ["flip first", "flip last", "cut", "cut to its sums", "longer", "empty"])
@pytest.mark.parametrize("content", [LONG, LONG[:BLOCK], b"zen"], ids=["blocks", "a-block", "short"])
def test_a_cached_file_that_is_not_right_is_fetched_again(
    cached: S3Objects, bucket: Bucket, tmp_path: Path, how: str, content: bytes
) -> None:
    sums = sums_of(content)
    cached.put(KEY, content)
    assert len(files_of(tmp_path)) == (4 if len(sums.blocks) > 1 else 1)
    for path in files_of(tmp_path):
        raw = path.read_bytes()
        path.write_bytes(
            {
                "flip first": raw[:7] + bytes([raw[7] ^ 1]) + raw[8:],
                "flip last": raw[:-1] + bytes([raw[-1] ^ 1]),
                "cut": raw[: len(raw) // 2],
                "cut to its sums": raw[: len(encode_sums(sums))],
                "longer": raw + b"x",
                "empty": b"",
            }[how]
        )
    assert cached.cached(KEY, sums.sha256, sums.size) in (None, content)
    for _ in range(2):
        assert cached.get(KEY) == content
    bucket.delete(object_name(KEY))
    assert cached.get(KEY) == content


def test_who_keeps_nothing_forgets_what_others_kept(tmp_path: Path) -> None:
    keeping, bare = Cache(tmp_path / "cache", 1 << 20), Cache(tmp_path / "cache", 0)
    content = b"said once"
    for key in ("sources/A/1.txt", "sources/A/2.txt", "sources/A/3.txt"):
        keeping.keep_whole(key, sums_of(content), content, keeping.round())
    bare.forget("sources/A/1.txt")
    assert keeping.kept("sources/A/1.txt") is None
    assert keeping.kept("sources/A/2.txt") is not None
    nowhere = Cache(tmp_path / "none", 0)
    nowhere.forget("sources/A/1.txt")
    assert not (tmp_path / "none").exists()


@pytest.mark.claim("BUCKET-5")
def test_a_deleted_object_is_not_in_the_cache_of_any_process_nor_comes_back(
    cached: S3Objects, bucket: Bucket, tmp_path: Path
) -> None:
    other = S3Objects(bucket, Cache(tmp_path / "cache", 8 << 20))
    cached.put(KEY, LONG)
    with closing(other.open(KEY)) as reader:
        before = Cache(tmp_path / "cache", 8 << 20).round()
        cached.delete(KEY)
        assert files_of(tmp_path) == []
        with pytest.raises(MissingError):
            reader.read_at(0, len(LONG))
    Cache(tmp_path / "cache", 8 << 20).keep_block(KEY, 0, LONG[:BLOCK], before)
    assert files_of(tmp_path) == []
    for ask in (other.get, other.open, other.stat):
        with pytest.raises(MissingError):
            ask(KEY)


@pytest.mark.claim("BUCKET-3")
def test_the_cache_keeps_within_its_bytes_what_was_used_last(tmp_path: Path) -> None:
    cache, limit = Cache(tmp_path / "cache", 40 * 4096), 40 * 4096
    content = b"x" * 3000
    sums = sums_of(content)
    for number in range(200):
        cache.keep_block(f"a/{number}", 0, content, cache.round())
        assert cache.used() <= limit
        for path in files_of(tmp_path):
            os.utime(path, (number, number)) if path.stat().st_mtime > 10**6 else None
        assert cache.block("a/0", 0, sums) == content  # used again and again, so it stays
    assert cache.used() > limit / 2
    assert cache.block("a/199", 0, sums) == content
    assert cache.block("a/100", 0, sums) is None
    cache.keep_block("long", 0, bytes(limit + 1), cache.round())
    assert cache.used() <= limit


FILLER = """
import sys
from pathlib import Path
from kgfs.stores.garage.s3.cache import Cache

cache = Cache(Path(sys.argv[1]), 50 * 4096)
print("ready", flush=True)
for number in range(10**9):
    cache.keep_block(f"{sys.argv[2]}/{number % 500}", 0, b"%d" % (number % 500) * 2000, cache.round())
"""


@pytest.mark.claim("BUCKET-3")
def test_killed_processes_leave_no_half_file_in_a_shared_cache(tmp_path: Path) -> None:
    folder, cache = tmp_path / "cache", Cache(tmp_path / "cache", 50 * 4096)
    for _ in range(4):
        fillers = [
            subprocess.Popen([sys.executable, "-c", FILLER, str(folder), who], stdout=subprocess.PIPE) for who in "ab"
        ]
        for filler in fillers:
            assert filler.stdout
            filler.stdout.readline()
        fillers[0].send_signal(signal.SIGKILL)
        fillers[0].communicate()
        fillers[1].send_signal(signal.SIGKILL)
        fillers[1].communicate()
        for number in range(500):
            for who in "ab":
                wanted = b"%d" % number * 2000
                assert cache.block(f"{who}/{number}", 0, sums_of(wanted)) in (None, wanted)
                assert (folder / "state").exists()
    assert cache.used() <= 50 * 4096
    cache.keep_block("last", 0, b"last", cache.round())
    assert cache.block("last", 0, sums_of(b"last")) == b"last"


def test_reading_on_and_on_asks_seldom(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = random.Random(1).randbytes(40 * BLOCK)
    S3Objects(bucket, Cache(tmp_path / "none", 0)).put(KEY, content)
    asked = []
    plain = Bucket.download
    monkeypatch.setattr(
        Bucket, "download", lambda self, name, at, size: asked.append(size) or plain(self, name, at, size)
    )
    for cache in (Cache(tmp_path / "none", 0), Cache(tmp_path / "cache", 64 << 20)):
        with closing(S3Objects(bucket, cache).open(KEY)) as reader:
            pieces = [reader.read_at(at, 128 << 10) for at in range(0, len(content), 128 << 10)]
        assert b"".join(pieces) == content
        assert len(asked) <= 7
        asked.clear()
    S3Objects(bucket, Cache(tmp_path / "cache", 64 << 20)).get(KEY)
    assert asked == [], "all of it is cached"


# -------------------------------------------------------------------------------- settings and secrets


def test_settings_make_the_place(server: Server, tmp_path: Path) -> None:
    place = server.place
    environ = {
        "KGFS_GARAGE_STORE": "s3",
        "KGFS_GARAGE_ENDPOINT": place.endpoint,
        "KGFS_GARAGE_PREFIX": place.prefix,
        "KGFS_GARAGE_ACCESS_KEY_FILE": str(place.access_key_file),
        "KGFS_GARAGE_SECRET_KEY_FILE": str(place.secret_key_file),
        "KGFS_GARAGE_PATH_STYLE": "true",
        "KGFS_GARAGE_CACHE_BYTES": "0",
    }
    config: Config = load(tmp_path, environ=environ)
    with closing(open_garage(config)) as garage:
        assert isinstance(garage, S3Garage)
        garage.objects.put(KEY, b"zen")
    assert S3Objects(Bucket(place), Cache(tmp_path, 0)).get(KEY) == b"zen"
    secret = (place.secret_key_file or Path()).read_text()
    assert secret not in str(config.shown())


def test_keys_come_from_the_environment_where_no_file_is_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    place = server.place
    assert place.access_key_file and place.secret_key_file
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", place.access_key_file.read_text())
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", place.secret_key_file.read_text())
    bucket = Bucket(replace(place, access_key_file=None, secret_key_file=None))
    assert bucket.put("zen", b"zen", {})


def test_wrong_keys_are_told_and_no_key_is(server: Server, tmp_path: Path) -> None:
    place = server.place
    wrong = tmp_path / "wrong"
    wrong.write_text("not-the-secret-key")
    objects = S3Objects(Bucket(replace(place, secret_key_file=wrong)), Cache(tmp_path, 0))
    secrets = [
        "not-the-secret-key",
        *(file.read_text() for file in (place.access_key_file, place.secret_key_file) if file),
    ]
    for ask in (lambda: objects.put(KEY, b"zen"), lambda: objects.get(KEY), lambda: objects.exists(KEY)):
        with pytest.raises(StoreError, match="refuses the keys") as caught:
            ask()
        for secret in secrets:
            assert secret not in f"{caught.value!r} {caught.value.__cause__!r} {objects._bucket.place!r}"
    wrong.unlink()
    with pytest.raises(StoreError, match="no keys"):
        objects.get(KEY)


LOCAL = Endpoint("http://127.0.0.1:9", "kgfs", access_key_file=Path("/none"), secret_key_file=Path("/none"))


@pytest.mark.parametrize("endpoint", ["", "127.0.0.1:9000", "ftp://host", "http://host/path", "http://me:key@host"])
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(BadInputError, match=r"garage\.endpoint"):
        client_of(replace(LOCAL, endpoint=endpoint))


def test_what_no_bucket_can_be_called_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"garage\.bucket"):
        client_of(replace(LOCAL, bucket="Bad_Name!"))


def test_only_half_of_the_keys_is_refused() -> None:
    with pytest.raises(BadInputError, match="go together"):
        client_of(replace(LOCAL, secret_key_file=None))


def test_host_style_asks_the_bucket_s_own_host() -> None:
    for path_style, wanted in ((True, "https://s3.example.org/kgfs/a"), (False, "https://kgfs.s3.example.org/a")):
        client = client_of(replace(LOCAL, endpoint="https://s3.example.org", path_style=path_style))
        built = client._base_url.build(method="GET", region="us-east-1", bucket_name="kgfs", object_name="a")
        assert built.geturl() == wanted
