"""The jobs that a worker has claimed: which is finished next, and whether there is room for another."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass

from kgfs.domain.documents import Document
from kgfs.stores.catalog.rows import Job
from kgfs.stores.readings import Reading

FAR_AHEAD = 16
"""Limit of claimed documents, including those that are read already."""
LARGE = 1 << 18
"""Bytes of a document from which on documents that were claimed after it are published before it, if they are read first."""
HUGE = 2**63 - 1
TEXTS = 2
"""Number of documents whose texts are worked on at the same time."""


@dataclass(slots=True)
class Claim:
    job: Job
    document: Document
    renewed: float
    """When this worker last renewed the lease of the job (monotonic seconds)."""
    turn: int = 0
    """The number of the claim: claims are published in this order."""
    text: bool = False
    """Whether only the document's text is to be published."""
    reading: Future[Reading] | None = None
    """The reading; None for a ``forget`` job, and before the reading begins."""
    failures: int = 0
    resting_until: float = 0.0
    """When to retry after a failure (monotonic seconds). The claim keeps its place: later documents are published
    after it."""

    @property
    def is_rested(self) -> bool:
        return time.monotonic() >= self.resting_until

    @property
    def is_ready(self) -> bool:
        """Return whether the claim can be finished now."""
        return self.is_rested and (self.job.kind == "forget" or (self.reading is not None and self.reading.done()))

    @property
    def is_in_work(self) -> bool:
        return not self.text and (self.reading is not None or self.job.kind == "forget")

    @property
    def order(self) -> tuple[bool, bool, int]:
        """Return the place among claims: forgetting first, what is read again on request last."""
        return self.job.kind != "forget", self.job.run != "", self.turn


class Claims(list[Claim]):
    """The claims of a worker, in the order in which they are published."""

    @property
    def texts(self) -> int:
        """Return the number of texts that are to be shown now."""
        return sum(claim.text and claim.is_rested for claim in self)

    @property
    def has_room_for_text(self) -> bool:
        return self.texts < TEXTS and sum(claim.text for claim in self) < FAR_AHEAD

    @property
    def in_work(self) -> int:
        """Return the number of documents that are being read or forgotten."""
        return sum(claim.is_in_work for claim in self)

    def room(self, held: int, *, has_express: bool) -> int:
        """Return the size up to which another document may be claimed to be read; 0 for none.

        ``held`` documents may be worked on. With ``has_express`` there is always room for small ones.
        """
        if len(self) >= max(held, FAR_AHEAD):
            return 0
        if self.in_work < held:
            return HUGE
        return LARGE - 1 if has_express else 0

    def next_ready(self) -> Claim | None:
        """Return the claim to be finished now: a text that is ready, else the first that is ready and waits for no other."""
        for claim in self:
            if claim.text and claim.is_ready:
                return claim
        for claim in self:
            if claim.text:
                continue
            if claim.is_ready:
                return claim
            if claim.document.size < LARGE:
                return None
        return None
