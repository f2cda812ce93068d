"""The catalog in one SQLite file in WAL mode, synced as :mod:`.syncing` describes. Any number of threads and
processes may use it.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.errors import StoreError
from kgfs.stores import timing
from kgfs.stores.catalog.contract import Pending
from kgfs.stores.catalog.contract_jobs import Jobs
from kgfs.stores.catalog.contract_names import Names
from kgfs.stores.catalog.fact_number import FactNumber
from kgfs.stores.catalog.jobs import SqliteJobs
from kgfs.stores.catalog.names import SqliteNames
from kgfs.stores.catalog.origin import changed_elsewhere
from kgfs.stores.catalog.readers import Readers
from kgfs.stores.catalog.schema import connect_to_read, newest_entry, prepare, typed
from kgfs.stores.catalog.syncing import WalSync
from kgfs.stores.catalog.writer import Writer
from kgfs.stores.database import scrub
from kgfs.stores.disk_reserve import DiskReserve

if TYPE_CHECKING:  # a process that only reads needs no class of fact
    from kgfs.stores.catalog.facts import Fact
    from kgfs.stores.catalog.recording import Recording

KEPT_ENTRIES = 10_000
"""The number of newest entries that are kept for the change feed after the ledger has them."""


class SqliteCatalog:
    """The contract's ``Catalog``. Without a path it lives in a temporary folder, unsynced, until the object is
    collected."""

    def __init__(self, path: Path | None) -> None:
        durable = path is not None
        if path is None:
            import shutil
            import tempfile

            folder = tempfile.mkdtemp(prefix="kgfs-catalog-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder) / "front.sqlite"
        self._path = path
        self._reserve = DiskReserve(path.parent)
        db = self._reserve.run(lambda: prepare(path, durable=durable))
        self._watch = connect_to_read(path)
        self._seen = self._data_version()
        self._number = FactNumber(db)
        self._db = db
        syncing = WalSync(path, lambda: connect_to_read(path)) if durable else None
        self._writer = Writer(db, path, syncing)
        self._watching = threading.Lock()
        self._readers = Readers(lambda: connect_to_read(path))
        self._names = SqliteNames(self._readers.mine)
        self._jobs = SqliteJobs(self._writer, self._readers.mine)

    @property
    def names(self) -> Names:
        return self._names

    @property
    def jobs(self) -> Jobs:
        return self._jobs

    # --------------------------------------------------------------------------------------------- writing

    def record(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "", synced: bool = True
    ) -> int:
        run = self._writer.run_removing if self._recording.removes(facts) else self._writer.run
        return run(self._recording.of(facts, inbox or {}, session), synced=synced)

    def record_nowait(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = ""
    ) -> Pending | None:
        return self._writer.run_nowait(self._recording.of(facts, inbox or {}, session))

    @cached_property
    def _recording(self) -> Recording:
        from kgfs.stores.catalog.recording import Recording

        return Recording(self._db, self._number)

    def sync(self) -> None:
        self._writer.sync()

    def drop_inbox(self, sha256s: Sequence[str]) -> None:
        sql = (
            "DELETE FROM inbox WHERE sha256 = ?1"
            " AND NOT EXISTS (SELECT 1 FROM name WHERE sha256 = ?1 AND place = 'inbox')"
        )
        self._writer.run_removing(lambda db: db.executemany(sql, [(sha256,) for sha256 in sha256s]), synced=False)

    def unheld(self, among: Sequence[str] | None = None) -> list[str]:
        from kgfs.stores.catalog import forgetting

        return forgetting.unheld(self._readers.mine(), among)

    def scrub(self) -> None:
        self._reserve.run(self._scrub)

    def _scrub(self) -> None:
        db = sqlite3.connect(self._path, timeout=timing.WAL_BUSY, isolation_level=None)
        try:
            scrub(db, self._path)
        except sqlite3.Error as error:
            raise typed(error, self._path) from error
        finally:
            db.close()

    def note_unheld(self, keys: Sequence[str]) -> None:
        rows = [(key,) for key in keys]
        self._writer.run(lambda db: db.executemany("INSERT OR IGNORE INTO unheld VALUES (?)", rows), synced=False)

    def drop_unheld(self, keys: Sequence[str], *, synced: bool = True) -> None:
        rows = [(key,) for key in keys]
        self._writer.run_removing(lambda db: db.executemany("DELETE FROM unheld WHERE key = ?", rows), synced=synced)

    def shipped(self, upto: int) -> None:
        def work(db: sqlite3.Connection) -> None:
            db.execute("UPDATE shipped SET upto = max(upto, min(?, ?))", (upto, newest_entry(db)))
            _trim(db)

        self._writer.run_removing(work, synced=False)  # the ledger skips entries that are shipped twice

    def replay(self, entries: Iterator[tuple[int, bytes]]) -> int:
        from kgfs.stores.catalog.recording import replay_one

        def work(db: sqlite3.Connection) -> int:
            if newest_entry(db) or db.execute("SELECT 1 FROM ontology").fetchone():
                raise StoreError(f"{self._path}: only an empty catalog can be filled from the ledger.")
            newest: deque[tuple[int, bytes]] = deque(maxlen=KEPT_ENTRIES)
            applied = 0
            for seq, entry in entries:
                if newest and seq != newest[-1][0] + 1:
                    raise StoreError(f"The ledger has nothing between the entries {newest[-1][0]} and {seq}.")
                replay_one(db, seq, entry)
                newest.append((seq, entry))
                applied += 1
            db.executemany("INSERT INTO entry VALUES (?, ?, '')", newest)
            db.execute("UPDATE shipped SET upto = ?", (newest_entry(db),))
            return applied

        with self._writer.in_bulk():
            return self._writer.run(work)

    # --------------------------------------------------------------------------------------------- sharing

    def share(self) -> None:
        from kgfs.stores.catalog.sharing.undo import install, installed  # needed by shared homes only

        def work(db: sqlite3.Connection) -> None:
            install(db)
            db.execute("UPDATE shipped SET sharing = 1")

        if not (self.sharing and installed(self._readers.mine())):
            self._writer.run(work)

    @property
    def sharing(self) -> bool:
        return bool(self._readers.mine().execute("SELECT sharing FROM shipped").fetchone()[0])

    def changed_elsewhere(self) -> int:
        return changed_elsewhere(self._readers.mine())

    def follow(
        self, entries: Sequence[tuple[int, bytes]], kept: Container[str] = (), gone: Container[str] = ()
    ) -> list[str]:
        from kgfs.stores.catalog.sharing.follow import follow  # needed by shared homes only

        def work(db: sqlite3.Connection) -> list[str]:
            notes = follow(db, self._number, entries, kept, gone)
            _trim(db)
            return notes

        return self._writer.run(work, synced=False)

    def withdraw(self, fact: Fact) -> bool:
        from kgfs.stores.catalog.encoding import encode
        from kgfs.stores.catalog.sharing.follow import withdraw  # needed by shared homes only

        entry = encode(fact)
        return self._writer.run(lambda db: withdraw(db, self._number, entry))

    # --------------------------------------------------------------------------------------------- reading

    def inbox(self, sha256: str) -> bytes | None:
        return _inbox(self._readers.mine(), sha256)

    def promised(self) -> Iterator[tuple[str, str, str]]:
        sql = (
            "SELECT key, sha256, doc_id FROM version UNION SELECT key, sha256, doc_id FROM name WHERE place = 'garage'"
            " UNION SELECT key, sha256, doc_id FROM trash WHERE place = 'garage'"
            " UNION SELECT key, sha256, doc_id FROM part JOIN document ON doc_id = child AND child != '' ORDER BY 1, 3, 2"
        )
        return iter(self._readers.mine().execute(sql).fetchall())

    def promises(self, key: str) -> bool:
        sql = (
            "SELECT EXISTS (SELECT 1 FROM version WHERE key = ?1) OR EXISTS (SELECT 1 FROM trash WHERE key = ?1)"
            " OR EXISTS (SELECT 1 FROM name WHERE key = ?1 AND place = 'garage')"
            " OR EXISTS (SELECT 1 FROM document JOIN part ON child = doc_id AND child != '' WHERE document.key = ?1)"
        )
        return bool(self._readers.mine().execute(sql, (key,)).fetchone()[0])

    def left_inbox(self) -> list[str]:
        sql = (
            "SELECT sha256 FROM inbox WHERE NOT EXISTS"
            " (SELECT 1 FROM name WHERE name.sha256 = inbox.sha256 AND place = 'inbox') ORDER BY sha256"
        )
        return [sha256 for (sha256,) in self._readers.mine().execute(sql).fetchall()]

    def seq(self) -> int:
        return newest_entry(self._readers.mine())

    @property
    def commits(self) -> int:
        return self._writer.commits

    def facts(self, after: int, limit: int = 1000, *, confirmed: bool = False) -> list[tuple[int, Fact]] | None:
        sql = "SELECT seq, body FROM entry WHERE seq > ? ORDER BY seq LIMIT ?"
        rows = self._readers.mine().execute(sql, (after, limit)).fetchall()
        if rows[0][0] != after + 1 if rows else self.seq() < after:
            return None
        sql = "SELECT 1 FROM renumbered WHERE after < ?1 AND upto >= ?1"
        if not confirmed and self._readers.mine().execute(sql, (after,)).fetchone():
            return None
        if not rows:
            return []
        from kgfs.stores.catalog.encoding import decode

        return [(seq, decode(body)) for seq, body in rows]

    def unshipped(self, limit: int = 1000) -> tuple[int, list[bytes]]:
        sql = "SELECT upto + 1, seq, body FROM shipped LEFT JOIN entry ON seq > upto ORDER BY seq LIMIT ?"
        rows = self._readers.mine().execute(sql, (limit,)).fetchall()
        entries = [body for _, _, body in rows if body is not None]
        if entries:
            self._writer.sync()  # after a power failure the ledger must not be ahead of the catalog
        return rows[0][0], entries

    def confirmed(self) -> int:
        return int(self._readers.mine().execute("SELECT upto FROM shipped").fetchone()[0])

    def changed(self) -> bool:
        with self._watching:
            before, self._seen = self._seen, self._data_version()
            return before != self._seen

    def _data_version(self) -> int:
        # The value changes with commits of every other connection; this connection never commits.
        version: int = self._watch.execute("PRAGMA data_version").fetchone()[0]
        return version

    def close(self) -> None:
        self._readers.close()
        with self._watching:
            self._watch.close()
        self._writer.close()


def _inbox(db: sqlite3.Connection, sha256: str) -> bytes | None:
    row = db.execute("SELECT body FROM inbox WHERE sha256 = ?", (sha256,)).fetchone()
    return row[0] if row else None


def _trim(db: sqlite3.Connection) -> None:
    """Delete the entries that the ledger has, except for the newest ``KEPT_ENTRIES``."""
    db.execute("DELETE FROM entry WHERE seq <= (SELECT min(upto, ?) FROM shipped)", (newest_entry(db) - KEPT_ENTRIES,))
