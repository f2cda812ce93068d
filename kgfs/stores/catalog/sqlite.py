"""The catalog in one SQLite file in WAL mode, synced as :mod:`.writer` describes.

The tables are a fold of the facts. ``record`` appends facts to the log and applies them to the tables in one durable
transaction. A replay of the same facts from an empty catalog gives the same tables: ids, numbers, times and jobs.
Leases and counts of attempts are excepted, since they are not recorded as facts. Reads are *quick* (indexed,
microseconds) unless said otherwise. Each thread has a reading connection of its own, so reads run inline and wait for
no other thread.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.errors import StoreError
from kgfs.stores import timing
from kgfs.stores.catalog.jobs import Jobs
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.pending import Pending
from kgfs.stores.catalog.schema import connect_to_read, newest_entry, prepare, typed
from kgfs.stores.catalog.writer import WalSync, Writer
from kgfs.stores.database import scrub
from kgfs.stores.disk_reserve import DiskReserve

if TYPE_CHECKING:
    from kgfs.stores.catalog.facts import Fact
    from kgfs.stores.catalog.recording import Recording

KEPT_ENTRIES = 10_000
"""The number of newest entries that are kept for the change feed after the ledger has them."""


class Catalog:
    """Names, jobs, the inbox and the newest part of the ledger in one durable file. Any number of threads and
    processes may use one catalog at the same time. Without a path it lives in a temporary folder, unsynced, until the
    object is collected."""

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
        self._db = db
        syncing = WalSync(path, lambda: connect_to_read(path)) if durable else None
        self._writer = Writer(db, path, syncing)
        self._watching = threading.Lock()
        self._readers = Readers(lambda: connect_to_read(path))
        self._names = Names(self._readers.mine)
        self._jobs = Jobs(self._writer, self._readers.mine)

    @property
    def names(self) -> Names:
        """Return the queries about names, versions and documents."""
        return self._names

    @property
    def jobs(self) -> Jobs:
        """Return the job queue."""
        return self._jobs

    # --------------------------------------------------------------------------------------------- writing

    def record(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "", synced: bool = True
    ) -> int:
        """Make the facts true and durable, all or none, and return the number of the last one.

        ``inbox`` maps SHA-256 to small contents, which become durable in the same transaction. ``session`` is the
        mount that acts. Calls of several threads share a transaction (group commit), and each call stays all or none
        on its own. The call blocks for one full sync, so make it from a thread.

        Without ``synced`` the call does not wait for the disk. The facts survive the end of every process at once,
        and a power failure within a second. No later fact ever survives a power failure without them.

        Raises, with nothing recorded: MissingError (the id or the parent is not live), ExistsError (the name is
        taken, also an ontology's), NotEmptyError, NotAFolderError, IsAFolderError (a file would replace a folder, or
        a folder a file), BadInputError (a folder would move below itself), NameTooLongError, RefusedError, and
        BusyError (a VersionMinted or Settled about bytes that the name no longer has, a Settled that calls a path no
        document although the path has a document's name by now, or a version that is not the next one of its path).
        Raises NoSpaceError or StoreError if the disk fails. After a failed sync (StoreError) the facts may be recorded
        all the same, and every later call that waits for the disk fails.

        Effects beyond the rows that the fact names:
        - A parent's mtime and ctime follow every entry that appears in it or leaves it.
        - A VersionMinted whose decision needs a reading enqueues the ``read`` job (deposit = the fact's number) and
          sets the document's state to queued. A ReadingOwed does the same, for a Document that a live name has (else
          MissingError).
        - A fact that ends a job removes the job and sets the document's state.
        - A document that loses its last live name loses its ``read`` job. If the graph shows the document, it also
          gets a ``forget`` job, with ``not_before`` two seconds later, so that an editor's temporary removal during a
          save forgets nothing. A document that gains a name again loses its ``forget`` job.
        - A predecessor that is no path's newest version any more is ``stale`` until it leaves the graph, while its
          successor has a ``read`` job or has failed to be read. Where the successor needs no reading (alias), the
          predecessor gets a ``forget`` job."""
        run = self._writer.run_removing if self._recording.removes(facts) else self._writer.run
        return run(self._recording.of(facts, inbox or {}, session), synced=synced)

    def record_nowait(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = ""
    ) -> Pending | None:
        """Record the facts as ``record`` does, but without waiting for the disk or for another writer. An event loop
        may call this.

        The facts are durable within a second in any case. Returns None, with nothing recorded, where the call would
        have to wait. Quick."""
        return self._writer.run_nowait(self._recording.of(facts, inbox or {}, session))

    @cached_property
    def _recording(self) -> Recording:
        from kgfs.stores.catalog.recording import Recording

        return Recording(self._db)

    def sync(self) -> None:
        """Make durable what any process has recorded until now. Blocks."""
        self._writer.sync()

    def drop_inbox(self, sha256s: Sequence[str]) -> None:
        """Delete inbox contents, except those that a live name refers to with place ``inbox``."""
        sql = (
            "DELETE FROM inbox WHERE sha256 = ?1"
            " AND NOT EXISTS (SELECT 1 FROM name WHERE sha256 = ?1 AND place = 'inbox')"
        )
        self._writer.run_removing(lambda db: db.executemany(sql, [(sha256,) for sha256 in sha256s]), synced=False)

    def unheld(self, among: Sequence[str] | None = None) -> list[str]:
        """Return the sorted keys of originals that no name, version or trash entry refers to any more, and whose
        objects may still exist.

        Call this while no path is being settled. With ``among``, consider only these keys; that is quick for a few
        keys."""
        from kgfs.stores.catalog import forgetting

        return forgetting.unheld(self._readers.mine(), among)

    def scrub(self) -> None:
        """Erase every trace of deleted rows (inbox contents above all) from the files. Rewrites the whole database,
        so it blocks for long. Raises BusyError where other processes read without a pause."""
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
        """Put the keys of originals on that list before their objects are made, for the case that the process is killed
        before a fact refers to them. Not synced: a power failure may lose it."""
        rows = [(key,) for key in keys]
        self._writer.run(lambda db: db.executemany("INSERT OR IGNORE INTO unheld VALUES (?)", rows), synced=False)

    def drop_unheld(self, keys: Sequence[str], *, synced: bool = True) -> None:
        """Take the keys out of the list of unheld originals: their objects were deleted, or are wanted again."""
        rows = [(key,) for key in keys]
        self._writer.run_removing(lambda db: db.executemany("DELETE FROM unheld WHERE key = ?", rows), synced=synced)

    def shipped(self, upto: int) -> None:
        """Note that the ledger has the facts up to this number for certain. Only the newest of them stay for the
        change feed."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("UPDATE shipped SET upto = max(upto, min(?, ?))", (upto, newest_entry(db)))
            _trim(db)

        self._writer.run_removing(work, synced=False)  # the ledger skips entries that are shipped twice

    def replay(self, entries: Iterator[tuple[int, bytes]]) -> int:
        """Apply the ledger's entries after the newest fact here, and return how many there were.

        The catalog is empty, or began with a snapshot. Raises StoreError if it has facts that are not shipped, or if an
        entry is missing or does not follow from those before it."""
        from kgfs.stores.catalog.recording import replay_one

        def work(db: sqlite3.Connection) -> int:
            began = last = newest_entry(db)
            (shipped,) = db.execute("SELECT upto FROM shipped").fetchone()
            if shipped < last or (not last and db.execute("SELECT 1 FROM ontology").fetchone()):
                raise StoreError(f"{self._path}: it has facts that the ledger lacks, so the ledger cannot be replayed.")
            newest: deque[tuple[int, bytes]] = deque(maxlen=KEPT_ENTRIES)
            for seq, entry in entries:
                if seq != last + 1:
                    raise StoreError(f"The ledger has nothing between the entries {last} and {seq}.")
                replay_one(db, seq, entry)
                newest.append((seq, entry))
                last = seq
            db.executemany("INSERT INTO entry (seq, body) VALUES (?, ?)", newest)
            db.execute("UPDATE shipped SET upto = ?", (last,))
            return last - began

        with self._writer.in_bulk():
            return self._writer.run(work)

    # --------------------------------------------------------------------------------------------- reading

    def inbox(self, sha256: str) -> bytes | None:
        """Return a small content that is not in the garage yet, by its SHA-256; None if the inbox does not have it.
        Quick."""
        return _inbox(self._readers.mine(), sha256)

    def promised(self) -> Iterator[tuple[str, str, str]]:
        """Iterate over (garage key, SHA-256, doc_id or '') of every original that a name, a version or the trash
        refers to. Scans all of them."""
        sql = (
            "SELECT key, sha256, doc_id FROM version UNION SELECT key, sha256, doc_id FROM name WHERE place = 'garage'"
            " UNION SELECT key, sha256, doc_id FROM trash WHERE place = 'garage'"
            " UNION SELECT key, sha256, doc_id FROM part JOIN document ON doc_id = child AND child != '' ORDER BY 1, 3, 2"
        )
        return iter(self._readers.mine().execute(sql).fetchall())

    def promises(self, key: str) -> bool:
        """Return whether a name, a version or the trash refers to the object ``key``. Quick."""
        sql = (
            "SELECT EXISTS (SELECT 1 FROM version WHERE key = ?1) OR EXISTS (SELECT 1 FROM trash WHERE key = ?1)"
            " OR EXISTS (SELECT 1 FROM name WHERE key = ?1 AND place = 'garage')"
            " OR EXISTS (SELECT 1 FROM document JOIN part ON child = doc_id AND child != '' WHERE document.key = ?1)"
        )
        return bool(self._readers.mine().execute(sql, (key,)).fetchone()[0])

    def left_inbox(self) -> list[str]:
        """Return the SHA-256 of each inbox row that no name refers to. Such rows exist only briefly, between two
        steps."""
        sql = (
            "SELECT sha256 FROM inbox WHERE NOT EXISTS"
            " (SELECT 1 FROM name WHERE name.sha256 = inbox.sha256 AND place = 'inbox') ORDER BY sha256"
        )
        return [sha256 for (sha256,) in self._readers.mine().execute(sql).fetchall()]

    def seq(self) -> int:
        """Return the number of the newest fact. The number also changes when another process records a fact.
        Quick."""
        return newest_entry(self._readers.mine())

    @property
    def commits(self) -> int:
        """Return a counter that increases whenever this process changes something, before the changing call returns.
        Quick: reads no table."""
        return self._writer.commits

    def facts(self, after: int, limit: int = 1000) -> list[tuple[int, Fact]] | None:
        """Return facts with numbers above ``after`` in order, at most ``limit``: the change feed.

        Returns None when the facts behind ``after`` are no longer kept here (at least the last 10,000 are); the caller
        must then read the whole state anew."""
        sql = "SELECT seq, body FROM entry WHERE seq > ? ORDER BY seq LIMIT ?"
        rows = self._readers.mine().execute(sql, (after, limit)).fetchall()
        if rows[0][0] != after + 1 if rows else self.seq() < after:
            return None
        if not rows:
            return []
        from kgfs.stores.catalog.encoding import decode

        return [(seq, decode(body)) for seq, body in rows]

    def unshipped(self, limit: int = 1000) -> tuple[int, list[bytes]]:
        """Return the oldest entries that the ledger is not known to have: (number of the first, encoded facts). The
        entries are durable in this catalog when the call returns. Blocks for a sync if there are any."""
        sql = "SELECT upto + 1, seq, body FROM shipped LEFT JOIN entry ON seq > upto ORDER BY seq LIMIT ?"
        rows = self._readers.mine().execute(sql, (limit,)).fetchall()
        entries = [body for _, _, body in rows if body is not None]
        if entries:
            self._writer.sync()  # after a power failure the ledger must not be ahead of the catalog
        return rows[0][0], entries

    def confirmed(self) -> int:
        """Return the number of the newest fact that the ledger has for certain. Quick."""
        return int(self._readers.mine().execute("SELECT upto FROM shipped").fetchone()[0])

    def changed(self) -> bool:
        """Return whether any other connection, of this process or another, committed since this object was last
        asked. Quick; meant for polling."""
        with self._watching:
            before, self._seen = self._seen, self._data_version()
            return before != self._seen

    def _data_version(self) -> int:
        # The value changes with commits of every other connection; this connection never commits.
        version: int = self._watch.execute("PRAGMA data_version").fetchone()[0]
        return version

    def close(self) -> None:
        """Make everything durable and close the connections. No thread may use the catalog meanwhile or
        afterwards."""
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


class Readers:
    """Opens a reading connection for each thread that asks for one, and closes it after the thread has ended."""

    def __init__(self, open_one: Callable[[], sqlite3.Connection]) -> None:
        self._open_one = open_one
        self._local = threading.local()
        self._all: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._lock = threading.Lock()

    def mine(self) -> sqlite3.Connection:
        """Return the calling thread's connection. The first call of a thread opens it and closes those of ended
        threads."""
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        return db if db is not None else self._open()

    def _open(self) -> sqlite3.Connection:
        db = self._open_one()
        with self._lock:
            for thread, other in self._all:
                if not thread.is_alive():
                    other.close()
            self._all = [(thread, other) for thread, other in self._all if thread.is_alive()]
            self._all.append((threading.current_thread(), db))
        self._local.db = db
        return db

    def close(self) -> None:
        """Close all connections. No thread may be reading."""
        with self._lock:
            for _, db in self._all:
                db.close()
            self._all.clear()
