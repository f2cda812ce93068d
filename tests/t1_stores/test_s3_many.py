"""Many who ask one bucket at once."""

from __future__ import annotations

import secrets
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.errors import MissingError, TimedOutError
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.client import CONNECTIONS
from kgfs.stores.garage.s3.endpoint import Endpoint
from tests.support.peers.buckets import Server

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
