"""The tables of a catalog, and how connections to them are opened."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from kgfs.errors import NoSpaceError, StoreError, from_os_error
from kgfs.stores import timing
from kgfs.stores.sqlite_files import fill, refuse_other, use_wal

WAL_BYTES_KEPT = 64 << 20
WAL_PAGES = 64_000
"""Length of the WAL, in pages, from which a writer itself copies the WAL to the database, if no checkpoint has been
made beside the writers."""

SCHEMA = """
CREATE TABLE entry (                        -- the front of the ledger
    seq INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);

CREATE TABLE shipped (                      -- one row: up to where the ledger has the entries for certain
    only INTEGER PRIMARY KEY CHECK (only = 1),
    upto INTEGER NOT NULL
);
INSERT INTO shipped VALUES (1, 0);

CREATE TABLE inbox (
    sha256 TEXT PRIMARY KEY,
    body BLOB NOT NULL
);

CREATE TABLE ontology (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    root INTEGER NOT NULL,
    made_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE setting (
    ontology TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (ontology, key)
) WITHOUT ROWID;

CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    ontology TEXT NOT NULL,
    parent INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    mode INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    atime INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    ctime INTEGER NOT NULL,
    size INTEGER NOT NULL,
    target TEXT NOT NULL,
    place TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    key TEXT NOT NULL,
    doc_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    lineage INTEGER NOT NULL,               -- of a file: whose versions are its history; else 0
    arrived_at INTEGER NOT NULL,            -- when it came to (parent, name)
    touched_at INTEGER NOT NULL,            -- when its content or name last changed
    session TEXT NOT NULL,                  -- the mount that did so
    decision TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX name_place ON name (parent, name) WHERE parent != 0;
CREATE UNIQUE INDEX name_lineage ON name (lineage) WHERE lineage != 0;
CREATE INDEX name_doc ON name (doc_id) WHERE doc_id != '';
CREATE INDEX name_unsettled ON name (touched_at) WHERE settled = 0;
CREATE INDEX name_inbox ON name (sha256) WHERE place = 'inbox';
CREATE INDEX name_key ON name (key) WHERE place = 'garage';

CREATE TABLE trash (                        -- removed files that have versions
    id INTEGER PRIMARY KEY,
    ontology TEXT NOT NULL,
    path TEXT NOT NULL,
    mode INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    size INTEGER NOT NULL,
    place TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    key TEXT NOT NULL,
    doc_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    at INTEGER NOT NULL
);
CREATE INDEX trash_doc ON trash (doc_id);
CREATE INDEX trash_lineage ON trash (lineage);
CREATE INDEX trash_key ON trash (key);

CREATE TABLE version (
    lineage INTEGER NOT NULL,
    n INTEGER NOT NULL,
    doc_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    key TEXT NOT NULL,
    path TEXT NOT NULL,
    minted_at INTEGER NOT NULL,
    deposit INTEGER NOT NULL,
    decision TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (lineage, n)
) WITHOUT ROWID;
CREATE INDEX version_doc ON version (doc_id, deposit);
CREATE INDEX version_key ON version (key);

CREATE TABLE departed (                     -- which lineage last left a place, for the file that comes there next
    parent INTEGER NOT NULL,
    name TEXT NOT NULL,
    lineage INTEGER NOT NULL,
    at INTEGER NOT NULL,
    removed INTEGER NOT NULL,               -- 1: its holder was removed, 0: it was moved away
    PRIMARY KEY (parent, name)
) WITHOUT ROWID;
CREATE INDEX departed_lineage ON departed (lineage);

CREATE TABLE document (
    doc_id TEXT PRIMARY KEY,
    ontology TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    source_id TEXT NOT NULL,
    key TEXT NOT NULL,
    size INTEGER NOT NULL,
    state TEXT NOT NULL,                    -- never 'working': that is said by its job
    reason TEXT NOT NULL,
    ingest_version INTEGER NOT NULL,
    reading TEXT NOT NULL,
    decisions TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    deposited_at INTEGER NOT NULL,
    deposit INTEGER NOT NULL,
    removed_at INTEGER NOT NULL,
    ended TEXT NOT NULL,                    -- how its last reading ended; '' when it was never read, or left the graph
    shown INTEGER NOT NULL,                 -- whether the graph has it
    former_reading TEXT NOT NULL DEFAULT '', -- what the newest Reading can be compared with
    former_decisions TEXT NOT NULL DEFAULT '',
    names INTEGER NOT NULL DEFAULT 0,       -- how many live names it has, since evidence shows all of them
    named_at INTEGER NOT NULL DEFAULT 0,    -- when these last changed
    parent TEXT NOT NULL DEFAULT '',
    root TEXT NOT NULL DEFAULT '',
    depth INTEGER NOT NULL DEFAULT 0,
    text TEXT NOT NULL DEFAULT '',          -- the Reading whose text is shown before it is read
    failed_at INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX document_content ON document (ontology, sha256, deposit);
CREATE INDEX document_order ON document (ontology, deposit);
CREATE INDEX document_page ON document (ontology, doc_id);
CREATE INDEX document_key ON document (key);
CREATE INDEX document_unread ON document (ontology, deposit) WHERE state IN ('failed', 'unsupported');

CREATE TABLE shown (                        -- documents that the graph has, by the lineages they are a version of
    lineage INTEGER NOT NULL,
    doc_id TEXT NOT NULL,
    PRIMARY KEY (lineage, doc_id)
) WITHOUT ROWID;
CREATE INDEX shown_doc ON shown (doc_id);

CREATE TABLE tally (                        -- documents by state
    ontology TEXT NOT NULL,
    state TEXT NOT NULL,
    documents INTEGER NOT NULL,
    PRIMARY KEY (ontology, state)
) WITHOUT ROWID;

CREATE TABLE job (
    kind TEXT NOT NULL,
    doc_id TEXT NOT NULL,
    ontology TEXT NOT NULL,
    deposit INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'queued',
    stage TEXT NOT NULL DEFAULT '',
    progress REAL NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    worker TEXT NOT NULL DEFAULT '',
    not_before INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER NOT NULL DEFAULT 0,
    strategy TEXT NOT NULL DEFAULT '',
    extractor TEXT NOT NULL DEFAULT '',
    run TEXT NOT NULL DEFAULT '',
    since INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    text_owed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, doc_id)
) WITHOUT ROWID;
CREATE INDEX job_order ON job (deposit, kind, doc_id);
CREATE INDEX job_working ON job (kind, ontology) WHERE state = 'working';
CREATE INDEX job_run ON job (run, since) WHERE run != '';
CREATE INDEX job_text ON job (size, deposit) WHERE kind = 'read' AND text_owed = 1;
CREATE INDEX job_small ON job (size, deposit) WHERE kind = 'read' AND run = '';
CREATE INDEX job_oldest ON job (deposit, doc_id) WHERE kind = 'read' AND run = '';
CREATE INDEX job_again ON job (run, deposit) WHERE kind = 'read' AND run != '';
CREATE INDEX job_again_small ON job (run, size, deposit) WHERE kind = 'read' AND run != '';
CREATE INDEX job_forget ON job (deposit, doc_id) WHERE kind = 'forget';

CREATE TABLE search (
    ontology TEXT NOT NULL,                 -- '' for the mount's root
    words TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (ontology, words)
) WITHOUT ROWID;

CREATE TABLE forgetting (                   -- decided, to be carried out
    id TEXT PRIMARY KEY,
    cascade TEXT NOT NULL,
    purge INTEGER NOT NULL,
    concepts TEXT NOT NULL,                 -- JSON
    at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE forgetting_document (
    doc_id TEXT PRIMARY KEY,
    forgetting TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX forgetting_documents ON forgetting_document (forgetting);

CREATE TABLE tombstone (                    -- documents whose knowledge stays though no file has them
    doc_id TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE suppression (                  -- concepts that only what is deposited after seq brings back
    concept TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE unheld (                       -- originals whose last promise may have gone
    key TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE removed_ontology (             -- their names
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    root INTEGER NOT NULL,
    made_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE question (
    ontology TEXT NOT NULL,                 -- '' for the mount's root
    question TEXT NOT NULL,
    saved_at INTEGER NOT NULL,              -- when it was saved or asked last
    PRIMARY KEY (ontology, question)
) WITHOUT ROWID;

CREATE TABLE part (                         -- documents that are parts of others
    parent TEXT NOT NULL,
    n INTEGER NOT NULL,                     -- from 1
    child TEXT NOT NULL,                    -- '' for an empty part
    name TEXT NOT NULL,
    given TEXT NOT NULL,
    kind TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (parent, n)
) WITHOUT ROWID;
CREATE INDEX part_child ON part (child) WHERE child != '';
CREATE INDEX part_name ON part (parent, name);

CREATE TABLE overtaker (                    -- documents that were matched before the oldest of their run that waits
    run TEXT NOT NULL,
    deposit INTEGER NOT NULL,
    PRIMARY KEY (run, deposit)
) WITHOUT ROWID;
"""


class Reading(sqlite3.Connection):
    """A read-only connection that raises the project's errors in place of SQLite's."""

    path: Path

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        try:
            return super().execute(sql, parameters)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise typed(error, self.path) from error


def connect_to_read(path: Path) -> Reading:
    """Return a new read-only connection in autocommit mode. Use it from one thread at a time."""
    db = sqlite3.connect(path, timeout=timing.WAL_BUSY, isolation_level=None, check_same_thread=False, factory=Reading)
    db.path = path
    db.execute("PRAGMA query_only=1")
    return db


def prepare(path: Path, *, durable: bool) -> sqlite3.Connection:
    """Open the writing connection to a catalog, in autocommit mode. Use it from one thread at a time.

    The file is created with mode 0600, whatever the umask, if it does not exist. Commits are not synced here (see
    :mod:`.syncing`). With ``durable``, SQLite keeps them in order on the disk, so a power failure loses only the newest.
    Raises NoSpaceError or StoreError if the disk or the database fails, and StoreError, with nothing written, if the file
    has another format."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
    except OSError as error:
        raise from_os_error(error, str(path)) from error
    db = sqlite3.connect(path, timeout=timing.WAL_BUSY, isolation_level=None, check_same_thread=False)
    try:
        is_new = refuse_other(db, path)
        db.execute(f"PRAGMA synchronous={'NORMAL' if durable else 'OFF'}")
        db.execute(f"PRAGMA journal_size_limit={WAL_BYTES_KEPT}")
        db.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
        use_wal(db)
        if is_new:
            _fill(db)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        db.close()
        raise typed(error, path) from error
    except StoreError:
        db.close()
        raise
    return db


def _fill(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        fill(db, SCHEMA)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _make(path: Path) -> None:
    """Create an empty file and sync its name. SQLite gives its -wal and -shm files the mode of the database."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def typed(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> StoreError:
    """Return the project's error for an error of SQLite. Text that is not UTF-8, also in SQLite's own message, counts
    as damage."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code & 0xFF == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return NoSpaceError(f"{path}: no space left on the device. Free space, then try again.")
    damaged = isinstance(error, UnicodeDecodeError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )
    failure = StoreError(f"{path}: {error}.{' Run kgfs check --repair.' if damaged else ''}")
    failure.__cause__ = error
    return failure


def newest_entry(db: sqlite3.Connection) -> int:
    """Return the number of the newest entry; 0 where there is none."""
    seq: int = db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()[0]
    return seq
