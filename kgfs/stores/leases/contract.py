"""What leases promise.

A lease is of one thing (``what``, any words) and has a token: a number that only grows for that thing. It is held while
its token is the highest given and its time has not run out, by how long each one waited by itself: a bucket has no clock to ask.
What time it is for a holder is never looked at, so its clock may be wrong by hours. One that ran out is over for its holder, also where nobody else took it.

A bucket has no transactions: under its leases, one that stood still past its time goes on until it looks again, so what is done
under them must be provable otherwise (``facts.GraphFact``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    what: str
    token: int


class Leases(Protocol):
    """Any number of threads, processes and machines. Each call ends within a few seconds, whatever the network does:
    AwayError or TimedOutError where who gives leases does not answer; then it may have been done all the same."""

    def take(self, what: str, holder: str, seconds: float, *, urgent: bool = False) -> Lease | None:
        """The lease, for so long, if nobody holds it; where somebody does, and this is ``urgent``, they are told, unless
        they are just writing under it. ``holder`` is for people. Two never hold the same, but for one that stood still in the
        moment when it took or renewed it, where a bucket gives it."""
        ...

    def renew(self, lease: Lease, seconds: float) -> bool:
        """For so long from now at least; whether another asked urgently since it was taken. LostLeaseError if it is not held any
        more."""
        ...

    def release(self, lease: Lease) -> None:
        """The next may take it at once. Harmless if it is not held any more."""
        ...

    def close(self) -> None: ...
