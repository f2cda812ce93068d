"""Delivering to a bucket that is far away: what does not depend on one another is asked at the same time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kgfs.errors import TimedOutError
from kgfs.sharing.exchange import Exchange
from kgfs.sharing.parallel_map import together
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.pending_uploads import WAITING
from kgfs.stores.servers import asked
from tests.support.hosts import Host, host
from tests.support.peers.buckets import S3, Server
from tests.support.peers.far import Far

WAY = 0.1
"""Seconds there and back."""
COUNT = 100


@pytest.fixture(params=[*S3], name="place")
def place_in_a_bucket(request: pytest.FixtureRequest) -> Endpoint:
    server: Server = request.getfixturevalue(request.param)
    return server.place


@pytest.fixture
def here(place: Endpoint, tmp_path: Path) -> Iterator[Host]:
    """A home near the bucket."""
    with ExitStack() as stack:
        made = host(tmp_path / "here", stack.enter_context(closing(S3Garage(place, tmp_path / "cache", 64 << 20))))
        stack.callback(made.catalog.close)
        stack.callback(made.session.close)
        made.ontology()
        made.exchange()
        yield made


@pytest.fixture
def far(place: Endpoint, here: Host, tmp_path: Path) -> Iterator[Exchange]:
    """That of a process of the same home, for which it is far away."""
    with ExitStack() as stack:
        wire = stack.enter_context(closing(Far(urlsplit(place.endpoint).port or 0, WAY)))
        there = replace(place, endpoint=f"http://127.0.0.1:{wire.port}")
        garage = stack.enter_context(closing(S3Garage(there, tmp_path / "far", 64 << 20)))
        yield Exchange(here.config, replace(here.stores, garage=garage))


def waits(here: Host) -> int:
    return len(list(here.stores.garage.objects.keys(WAITING)))


@pytest.mark.claim("SHARE-1")
def test_a_portion_takes_a_part_of_what_its_requests_would_take_one_after_the_other(here: Host, far: Exchange) -> None:
    names = [here.file(f"{n}.txt", b"content %d" % n) for n in range(COUNT)]
    here.exchange()
    here.settle()
    assert waits(here) == COUNT
    begun, before = time.monotonic(), asked["garage"]
    far.deliver()
    took, requests = time.monotonic() - begun, asked["garage"] - before
    assert here.catalog.unshipped(1)[1] == [] and waits(here) == 0
    assert all(here.read(name.id) == b"content %d" % n for n, name in enumerate(names))
    assert requests > 2 * COUNT and took < requests * WAY / 3, f"{requests} requests in {took:.1f} s"


@pytest.mark.claim("SHARE-1")
def test_what_a_process_put_that_another_has_settled_is_taken_away_together(here: Host, far: Exchange) -> None:
    for n in range(COUNT):
        here.file(f"{n}.txt", b"content %d" % n)
    far.deliver()
    assert waits(here) == COUNT == len(far.uploads.put)
    here.settle()
    here.exchange.deliver()
    begun, before = time.monotonic(), asked["garage"]
    far.deliver()
    took, requests = time.monotonic() - begun, asked["garage"] - before
    assert waits(here) == len(far.uploads.put) == 0
    assert requests > COUNT and took < requests * WAY / 3, f"{requests} requests in {took:.1f} s"


def test_once_one_has_failed_none_is_begun_any_more() -> None:
    begun = list[int]()

    def ask(n: int) -> int:
        begun.append(n)
        if n == 3:
            raise TimedOutError("silent")
        time.sleep(0.3)
        return n

    heard = list[int]()
    with pytest.raises(TimedOutError, match="silent"):
        heard.extend(together(ask, range(100), 4))
    assert (heard, sorted(begun)) == ([0, 1, 2], [0, 1, 2, 3])
