"""Bring a catalog in line with the shared ledger, in a transaction of the caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Sequence

from kgfs.errors import StoreError
from kgfs.stores.catalog import fold
from kgfs.stores.catalog.checks import Before, check
from kgfs.stores.catalog.encoding import decode, encode, tag_of
from kgfs.stores.catalog.fact_number import FactNumber
from kgfs.stores.catalog.facts import Fact, GraphFact, Overtaken
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.origin import ELSEWHERE, changed_elsewhere
from kgfs.stores.catalog.sharing import undo
from kgfs.stores.catalog.sharing.rebase import Rebase

OVERDUE = b'"base":'
"""Occurs in the entry of an own fact whose content was outdated by other homes' facts when it was recorded."""
RENUMBERINGS = 100
"""How many renumbered ranges are kept apart. Older ones are merged into one range from 0."""

Row = tuple[int, bytes, str]


def follow(
    db: sqlite3.Connection,
    number: FactNumber,
    entries: Sequence[tuple[int, bytes]],
    kept: Container[str],
    gone: Container[str],
) -> list[str]:
    """Apply entries of the ledger: (number, encoded fact) in order. Facts of the tail that the entries contain are
    confirmed; where the entries contain other facts, the tail is rebased (see ``Rebase``).

    Returns one line per consequence that people should know of. Raises NotKeptError as ``Rebase`` does, and
    StoreError if entries are missing before the first one or an entry does not follow from those before it. Entries
    that are known already are skipped. ``kept`` and ``gone`` are as in ``Rebase``."""
    (upto,) = db.execute("SELECT upto FROM shipped").fetchone()
    entries = [(seq, body) for seq, body in entries if seq > upto]
    if entries and entries[0][0] != upto + 1:
        raise StoreError(f"The ledger goes on with entry {entries[0][0]} where {upto + 1} is known here.")
    # Only as much of the tail as there are entries is read, since a long tail is confirmed batch by batch.
    facing = _tail(db, upto, len(entries))
    ours = _ours(db, facing, entries)
    behind, foreign = upto + len(ours), entries[len(ours) :]
    if all(body == own for (_, body, _), (_, own, _) in zip(ours, facing, strict=False)):
        undo.confirm(db, behind)
        upto, ours = behind, []
    notes: list[str] = []
    if ours or foreign or not entries:
        tail = _tail(db, behind)
        if ours or foreign or any(OVERDUE in body for _, body, _ in tail):
            notes = _carried(db, number, tail, upto, ours, foreign, kept, gone).notes
    # Where other homes' facts came first, the ledger cannot have taken what was sent with those numbers.
    db.execute("DELETE FROM withdrawn WHERE ? OR seq <= (SELECT upto FROM shipped)", (bool(foreign),))
    return notes


def _ours(db: sqlite3.Connection, tail: Sequence[Row], entries: Sequence[tuple[int, bytes]]) -> list[Row]:
    """Return the first of these entries that are in the tail, or that were, as facts that were withdrawn after an
    unacknowledged publication. Each comes with the session that recorded it."""
    withdrawn: dict[int, bytes] = dict(db.execute("SELECT seq, body FROM withdrawn"))
    found: list[Row] = []
    for (seq, body), (_, own, session) in zip(entries, tail, strict=False):
        if body != own and body != withdrawn.get(seq):
            break
        found.append((seq, body, session))
    return found


def withdraw(db: sqlite3.Connection, number: FactNumber, entry: bytes) -> bool:
    """Take back one fact of the tail and keep the facts before and behind it. Return False if the fact is not in the
    tail (any more).

    The fact is remembered until the ledger goes on: it may have been published all the same, unacknowledged. Facts of
    the tail whose content was outdated when they were recorded stay as they are: their fate depends on the contents
    of the garage, so ``follow`` decides it."""
    (upto,) = db.execute("SELECT upto FROM shipped").fetchone()
    tail = _tail(db, upto)
    if all(row[1] != entry for row in tail):
        return False
    fact = decode(entry)
    gone = Overtaken(tag_of(fact), getattr(fact, "id", 0), "the ledger could not be reached", fact.at)
    # An Overtaken is appended as well, since the newest number must grow with every change.
    left = [row if row[1] != entry else (row[0], encode(gone), row[2]) for row in tail]
    (seq,) = (row[0] for row in tail if row[1] == entry)
    db.execute("INSERT OR REPLACE INTO withdrawn VALUES (?, ?)", (seq, entry))
    _carried(db, number, [*left, (0, encode(gone), "")], upto, [], [], None, ())
    return True


