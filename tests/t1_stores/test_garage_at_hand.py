"""Small objects that are had without waiting: right or not at all."""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.errors import CorruptError
from kgfs.ingest.storing.content import SMALL, Kept
from kgfs.stores.garage.contract import BLOCK, Objects
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.listing import object_path, sums_path
from kgfs.stores.garage.reader import buffer_of
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from tests.support.peers.buckets import GARAGES, garage_of

KEY = "sources/Philosophy/watts.txt"
ZEN = b"The finger that points at the moon is not the moon.\n"


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(params=GARAGES)
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Objects]:
    with closing(garage_of(request.param, tmp_path, request)) as garage:
        yield garage.objects


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
