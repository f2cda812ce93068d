"""The right to write one prefix of a bucket: who gets it, how it is lost, and what a former owner can still do."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgfs.config import Config
from kgfs.errors import NotOwnerError
from kgfs.settings import Vectors
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.ledger import S3Ledger
from kgfs.stores.garage.s3.owner import NOTE, Owner
from kgfs.stores.vectors.contract import Filter, Row
from kgfs.stores.vectors.opening import open_vectors
from tests.support.peers.buckets import S3, Server

KEY = "sources/a/00112233445566778899aabbccddeeff.txt"


@pytest.fixture(params=[*S3])
def place(request: pytest.FixtureRequest) -> Endpoint:
    server: Server = request.getfixturevalue(request.param)
    return server.place


@pytest.fixture
def garages(place: Endpoint, tmp_path: Path) -> Iterator[tuple[S3Garage, S3Garage]]:
    """The garages of two homes that are configured with one place."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    with (
        closing(S3Garage(place, tmp_path / "cache", 0, home=tmp_path / "old")) as old,
        closing(S3Garage(place, tmp_path / "cache", 0, home=tmp_path / "new")) as new,
    ):
        yield old, new


def owner(garage: S3Garage) -> Owner:
    assert garage.owner is not None
    return garage.owner


@pytest.mark.claim("BUCKET-1")
def test_the_first_home_owns_the_prefix_and_another_is_refused_in_one_sentence(
    garages: tuple[S3Garage, S3Garage], tmp_path: Path
) -> None:
    old, new = garages
    owner(old).claim()
    owner(old).claim()
    owner(old).confirm()
    with pytest.raises(NotOwnerError, match=f"belongs to the home .*{tmp_path}/old, since .*--take-over"):
        owner(new).claim()
    for write in (lambda: new.ledger.append(1, [b'"a"']), lambda: new.objects.delete(KEY)):
        with pytest.raises(NotOwnerError, match="--take-over"):
            write()
    assert (owner(old).is_held(), owner(new).is_held()) == (True, False)


def test_who_claims_at_once_gets_it_once(garages: tuple[S3Garage, S3Garage]) -> None:
    with ThreadPoolExecutor() as threads:
        claims = [threads.submit(owner(garage).claim) for garage in garages]
    assert sorted(type(claim.exception()).__name__ for claim in claims) == ["NoneType", "NotOwnerError"]


def test_of_two_takeovers_at_once_one_wins_and_the_other_is_told_of_it(garages: tuple[S3Garage, S3Garage]) -> None:
    with ThreadPoolExecutor() as threads:
        claims = [threads.submit(owner(garage).take_over) for garage in garages]
    refused = [claim.exception() for claim in claims if claim.exception() is not None]
    generations = {claim.result().generation for claim in claims if claim.exception() is None}
    assert (len(refused), generations) in ((1, {1}), (0, {1, 2}))  # at once, or one after the other


@pytest.mark.claim("BUCKET-1")
def test_a_former_owner_appends_and_deletes_nothing(garages: tuple[S3Garage, S3Garage]) -> None:
    old, new = garages
    owner(old).claim()
    old.objects.put(KEY, b"zen")
    old.ledger.append(1, [b'"one"', b'"two"'])
    assert owner(new).take_over().generation == 2
    assert owner(new).owes_fence()
    assert isinstance(new.ledger, S3Ledger)
    assert new.ledger.fence(b'"new owner"') == 3
    owner(new).fenced()
    assert not owner(new).owes_fence()
    for write in (lambda: old.ledger.append(3, [b'"three"']), lambda: old.objects.delete(KEY)):
        with pytest.raises(NotOwnerError, match="/new, since"):
            write()
    found = owner(old).lost_to()
    assert found is not None
    assert found.generation == 2
    assert new.objects.get(KEY) == b"zen"
    assert [entry for _, entry in new.ledger.replay()] == [b'"one"', b'"two"', b'"new owner"']


