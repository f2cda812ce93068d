"""Listings that come in several answers of the server: all names, each once, in its order, however many one answer gives.

Many who ask one bucket at once.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.errors import MissingError, TimedOutError
from kgfs.stores.garage.s3.bucket import PAGE, Bucket
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.client import CONNECTIONS
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.names import object_name
from kgfs.stores.garage.s3.objects import S3Objects
from tests.support.peers.buckets import S3, Server

TOP = "objects/"
LONG = "l" * 239
KEYS = (
    *("a", "a/b", "a/b/c", "a/b-", "a/B", "a-", "a-/b", "a.b", "a+b", "a%2Fb", "a%252Fb", "a~", "a~/z", "A", "A/b", "aa", "aa/a"),
    *("-", "--/-", "+", "%", "%00", "%41", "~", "~~", "_", "..a", "...", ".a/..b", "0", "00", "10", "9", "9/0123456789abcdef.txt"),
    *(LONG, f"{LONG}/a", f"{LONG}/{LONG}/{LONG}", "d/0", "d/1", "d/2", "d/d/0", "d/d/1", "d0", "d1"),
)  # fmt: skip
"""Folders that end in the middle of an answer, names between a folder and what is in it, and what addresses must quote."""
NAMES = [object_name(key) for key in KEYS]


@pytest.fixture(params=[*S3], scope="module")
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    server: Server = request.getfixturevalue(request.param)
    with closing(Bucket(server.place)) as made:
        for name in (*NAMES, "object", "objects-/a!"):
            assert made.put(name, name.encode(), {})
        yield made


def in_order(bucket: Bucket, names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: name.split("/")) if bucket.lists_by_folder else sorted(names)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, PAGE])
def test_all_are_listed_once_and_in_order(bucket: Bucket, limit: int) -> None:
    found = list(bucket.listed(TOP, limit=limit))
    assert [one.name for one in found] == in_order(bucket, NAMES)
    assert [one.size for one in found] == [len(one.name) for one in found]
    for below in ("a", "a/", "a/b", "d/", LONG, "none"):
        names = [name for name in NAMES if name.startswith(TOP + below)]
        assert [one.name for one in bucket.listed(TOP + below, limit=limit)] == in_order(bucket, names), below


@pytest.mark.parametrize("limit", [1, 2, 3, 7, PAGE])
def test_each_name_and_each_folder_directly_below_is_listed_once(bucket: Bucket, limit: int) -> None:
    for top in (TOP, f"{TOP}a/", f"{TOP}d/", f"{TOP}{LONG}/", "none/"):
        below = [name.removeprefix(top).partition("/") for name in NAMES if name.startswith(top)]
        found = [one.name for one in bucket.listed(top, flat=False, limit=limit)]
        assert sorted(found) == sorted({f"{top}{name}{folder}" for name, folder, _ in below})


@pytest.mark.parametrize("limit", [1, 2, 3, 7, PAGE])
def test_after_a_name_come_all_the_others_of_its_folder(bucket: Bucket, limit: int) -> None:
    names = [f"{TOP}d/{name}!" for name in "012"]
    for number, name in enumerate(names):
        found = [one.name for one in bucket.listed(f"{TOP}d/", after=name, limit=limit)]
        assert [name for name in found if "/d/d/" not in name] == names[number + 1 :]


def test_keys_of_a_garage_are_in_order_whatever_the_server_s_is(bucket: Bucket, tmp_path: Path) -> None:
    found = S3Objects(bucket, Cache(tmp_path, 0)).keys()
    assert [key for key, _ in found] == sorted(KEYS)


@pytest.mark.slow
def test_keys_of_a_garage_beyond_one_answer_are_all_found(bucket: Bucket, tmp_path: Path) -> None:
    objects = S3Objects(bucket, Cache(tmp_path, 0))
    keys = [f"many/{number:05}" for number in range(PAGE + 1)]
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda key: objects.put(key, key.encode()), keys):
            pass
    try:
        assert [key for key, _ in objects.keys("many/")] == keys
        assert objects.names("many") == [key.removeprefix("many/") for key in keys]
    finally:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(objects.delete, keys))


MANY = 3 * CONNECTIONS


def test_hardly_any_connection_is_opened_for_one_request_alone(seaweedfs: Server) -> None:
    with closing(Bucket(replace(seaweedfs.place, prefix=f"many-{secrets.token_hex(6)}"))) as bucket:
        bucket.replace("a", b"kept", {})
        pools = bucket._client()._http.pools

        def ask(number: int) -> bytes:
            with pytest.raises(MissingError):
                bucket.head(f"missing-{number}")
            return bucket.get("a")[1]

        with ThreadPoolExecutor(MANY) as threads:
            assert set(threads.map(ask, range(10 * MANY))) == {b"kept"}
        [key] = pools.keys()
        assert pools[key].num_connections < MANY * 10 // 4, "a busy machine lets some wait for longer than briefly"


def test_nobody_waits_for_a_silent_bucket_after_the_others(tmp_path: Path) -> None:
    """Behind an address that takes connections, and says nothing."""
    (key := tmp_path / "key").write_text("any-key")
    with socket.create_server(("127.0.0.1", 0), backlog=MANY) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        place = Endpoint(address, "bucket", region="any", access_key_file=key, secret_key_file=key, timeout=4.0)

        def ask(number: int) -> float:
            before = time.monotonic()
            with pytest.raises(TimedOutError):
                bucket.head(f"missing-{number}")
            return time.monotonic() - before

        with closing(Bucket(place)) as bucket, ThreadPoolExecutor(MANY) as threads:
            assert max(threads.map(ask, range(MANY))) < 2 * place.timeout
