"""Coordinate which worker reads a document and which worker changes the graph.

The graph of a home that shares its ledger with no other home belongs to the home's worker (``stores.worker_lock``).
Among homes that share a ledger, each document is read by one worker, under a lease of its own. One worker at a time
publishes, so that documents are matched in order of deposit whichever worker read them (``sharing.turns``).
"""

from __future__ import annotations

from typing import Protocol

from kgfs.ingest.working.pipeline import Pipeline
from kgfs.stores.leases.contract import Lease


class Turns(Protocol):
    """Leases to read and to publish, for the one worker of a home. Any thread may call ``holds``."""

    @property
    def shared(self) -> bool:
        """Return whether other machines work on the graph too."""
        ...

    def prepare(self) -> bool:
        """Carry out recorded orders to forget, before anything is claimed.

        Return False, without waiting, while another worker has the publishing turn: then call this again when there is
        nothing else to do.
        """
        ...

    def publisher(self) -> Pipeline | None:
        """Return the pipeline to publish with; None while another machine publishes.

        The pipeline sees all earlier publications.
        """
        ...

    def pass_on(self) -> None:
        """Give the publishing turn back, so that another worker may publish. No effect without the turn."""
        ...

    def release_slot(self, seconds: float) -> None:
        """Give the publishing turn back and do not ask for it for ``seconds``.

        For failures that other machines may not have: a full disk, or a server that only this machine does not reach.
        Raises the errors of :meth:`pass_on`; the turn is given back all the same. Where the lease store is not
        reached, the turn stays here until its lease expires.
        """
        ...

    def keep_up(self, *, now: bool = False) -> None:
        """Apply publications of other homes to the stores that only this home has, some seconds late or ``now``.

        Call this often while another worker has the publishing turn, since this worker may never get it. Quick where
        nothing was published. While a server is away, the work is postponed.
        """
        ...

    def begin(self, doc_id: str) -> Lease | None:
        """Take the lease to read this document; None while another machine reads it."""
        ...

    def holds(self, lease: Lease) -> bool:
        """Return whether this worker still holds the lease, as far as is known here."""
        ...

    def end(self, lease: Lease) -> None:
        """Release the lease of a document that was read or given up."""
        ...


class Alone:
    """Turns of a home that shares its ledger with no other home: every lease is granted."""

    shared = False

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def prepare(self) -> bool:
        self._pipeline.recover()
        self._pipeline.finish_forgetting()
        return True

    def publisher(self) -> Pipeline:
        return self._pipeline

    def pass_on(self) -> None:
        return

    def release_slot(self, seconds: float) -> None:
        return

    def keep_up(self, *, now: bool = False) -> None:
        return

    def begin(self, doc_id: str) -> Lease:
        return Lease(doc_id, 0)

    def holds(self, lease: Lease) -> bool:
        return True

    def end(self, lease: Lease) -> None:
        return
