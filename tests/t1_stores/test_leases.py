"""Leases, of every implementation: one holder at a time, tokens that only grow, no clock but the giver's."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kgfs.errors import LostLeaseError, UnavailableError
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.objects import S3Objects
from kgfs.stores.leases.bucket import LEASES, BucketLeases
from kgfs.stores.leases.contract import Lease, Leases
from kgfs.stores.leases.holding import Holding
from tests.fakes.garage import MemoryObjects
from tests.support.running import until

LONG, SHORT, TERM = 600.0, 0.3, 6.0
"""Seconds: a holder has its say within TERM also where much else is done."""
NO_BUCKET = pytest.mark.parametrize("leases", ["objects in memory"], indirect=True)
"""What is renewed in time is in memory what it is in a bucket, where each sign of life takes several requests."""


@pytest.fixture(params=["objects in memory", "objects on seaweedfs"])
def leases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Leases]:
    if request.param == "objects in memory":
        yield BucketLeases(MemoryObjects())
        return
    place = replace(request.getfixturevalue("seaweedfs").place, prefix=f"leases-{secrets.token_hex(6)}")
    yield BucketLeases(S3Objects(Bucket(place), Cache(tmp_path / "cache", 8 << 20)))


def taken(leases: Leases, what: str = "a", seconds: float = LONG) -> Lease:
    lease = leases.take(what, "somebody", seconds)
    assert lease is not None
    return lease


def test_one_holds_it_at_a_time(leases: Leases) -> None:
    first = taken(leases)
    assert leases.take("a", "another", LONG) is None
    assert leases.take("a", "somebody", LONG) is None
    assert taken(leases, "b").what == "b"
    leases.release(first)
    assert taken(leases).token > first.token


def test_one_that_ran_out_is_the_next_ones(leases: Leases) -> None:
    first = taken(leases, seconds=SHORT)
    until(lambda: (found := leases.take("a", "another", LONG)) and found.token > first.token)
    with pytest.raises(LostLeaseError):
        leases.renew(first, LONG)
    leases.release(first)
    assert leases.take("a", "third", LONG) is None, "who lost it cannot give it away"


def test_one_that_ran_out_is_over_also_where_nobody_took_it(leases: Leases) -> None:
    lease = taken(leases, seconds=SHORT)
    time.sleep(2 * SHORT)
    with pytest.raises(LostLeaseError):
        leases.renew(lease, LONG)


@NO_BUCKET
def test_renewed_it_lasts(leases: Leases) -> None:
    lease = taken(leases, seconds=TERM)
    leases.renew(lease, LONG)
    time.sleep(1.1 * TERM)
    assert leases.take("a", "another", LONG) is None
    leases.renew(lease, LONG)
    leases.release(lease)
    with pytest.raises(LostLeaseError):
        leases.renew(lease, LONG)


def test_who_holds_it_learns_that_another_wants_it_urgently(leases: Leases) -> None:
    first = taken(leases)
    assert not leases.renew(first, LONG)
    assert leases.take("a", "another", LONG) is None
    assert not leases.renew(first, LONG)
    assert leases.take("a", "another", LONG, urgent=True) is None
    assert leases.take("a", "third", LONG) is None
    assert leases.renew(first, LONG)
    leases.release(first)
    assert not leases.renew(taken(leases), LONG)


class Refusing(BucketLeases):
    """Refuses to hear of a release while ``away``."""

    away = False

    def release(self, lease: Lease) -> None:
        if self.away:
            raise UnavailableError("The bucket does not answer.")
        super().release(lease)


def test_what_could_not_be_released_is_released_later(caplog: pytest.LogCaptureFixture) -> None:
    """Before it is taken again, and in the end at the latest. Else nobody has it until it runs out."""
    leases = Refusing(MemoryObjects())
    with closing(Holding(leases, LONG)) as holding:
        first, other = holding.take("a"), holding.take("b")
        assert first is not None and other is not None
        with caplog.at_level("INFO", "kgfs.leases"):
            leases.away = True
            for lease in (first, other):
                holding.release(lease)
            leases.away = False
        assert caplog.text.count("not released") == 2
        assert leases.take("a", "another", LONG) is leases.take("b", "another", LONG) is None
        again = holding.take("a")
        assert again is not None and again.token > first.token and holding.holds(again)
    assert taken(leases, "b").token > other.token


@NO_BUCKET
def test_held_it_is_renewed_until_it_is_lost(leases: Leases) -> None:
    with closing(Holding(leases, TERM)) as holding:
        lease = holding.take("a")
        assert lease is not None
        time.sleep(1.2 * TERM)
        assert holding.holds(lease)
        assert leases.take("a", "another", LONG, urgent=True) is None
        until(lambda: holding.wanted(lease))
        leases.release(lease)
        until(lambda: not holding.holds(lease))
        left = holding.take("b")
        assert left is not None


def test_an_error_of_any_kind_ends_no_renewing() -> None:
    class Lazy(BucketLeases):
        renewals = 0

        def renew(self, lease: Lease, seconds: float) -> bool:
            self.renewals += 1
            if self.renewals == 1:
                raise RuntimeError("can't start new thread")
            return super().renew(lease, LONG)

    leases = Lazy(MemoryObjects())
    with closing(Holding(leases, SHORT)) as holding:
        with holding._lock:
            holding._held[lease := taken(leases)] = False
        until(lambda: leases.renewals > 2)
        assert holding.holds(lease)


def test_what_else_stands_in_the_folder_of_a_lease_is_passed_over() -> None:
    """As a program that shows buckets makes one when a folder is looked at."""
    objects = MemoryObjects()
    leases = BucketLeases(objects)
    lease = taken(leases)
    ((key, _),) = objects.keys(LEASES)
    objects.put(f"{key.rpartition('/')[0]}/.DS_Store", b"")
    leases.renew(lease, LONG)
    assert leases.take("a", "another", LONG) is None
    leases.release(lease)
    assert taken(leases).token > lease.token


def test_of_many_at_once_one_gets_it(leases: Leases) -> None:
    tokens: list[int] = []
    for _ in range(5):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: leases.take("a", f"holder {n}", LONG), range(8)))
        [lease] = [lease for lease in found if lease is not None]
        tokens.append(lease.token)
        leases.release(lease)
    assert tokens == sorted(set(tokens))


@pytest.mark.claim("MACH-4")
@pytest.mark.parametrize("leases", ["objects in memory"], indirect=True)
def test_a_holders_clock_is_not_looked_at(leases: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour later here is no later there, nor is an hour before."""
    lease = taken(leases)
    now = time.time()
    for at in (now + 3600, now - 3600):
        monkeypatch.setattr(time, "time", partial(float, at))
        monkeypatch.setattr(time, "time_ns", partial(int, at * 1e9))
        assert abs(time.time() - now) > 3599
        assert leases.take("a", "another", LONG) is None
        leases.renew(lease, LONG)