@pytest.mark.claim("BUCKET-1")
def test_an_append_that_was_confirmed_before_the_takeover_fails_also_after_merges(
    place: Endpoint, tmp_path: Path
) -> None:
    """The former owner sleeps between its look at the owner and its request, while the new one writes and merges."""
    with closing(Bucket(place)) as bucket:
        S3Ledger(bucket).append(1, [b'"one"'])
        asleep = S3Ledger(bucket)
        assert asleep.last_seq() == 1
        new = S3Ledger(bucket, merge_every=2)
        assert new.fence(b'"new owner"') == 2
        for number in range(3, 12):
            new.append(number, [b'"%d"' % number])
        names = [found.name for found in bucket.listed("ledger/entries/")]
        assert "ledger/entries/0000000000000002" in names
        assert not asleep._put(2, [b'"late"'])
        entries = [entry for _, entry in S3Ledger(bucket).replay()]
        assert entries == [b'"one"', b'"new owner"', *(b'"%d"' % number for number in range(3, 12))]


def test_a_fence_comes_after_what_the_former_owner_appended_meanwhile(place: Endpoint) -> None:
    with closing(Bucket(place)) as bucket:
        S3Ledger(bucket).append(1, [b'"one"'])
        new, late = S3Ledger(bucket), S3Ledger(bucket)
        put = bucket.put

        def after_the_other(name: str, body: bytes, meta: dict[str, str], sha256: str = "") -> bool:
            if name.startswith("ledger/entries/") and b"new owner" in body and late.last_seq() == 1:
                late._put(2, [b'"two"'])
            return put(name, body, meta, sha256)

        bucket.put = after_the_other  # type: ignore[method-assign]
        assert new.fence(b'"new owner"') == 3
        assert [entry for _, entry in S3Ledger(bucket).replay()] == [b'"one"', b'"two"', b'"new owner"']


def test_a_copied_folder_is_another_home_and_a_moved_one_the_same(place: Endpoint, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with closing(Bucket(place)) as bucket:
        Owner(bucket, home).claim()
        shutil.copytree(home, tmp_path / "copy")
        assert (tmp_path / "copy" / NOTE).exists()
        with pytest.raises(NotOwnerError, match="--take-over"):
            Owner(bucket, tmp_path / "copy").claim()
        home.rename(tmp_path / "moved")
        Owner(bucket, tmp_path / "moved").confirm()
        assert Owner(bucket, tmp_path / "copy").take_over().generation == 2
        with pytest.raises(NotOwnerError, match="/copy, since"):
            Owner(bucket, tmp_path / "moved").confirm()


def test_a_claim_whose_answer_was_lost_is_found_to_be_this_homes(place: Endpoint, tmp_path: Path) -> None:
    with closing(Bucket(place)) as bucket:
        put = bucket.put

        def unheard(name: str, body: bytes, meta: dict[str, str], sha256: str = "") -> bool:
            put(name, body, meta, sha256)
            return put(name, body, meta, sha256)  # as the client does when no answer comes

        bucket.put = unheard  # type: ignore[method-assign]
        Owner(bucket, tmp_path).claim()
        Owner(bucket, tmp_path).confirm()


@pytest.mark.claim("BUCKET-1")
def test_a_former_owner_writes_no_batch_to_qdrant(
    garages: tuple[S3Garage, S3Garage], qdrant_wire_url: str, tmp_path: Path
) -> None:
    old, new = garages
    owner(old).claim()
    settings = Vectors(store="qdrant", url=qdrant_wire_url, prefix=f"test-{secrets.token_hex(6)}", timeout=20.0)
    config = Config(home=tmp_path / "old", vectors=settings)
    rows = [Row("source", item, 0, np.array((1, 0), np.float32)) for item in ("a", "b")]
    with closing(open_vectors(config, "small/1", old.confirm_owner)) as vectors:
        vectors.upsert(rows[:1])
        owner(new).take_over()
        writes: list[Callable[[], object]] = [
            lambda: vectors.upsert(rows[1:]),
            lambda: vectors.delete(Filter(kind="source")),
            vectors.clear,
            vectors.conclude,
        ]
        for write in writes:
            with pytest.raises(NotOwnerError, match="/new, since"):
                write()
        assert vectors.count() == 1
