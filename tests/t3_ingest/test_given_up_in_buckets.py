"""Giving up originals of real buckets: small ones go through this machine, larger ones are copied by the server."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.names import object_name
from kgfs.stores.garage.s3.objects import SENT
from kgfs.stores.hosts import host_id
from kgfs.stores.pending_uploads import LEAVING
from kgfs.stores.two_phase_delete import TwoPhaseDelete
from tests.support.giving_up import called, give_up, give_up_while, kept, met, unheld_by
from tests.support.hosts import Host, host
from tests.support.peers.buckets import S3, Server

CONTENTS = [b"small", random.Random(5).randbytes(SENT), random.Random(6).randbytes(SENT + 1)]
"""The last one is copied by the server."""

pytestmark = pytest.mark.parametrize("content", CONTENTS, ids=["small", "a block", "copied"])


@pytest.fixture(params=[*S3], name="hosts")
def two_homes_on_one_bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    """Each with a cache of its own."""
    server: Server = request.getfixturevalue(request.param)
    place = server.place
    with ExitStack() as stack:
        made = []
        for name in ("here", "there"):
            garage = stack.enter_context(closing(S3Garage(place, tmp_path / name / "cache", 64 << 20)))
            one = host(tmp_path / name, garage)
            stack.callback(one.catalog.close)
            stack.callback(one.session.close)
            if not made:
                one.ontology()
            one.exchange()
            made.append(one)
        yield made[0], made[1]


@pytest.mark.claim("SHARE-5")
@pytest.mark.parametrize("at", ["", "original-aside", "original-gone", "original-back"])
def test_an_original_goes_unless_another_home_deposits_it_meanwhile(
    hosts: tuple[Host, Host], monkeypatch: pytest.MonkeyPatch, content: bytes, at: str
) -> None:
    here, there = hosts
    key = unheld_by(there, here, content)
    if at:
        here.file("again.txt", content)
    give_up_while(there, monkeypatch, at, here)
    met(here, there)
    give_up(there)
    assert kept(here) == kept(there) == ([key] if at else [])
    assert there.catalog.unheld() == []
    for one in hosts if at else ():
        assert one.read_at("again.txt") == content
        assert one.stores.garage.objects.get(key) == content


@pytest.mark.claim("SHARE-5")
@pytest.mark.logs("CorruptError")
def test_what_is_rotten_stays_to_be_looked_at(hosts: tuple[Host, Host], content: bytes) -> None:
    """But for what the server copies, whose bytes nobody has seen: its copy would be as rotten."""
    here, there = hosts
    key = unheld_by(there, here, content)
    for one in hosts:
        one.stores.garage.objects.stored.forget(key)
    bucket = there.stores.garage._bucket  # type: ignore[attr-defined]
    found = bucket.head(object_name(key))
    bucket.replace(object_name(key), b"X" + content[1:], found.meta)
    give_up(there)
    if len(content) > SENT:
        assert kept(there) == [] == there.catalog.unheld()
        return
    assert kept(there) == [key] == there.catalog.unheld()
    assert key.encode() in there.config.errors_log.read_bytes()


@pytest.mark.claim("SHARE-5")
def test_what_one_home_has_set_aside_is_had_by_another_that_purges_it(hosts: tuple[Host, Host], content: bytes) -> None:
    here, there = hosts
    called(here, "f00000000000")
    called(there, "000000000000")
    key = unheld_by(there, here, content)
    objects = there.stores.garage.objects
    objects.put(f"{LEAVING}{host_id(there.config)}/{key}", content)
    objects.delete(key)
    TwoPhaseDelete(here.stores, here.config).take_out([], [key])
    assert kept(there) == [f"{LEAVING}{host_id(here.config)}/{key}"]
    assert TwoPhaseDelete(there.stores, there.config).bring_back(key)
    assert here.stores.garage.objects.get(key) == content
