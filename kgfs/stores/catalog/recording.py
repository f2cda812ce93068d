"""Facts on their way into a catalog: they are checked, folded into the tables, and kept as entries."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from kgfs.errors import StoreError
from kgfs.stores.catalog import fold
from kgfs.stores.catalog.checks import Before, check
from kgfs.stores.catalog.encoding import decode, encode
from kgfs.stores.catalog.facts import (
    DocumentForgotten,
    Fact,
    ForgettingDone,
    ForgettingOwed,
    OntologyRemoved,
    QuestionRemoved,
    Removed,
    SearchRemoved,
    Settled,
    TrashEmptied,
    VersionMinted,
)
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.schema import newest_entry
from kgfs.stores.catalog.writer import Work

REMOVING = (
    Removed,
    OntologyRemoved,
    SearchRemoved,
    QuestionRemoved,
    TrashEmptied,
    ForgettingOwed,
    ForgettingDone,
    DocumentForgotten,
    Settled,
    VersionMinted,
)
"""Facts that may use the disk reserve. They remove something, or move bytes from the inbox to the garage."""


class Recording:
    """Make the works with which a catalog's writer records facts. They run in the writer's thread."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._before = Before(Names(lambda: db), lambda sha256: _has_inbox(db, sha256))

    @staticmethod
    def removes(facts: Sequence[Fact]) -> bool:
        """Return whether the facts may use the disk reserve."""
        return all(isinstance(fact, REMOVING) for fact in facts)

    def of(self, facts: Sequence[Fact], inbox: Mapping[str, bytes], session: str) -> Work[int]:
        """Return the work of a writer that records these facts, and the bytes of small files that they promise, in one
        transaction. It returns the number of the last fact, and raises the errors of :func:`.checks.check`."""
        entries = [encode(fact) for fact in facts]

        def work(db: sqlite3.Connection) -> int:
            for small in inbox.items():
                db.execute("INSERT OR IGNORE INTO inbox VALUES (?, ?)", small)
            seq = newest_entry(db)
            for fact, entry in zip(facts, entries, strict=True):
                check(fact, self._before)
                seq += 1
                fold.apply(fact, fold.Target(db, seq, session))
                db.execute("INSERT INTO entry (seq, body) VALUES (?, ?)", (seq, entry))
            return seq

        return work


def _has_inbox(db: sqlite3.Connection, sha256: str) -> bool:
    return db.execute("SELECT 1 FROM inbox WHERE sha256 = ?", (sha256,)).fetchone() is not None


def replay_one(db: sqlite3.Connection, seq: int, entry: bytes) -> None:
    """Fold an entry of the ledger into the tables. Raises StoreError where it does not follow from those before."""
    try:
        fold.apply(decode(entry), fold.Target(db, seq, ""))
    except (LookupError, sqlite3.IntegrityError) as error:
        raise StoreError(f"Ledger entry {seq} does not follow from those before it: {error}.") from error