AHEAD = 3_600_000
_AS_IF_AHEAD = (
    "MATCH (l:Lease {graph: $graph, what: 'a'}) SET l.until = l.until + $ahead RETURN l.until - timestamp() AS lasts"
)


def test_in_a_bucket_one_that_was_late_takes_nothing_and_nothing_is_left() -> None:
    """It looked before others had the lease and let it go; what it then puts was another's once."""
    objects = MemoryObjects()
    leases, others = BucketLeases(objects), BucketLeases(objects)
    others.release(taken(others))
    looked = leases._sign("a")
    others.release(taken(others))
    held = taken(others)
    with pytest.MonkeyPatch.context() as late:
        signs = iter([looked])
        late.setattr(leases, "_sign", lambda what: next(signs, None) or others._sign(what))
        assert leases.take("a", "late", LONG) is None
    assert not others.renew(held, LONG)
    assert len(list(objects.keys(LEASES))) == 2, "who holds it, and that it was renewed"


def test_in_a_bucket_who_comes_later_waits_a_whole_term_whatever_the_clocks_say() -> None:
    """Nobody knows when the last sign of life was given; only for how long none was seen."""
    now = [1000.0]
    objects = MemoryObjects()
    holder, other = BucketLeases(objects, lambda: now[0] - 5000), BucketLeases(objects, lambda: now[0])
    lease = taken(holder, seconds=10)
    for _ in range(3):
        now[0] += 9
        assert other.take("a", "another", LONG) is None
        holder.renew(lease, 10)
    assert other.take("a", "another", LONG) is None
    now[0] += 9.9
    assert other.take("a", "another", LONG) is None
    now[0] += 0.2
    assert taken(other).token == lease.token + 1
    with pytest.raises(LostLeaseError):
        holder.renew(lease, 10)
