"""What leases promise.

A lease is of one thing (``what``, any words) and has a token: a number that only grows for that thing. It is held while
its token is the highest given and its time has not run out: **by the clock of who gives it**, or, where that is a bucket,
which has none to ask, by how long each one waited by itself. What time it is for a holder is never looked at, so its clock may
be wrong by hours. One that ran out is over for its holder, also where nobody else took it.

What is done under a lease of a graph is kept from those who lost it by a *fence*: the store looks at the lease in the very
transaction that makes the change (:meth:`SharedGraph.fenced`). A bucket has no transactions: under its leases, one that stood
still past its time goes on until it looks again, so what is done there must be provable otherwise (``facts.GraphFact``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kgfs.stores.graph.contract import Graph


@dataclass(frozen=True, slots=True)
class Lease:
    what: str
    token: int
    seconds: float = field(default=0.0, compare=False)
    """For how long it was taken; known where what is done under it is fenced."""


class Leases(Protocol):
    """Any number of threads, processes and machines. Each call ends within a few seconds, whatever the network does:
    AwayError or TimedOutError where who gives leases does not answer; then it may have been done all the same."""

    def take(self, what: str, holder: str, seconds: float, *, urgent: bool = False) -> Lease | None:
        """The lease, for so long, if nobody holds it; where somebody does, and this is ``urgent``, they are told, unless
        they are just writing under it. ``holder`` is for people. Two never hold the same, but for one that stood still in the
        moment when it took or renewed it, where a bucket gives it. GraphLostError where it is of a graph that its server has lost."""
        ...

    def renew(self, lease: Lease, seconds: float) -> bool:
        """For so long from now at least; whether another asked urgently since it was taken. LostLeaseError if it is not held any
        more."""
        ...

    def release(self, lease: Lease) -> None:
        """The next may take it at once. Harmless if it is not held any more."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class SharedGraph(Graph, Protocol):
    """A graph that several machines change."""

    def leases(self, patience: float) -> Leases:
        """Of this graph, over connections of their own; no call waits for much longer than ``patience`` seconds. To be
        closed."""
        ...

    def fenced(self, lease: Lease) -> SharedGraph:
        """The same graph for who holds the lease: whatever writes raises LostLeaseError once it is not held, and has
        done nothing then. What is written renews the lease, also where that takes longer than it lasts; but once who writes
        has stood still in the middle for as long as it lasts, others who wait undo that. Closing it does nothing."""
        ...
