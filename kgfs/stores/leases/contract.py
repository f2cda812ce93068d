"""The interface of leases.

A lease is for one resource (``what``, any text). It has a token, a number that only grows for that resource. A lease
is held while its token is the highest given and its time has not run out. Each process measures that time by its own
monotonic clock, for a bucket has no clock to ask. The time of day on a holder's machine is never used, so its clock
may be wrong by hours. A lease that ran out is lost for its holder, even if no other holder took it.

A bucket has no transactions. A holder that was suspended past the end of its lease continues to work until it checks
the lease again. So work under a lease must be verifiable by other means (``facts.GraphFact``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease of the resource ``what`` with its token."""

    what: str
    token: int


class Leases(Protocol):
    """A service that gives leases. Any number of threads, processes and machines may use it.

    Each call ends within a few seconds, whatever the network does. A call raises UnavailableError or TimedOutError if the
    service does not answer; the operation may then have been done all the same.
    """

    def take(self, what: str, holder: str, seconds: float, *, urgent: bool = False) -> Lease | None:
        """Return a lease of ``what`` for ``seconds`` if no other holder has it, else None.

        If another holder has the lease and the call is ``urgent``, the holder learns of that with its next renewal.
        ``holder`` is a description for people. Two holders never have the same lease at the same time, with one
        exception: a process that was suspended while it took or renewed a lease may believe that it still has it.
        """
        ...

    def renew(self, lease: Lease, seconds: float) -> bool:
        """Extend a lease to at least ``seconds`` from now, and return whether another process asked for it urgently
        since it was taken.

        Raise LostLeaseError if the lease is not held any more.
        """
        ...

    def release(self, lease: Lease) -> None:
        """Give a lease back, so that another process may take it at once. Harmless if the lease is not held
        any more."""
        ...

    def close(self) -> None:
        """Release what the service holds open. Leases are not given back."""
        ...
