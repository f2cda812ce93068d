"""Renewing leases in a bucket, by a clock that a test sets: what is late, and what nobody heard the end of."""

from __future__ import annotations

from contextlib import closing

import pytest

from kgfs.errors import LostLeaseError, TimedOutError
from kgfs.stores.leases.bucket import LEASES, BucketLeases
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import Holding
from tests.fakes.garage import MemoryGarage


def taken(leases: BucketLeases) -> Lease:
    lease = leases.take("a", "somebody", 10)
    assert lease is not None
    return lease


def test_a_renewal_whose_end_was_not_heard_is_followed_by_another_that_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else who waits would count from the first, and the holder from the second."""
    now = [1000.0]
    objects = MemoryGarage().objects
    holder, other = BucketLeases(objects, lambda: now[0]), BucketLeases(objects, lambda: now[0])
    lease, mark = taken(holder), holder._mark

    def unheard(what: str, token: int, reported: str) -> None:
        mark(what, token, reported)
        raise TimedOutError("no answer in time")

    with monkeypatch.context() as silent, pytest.raises(TimedOutError):
        silent.setattr(holder, "_mark", unheard)
        holder.renew(lease, 10)
    assert other.take("a", "another", 10) is None
    now[0] += 9
    holder.renew(lease, 10)
    for _ in range(2):
        assert other.take("a", "another", 10) is None
        now[0] += 4.9
    assert len(list(objects.keys(LEASES))) == 2, "who holds it, and that it was renewed"
    holder.renew(lease, 10)


def test_a_renewal_that_took_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    holder = BucketLeases(MemoryGarage().objects, lambda: now[0])
    lease, mark = taken(holder), holder._mark

    def slowly(what: str, token: int, reported: str) -> None:
        now[0] += 10
        mark(what, token, reported)

    monkeypatch.setattr(holder, "_mark", slowly)
    with pytest.raises(LostLeaseError):
        holder.renew(lease, 10)


def test_what_could_not_be_released_is_released_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all others wait until it runs out."""
    objects = MemoryGarage().objects
    leases, other = BucketLeases(objects), BucketLeases(objects)

    def silent(what: str, token: int, reported: str) -> None:
        raise TimedOutError("no answer in time")

    with closing(Holding(leases, 600)) as holding:
        first, second = holding.take("a"), holding.take("b")
        assert first is not None and second is not None
        with monkeypatch.context() as away:
            away.setattr(leases, "_mark", silent)
            for lease in (first, second):
                holding.release(lease)
        assert other.take("a", "another", 600) is other.take("b", "another", 600) is None
        again = holding.take("a")
        assert again is not None and again.token > first.token
    assert other.take("b", "another", 600) is not None