def _tail(db: sqlite3.Connection, upto: int, limit: int = -1) -> list[Row]:
    """Return the tail, or its first ``limit`` facts."""
    sql = "SELECT seq, body, session FROM entry WHERE seq > ? ORDER BY seq LIMIT ?"
    return db.execute(sql, (upto, limit)).fetchall()


def _carried(
    db: sqlite3.Connection,
    number: FactNumber,
    tail: list[Row],
    upto: int,
    ours: Sequence[Row],
    foreign: Sequence[tuple[int, bytes]],
    kept: Container[str] | None,
    gone: Container[str],
) -> Rebase:
    """Undo the tail, apply the entries behind ``upto``, and record the tail behind them.

    The entries are first ``ours``, which were recorded here before the facts in the tail, and then ``foreign`` ones
    of other homes. ``kept`` and ``gone`` are as in ``Rebase``."""
    (newest,) = db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()
    undo.take_back(db, upto)
    for seq, body, session in ours:
        _fold(db, decode(body), seq, body, session)
    before = Before(Names(lambda: db), lambda _: True, lambda: changed_elsewhere(db))
    record = _Recorder(db, number, before, upto + len(ours))
    own = [decode(body) for _, body, _ in tail]
    rebase = Rebase(db, before.names, own, record, kept, gone)
    for seq, body in foreign:
        fact = decode(body)
        rebase.comes(fact)
        _fold(db, fact, seq, body, ELSEWHERE)
        if isinstance(fact, GraphFact):
            db.execute("UPDATE shipped SET changed_elsewhere = ?", (seq,))
        record.seq = seq
    undo.confirm(db, record.seq)
    rebase.find_outdated()
    for fact, (_, _, session) in zip(own, tail, strict=True):
        record.session = session
        rebase.carry(fact)
    db.executemany("INSERT OR REPLACE INTO united VALUES (?, ?)", rebase.united())
    if newest > upto:
        _renumbered(db, upto, newest)
    return rebase


def _fold(db: sqlite3.Connection, fact: Fact, seq: int, body: bytes, session: str) -> None:
    db.execute("INSERT INTO entry VALUES (?, ?, ?)", (seq, body, session))
    try:
        fold.apply(fact, fold.Target(db, seq, session))
    except (LookupError, sqlite3.IntegrityError) as error:
        raise StoreError(f"Ledger entry {seq} does not follow from those before it: {error}.") from error


class _Recorder:
    """Records facts of the tail behind the facts that are recorded already."""

    def __init__(self, db: sqlite3.Connection, number: FactNumber, before: Before, seq: int) -> None:
        self._db, self._number, self._before = db, number, before
        self.seq = seq
        self.session = ""

    def __call__(self, fact: Fact) -> None:
        """Record one fact. Raises what ``Catalog.record`` raises, with nothing done."""
        check(fact, self._before)
        self.seq += 1
        with self._number.being(self.seq):
            fold.apply(fact, fold.Target(self._db, self.seq, self.session))
        self._db.execute("INSERT INTO entry VALUES (?, ?, ?)", (self.seq, encode(fact), self.session))


def _renumbered(db: sqlite3.Connection, after: int, upto: int) -> None:
    """Note that facts with numbers in (after, upto] got other numbers, so that cursors in this range become
    invalid."""
    db.execute("INSERT INTO renumbered VALUES (?1, ?2) ON CONFLICT DO UPDATE SET after = min(after, ?2)", (upto, after))
    rows = db.execute("SELECT upto, after FROM renumbered ORDER BY upto").fetchall()
    if len(rows) > RENUMBERINGS:
        (oldest, _), (second, _) = rows[:2]
        db.execute("DELETE FROM renumbered WHERE upto = ?", (oldest,))
        db.execute("UPDATE renumbered SET after = 0 WHERE upto = ?", (second,))
