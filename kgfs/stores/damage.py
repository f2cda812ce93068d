"""Damage of a home: what ``knowledge.check`` finds and ``ingest.mending.repair`` mends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    MISSING_ORIGINAL = "missing original"
    ROTTEN_ORIGINAL = "rotten original"
    MISSING_PART = "missing part of a reading"
    ROTTEN_PART = "rotten part of a reading"
    LOST_SUMS = "lost sums"
    ORPHAN = "orphan object"
    TORN_LEDGER = "torn ledger"
    ROTTEN_LEDGER = "rotten ledger"
    OLD_FRONT = "names older than the ledger"
    UNSHIPPED = "facts not in the ledger"
    NOT_IN_GRAPH = "document not in the graph"
    NOT_IN_JOURNAL = "document not in the journal"
    DANGLING = "dangling row"
    WRONG_SPAN = "wrong span"
    STALE_WORDS = "stale word index"
    MISSING_VECTORS = "missing vectors"
    STALE_VECTORS = "stale vectors"
    DAMAGED_DATABASE = "damaged database"
    STUCK_JOB = "stuck job"
    LEFT_SPOOL = "left spool file"
    LOST_SPOOL = "lost working copy"
    LEFT_INBOX = "left inbox row"
    LEFT_UPLOAD = "left upload"
    LEFT_CACHE = "left cache file"
    LEFT_WAITING = "left waiting content"


REMEDIES: dict[Kind, str] = {
    Kind.MISSING_ORIGINAL: "made again where the same bytes or their text are kept elsewhere; else from a backup",
    Kind.ROTTEN_ORIGINAL: "quarantined, and made again where the same bytes or their text are kept elsewhere",
    Kind.MISSING_PART: "the document is read again by the worker",
    Kind.ROTTEN_PART: "quarantined, and the document is read again by the worker",
    Kind.LOST_SUMS: "made again where a hash proves the bytes",
    Kind.ORPHAN: "quarantined",
    Kind.TORN_LEDGER: "cut off: it was never acknowledged, or stands in front.sqlite still",
    Kind.ROTTEN_LEDGER: "made again from front.sqlite where that has the entries; else from a backup",
    Kind.OLD_FRONT: "quarantined, and made anew from the ledger",
    Kind.UNSHIPPED: "shipped",
    Kind.NOT_IN_GRAPH: "the graph is derived anew",
    Kind.NOT_IN_JOURNAL: "the graph is derived anew",
    Kind.DANGLING: "the graph is derived anew",
    Kind.WRONG_SPAN: "the graph is derived anew",
    Kind.STALE_WORDS: "the graph is derived anew",
    Kind.MISSING_VECTORS: "the vectors are derived anew",
    Kind.STALE_VECTORS: "the vectors are derived anew",
    Kind.DAMAGED_DATABASE: "graph and vectors are derived anew; front.sqlite is quarantined and made anew from the ledger",
    Kind.STUCK_JOB: "given back, or dropped where there is no such document",
    Kind.LEFT_SPOOL: "quarantined",
    Kind.LOST_SPOOL: "none: write the file again, or take it from a backup",
    Kind.LEFT_INBOX: "dropped",
    Kind.LEFT_UPLOAD: "aborted once it is a day old: until then somebody may be at it",
    Kind.LEFT_CACHE: "removed",
    Kind.LEFT_WAITING: "removed",
}
"""What repairing does."""


@dataclass(frozen=True, slots=True)
class Damage:
    kind: Kind
    what: str
    """A key, a path, an id: exactly the thing concerned."""
    detail: str = ""
    doc_id: str = ""
    """The document concerned, if it is one."""

    @property
    def remedy(self) -> str:
        return REMEDIES[self.kind]
