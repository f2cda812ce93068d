"""Facts on their way into a catalog: they are checked, folded into the tables, and kept as entries.

Recording and replaying both call :func:`apply`, and nothing else writes what the ledger can restore. So the functions
of the fold use no clock and ask no other process: they depend only on the fact, its number and the rows before it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from kgfs.errors import StoreError
from kgfs.stores.catalog import fold_documents, fold_names
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
from kgfs.stores.catalog.path_states import Target, apply_one
from kgfs.stores.catalog.schema import newest_entry
from kgfs.stores.catalog.writer import Work

PARTS = (fold_names, fold_documents)
"""The modules that register the functions of facts."""

__all__ = ["PARTS", "Target", "apply"]

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
                apply(fact, Target(db, seq, session))
                db.execute("INSERT INTO entry (seq, body) VALUES (?, ?)", (seq, entry))
            return seq

        return work


def _has_inbox(db: sqlite3.Connection, sha256: str) -> bool:
    return db.execute("SELECT 1 FROM inbox WHERE sha256 = ?", (sha256,)).fetchone() is not None


def replay_one(db: sqlite3.Connection, seq: int, entry: bytes) -> None:
    """Fold an entry of the ledger into the tables. Raises StoreError where it does not follow from those before."""
    try:
        apply(decode(entry), Target(db, seq, ""))
    except (LookupError, sqlite3.IntegrityError) as error:
        raise StoreError(f"Ledger entry {seq} does not follow from those before it: {error}.") from error


def apply(fact: Fact, target: Target) -> None:
    """Apply one checked fact to the tables."""
    apply_one(fact, target)
