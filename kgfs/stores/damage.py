"""The kinds of damage of a home, which ``knowledge.check`` finds and ``ingest.repair.repair`` repairs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A kind of damage; the value is its name for people."""

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
    NOT_IN_CATALOG = "document not in the catalog"
    DANGLING = "dangling row"
    WRONG_SPAN = "wrong span"
    STALE_WORDS = "stale word index"
    MISSING_VECTORS = "missing vectors"
    STALE_VECTORS = "stale vectors"
    PROJECTION_BEHIND = "Neo4j behind"
    PROJECTION_DIFFERS = "Neo4j differs"
    DAMAGED_DATABASE = "damaged database"
    STUCK_JOB = "stuck job"
    LEFT_SPOOL = "left spool file"
    LOST_SPOOL = "lost working copy"
    LEFT_INBOX = "left inbox row"
    LEFT_UPLOAD = "left upload"
    LEFT_CACHE = "left cache file"


REMEDIES: dict[Kind, str] = {
    Kind.MISSING_ORIGINAL: "--repair has the worker read the document again that it is a part of; else deposit the same file again, or take it from a backup",
    Kind.ROTTEN_ORIGINAL: "--repair quarantines it, and has the worker read the document again that it is a part of; else deposit the same file again, or take it from a backup",
    Kind.MISSING_PART: "--repair has the worker read the document again",
    Kind.ROTTEN_PART: "--repair quarantines it, and has the worker read the document again",
    Kind.LOST_SUMS: "--repair makes them again where a hash proves the bytes",
    Kind.ORPHAN: "--repair quarantines it",
    Kind.TORN_LEDGER: "--repair cuts it off: it was never acknowledged, or stands in front.sqlite still",
    Kind.ROTTEN_LEDGER: "--repair makes it again from front.sqlite where that has the entries; else take it from a backup",
    Kind.OLD_FRONT: "--repair quarantines them, and makes them anew from the ledger",
    Kind.UNSHIPPED: "--repair ships them",
    Kind.NOT_IN_GRAPH: "--repair derives the graph anew",
    Kind.NOT_IN_CATALOG: "--repair derives the graph anew",
    Kind.DANGLING: "--repair derives the graph anew",
    Kind.WRONG_SPAN: "--repair derives the graph anew",
    Kind.STALE_WORDS: "--repair derives the graph anew",
    Kind.MISSING_VECTORS: "--repair derives the vectors anew",
    Kind.STALE_VECTORS: "--repair derives the vectors anew",
    Kind.PROJECTION_BEHIND: "a worker (kgfs mount, kgfs worker) brings it up to the graph when the server answers",
    Kind.PROJECTION_DIFFERS: "kgfs rebuild --neo4j writes it anew",
    Kind.DAMAGED_DATABASE: "--repair derives graph and vectors anew; it quarantines front.sqlite, and makes it anew from the ledger",
    Kind.STUCK_JOB: "--repair gives it back, or drops it where there is no such document",
    Kind.LEFT_SPOOL: "--repair quarantines it",
    Kind.LOST_SPOOL: "nothing mends it: write the file again, or take it from a backup",
    Kind.LEFT_INBOX: "takes room and nothing else; --repair drops it",
    Kind.LEFT_UPLOAD: "takes room and nothing else; --repair aborts it once it is a day old: until then somebody may be at it",
    Kind.LEFT_CACHE: "takes room and nothing else; --repair removes it",
}
"""The remedy for each kind, for people: what a repair does, or what else helps."""

HARMLESS = frozenset({Kind.LEFT_INBOX, Kind.LEFT_UPLOAD, Kind.LEFT_CACHE})
"""Kinds of leftovers of killed processes that nothing refers to and that are no sign of a loss. Orphan objects and
spool files are not among them, because they may still belong to something."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged thing."""

    kind: Kind
    what: str
    """The key, path or id of the damaged thing."""
    detail: str = ""
    doc_id: str = ""
    """The document concerned, if there is one."""

    @property
    def remedy(self) -> str:
        """Return the remedy, for people."""
        return REMEDIES[self.kind]

    @property
    def harmless(self) -> bool:
        """Return whether the damage is a leftover that is no sign of a loss."""
        return self.kind in HARMLESS
