"""Leases as nodes of the Neo4j database that has the graph, by that server's clock."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from neo4j import ManagedTransaction

from kgfs.errors import LostLeaseError, TimedOutError
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.neo4j.speaking import ROOT, Row, Speaking
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import RENEWALS

_LOCKED = "SET l.locked = true REMOVE l.locked"
"""Who writes to a node holds it until the transaction ends, so what is looked at after this stays as it is."""

_TAKE = f"""
MATCH (:Graph {{name: $graph}})
MERGE (l:Lease {{graph: $graph, what: $what}}) ON CREATE SET l.token = 0, l.until = 0
{_LOCKED}
WITH l, coalesce(l.holder = $holder, false) AS again,
     l.until <= timestamp() OR coalesce(l.until > timestamp() + l.lasts + $slack, false) AS free
SET l.wanted = CASE WHEN again OR free THEN false ELSE l.wanted OR $urgent END
WITH l, again, free WHERE again OR free
SET l.token = CASE WHEN again THEN l.token WHEN l.token < timestamp() THEN timestamp() ELSE l.token + 1 END, l.holder = $holder,
    l.lasts = $milliseconds, l.until = timestamp() + $milliseconds
RETURN l.token AS token"""
"""Nothing is made where no graph is: who makes that makes the constraints first, without which two could be given the same, and which
are not to be had then. A token is a moment where it can be: numbers that were counted would be given twice by a server that was put back to an
earlier day, to a holder of before and to one of after. What stands further ahead than it lasts was given by a clock that was ahead, and has
been set back since: to wait for that would be to wait for so much longer."""
_SLACK = 2.0
"""Times the patience: so much further ahead a lease may stand, for what a statement takes for now is when it began, and the one that
it waited for may have renewed the lease since; a server ends a little late what waits for too long."""

_HELD = f"MATCH (l:Lease {{graph: $graph, what: $what}}) {_LOCKED} WITH l WHERE l.token = $token"

_AGAIN = "SET l.until = CASE WHEN l.until > timestamp() + {0} THEN l.until ELSE timestamp() + {0} END"
"""Never sooner than it was: what a statement takes for now is when it began, before it waited for the lock."""
_RENEW = (
    f"{_HELD} AND l.until > timestamp() SET l.lasts = $milliseconds, l.until = CASE"
    " WHEN timestamp() + $milliseconds < l.until <= timestamp() + $milliseconds + $slack THEN l.until"
    " ELSE timestamp() + $milliseconds END RETURN l.wanted AS wanted"
)
"""Sooner where it stands too far ahead, lest another takes it from who goes on."""
_RELEASE = f"{_HELD} SET l.until = 0, l.holder = '' RETURN l.token AS token"
_LASTS = "coalesce(l.lasts, 0)"
"""An older kgfs does not write it."""
_CHECK = f"{_HELD} AND l.until > timestamp() {_AGAIN.format(_LASTS)} RETURN {_LASTS} / 1000.0 AS lasts"
_LAST = f"MATCH (l:Lease {{graph: $graph, what: $what}}) {_AGAIN.format(_LASTS)}"


class Neo4jLeases:
    """Each call is one request: whatever it says may be done twice, so it needs no transaction of its own."""

    def __init__(self, place: Place, patience: float) -> None:
        self._graph = place.namespace
        self._patience = min(place.timeout, patience)
        self._speaking = Speaking(replace(place, timeout=self._patience))

    def take(self, what: str, holder: str, seconds: float, *, urgent: bool = False) -> Lease | None:
        # Unlike any other, so that one whose acknowledgement was lost is known again.
        words: dict[str, Any] = {
            "holder": f"{holder} {secrets.token_hex(6)}",
            "milliseconds": int(seconds * 1000),
            "urgent": urgent,
        }
        try:
            found = self._do(_TAKE, what=what, **words)
        except TimedOutError as error:
            if not _met_a_lock(error):
                raise
            return None  # who holds it is just writing under it
        if found is None and self._speaking.one(ROOT, graph=self._graph) is None:
            raise self._speaking.gone(self._graph)
        return Lease(what, found["token"], seconds) if found else None

    def renew(self, lease: Lease, seconds: float) -> bool:
        found = self._do(_RENEW, what=lease.what, token=lease.token, milliseconds=int(seconds * 1000))
        if found is None:
            raise lost(lease)
        return bool(found["wanted"])

    def release(self, lease: Lease) -> None:
        self._do(_RELEASE, what=lease.what, token=lease.token)

    def close(self) -> None:
        self._speaking.close()

    def _do(self, statement: str, **words: Any) -> Row | None:
        slack = int(_SLACK * self._patience * 1000)
        return self._speaking.write_one(statement, self._patience, graph=self._graph, slack=slack, **words)


_LOCKS = (
    "Neo.ClientError.Transaction.LockClientStopped",
    "Neo.TransientError.Transaction.LockAcquisitionTimeout",
)
"""What a transaction hears that waited for another's lock until its time was up."""


def _met_a_lock(error: TimedOutError) -> bool:
    return str(getattr(error.__cause__, "code", "")).startswith(_LOCKS)


@contextmanager
def held(tx: ManagedTransaction, graph: str, lease: Lease) -> Iterator[None]:
    """What the transaction does: LostLeaseError unless the lease is held. Then it stays so until the transaction ends, however
    long it takes, and lasts on from there if that commits: who renews it from beside waits for the transaction meanwhile. Where
    the holder stands still, others end the transaction (``still``)."""
    begun = time.monotonic()
    found = tx.run(_CHECK, graph=graph, what=lease.what, token=lease.token).single()
    if found is None:
        raise lost(lease)
    yield
    if time.monotonic() - begun > found["lasts"] / RENEWALS:
        tx.run(_LAST, graph=graph, what=lease.what).consume()


def lost(lease: Lease) -> LostLeaseError:
    return LostLeaseError(f"The lease of '{lease.what}' ran out: another machine may have it now.")
