"""The job queue, with leases measured by the wall clock."""

from __future__ import annotations

import sqlite3
import time

from kgfs.errors import BadInputError, LostLeaseError, MissingError
from kgfs.stores.catalog import path_states
from kgfs.stores.catalog.contract_jobs import Job
from kgfs.stores.catalog.rows import JOB, Connect, job_from
from kgfs.stores.catalog.writer import Writer

KINDS = ("read", "forget")
_HELD = "kind = ? AND doc_id = ? AND worker = ? AND attempts = ?"
"""Condition that finds a claimed job: a claim is identified by its worker and its attempt."""


class SqliteJobs:
    """The contract's ``Jobs``: ``writer`` makes changes, ``connect`` gives a thread's reading connection."""

    def __init__(self, writer: Writer, connect: Connect) -> None:
        self._writer = writer
        self._connect = connect

    def claim(self, worker: str, lease: float) -> Job | None:
        if not self._due(self._connect(), time.time_ns()):
            return None
        return self._writer.run_removing(lambda db: self._claim(db, worker, lease), synced=False)

    def _due(self, db: sqlite3.Connection, now: int) -> tuple[str, str] | None:
        for whose in ("run = ''", "run != ''"):
            sql = (
                f"SELECT kind, doc_id FROM job WHERE {whose} AND not_before <= ?1"
                " AND (state = 'queued' OR lease_until <= ?1)"
                # Where homes share a ledger, a fact that the ledger does not have yet may still change.
                " AND deposit <= (SELECT iif(sharing, upto, ?2) FROM shipped) ORDER BY deposit, kind, doc_id LIMIT 1"
            )
            found: tuple[str, str] | None = db.execute(sql, (now, 2**63 - 1)).fetchone()
            if found:
                return found
        return None

    def _claim(self, db: sqlite3.Connection, worker: str, lease: float) -> Job | None:
        now = time.time_ns()
        due = self._due(db, now)
        if due is None:
            return None
        sql = (
            "UPDATE job SET state = 'working', worker = ?, attempts = attempts + 1, lease_until = ?, stage = '',"
            f" progress = 0 WHERE kind = ? AND doc_id = ? RETURNING {JOB}"
        )
        return job_from(db.execute(sql, (worker, now + nanoseconds(lease), *due)).fetchone())

    def renew(self, job: Job, lease: float, stage: str = "", progress: float = 0.0) -> None:
        def work(db: sqlite3.Connection) -> None:
            sql = f"UPDATE job SET lease_until = ?, stage = ?, progress = ? WHERE {_HELD} AND state = 'working'"
            row = (time.time_ns() + nanoseconds(lease), stage, progress, *_held(job))
            if db.execute(sql, row).rowcount == 0:
                raise LostLeaseError(f"The job {job.kind} {job.doc_id} is not held by {job.worker} any more.")

        self._writer.run_removing(work, synced=False)

    def put_back(self, job: Job, reason: str, delay: float, *, counted: bool = True) -> None:
        def work(db: sqlite3.Connection) -> None:
            sql = (
                "UPDATE job SET state = 'queued', worker = '', reason = ?, not_before = ?, lease_until = 0, stage = '',"
                f" progress = 0, attempts = attempts - ? WHERE {_HELD}"
            )
            db.execute(sql, (reason, time.time_ns() + nanoseconds(delay), not counted, *_held(job)))

        self._writer.run_removing(work, synced=False)

    def free(self, *, counted: bool = True) -> int:
        def work(db: sqlite3.Connection) -> int:
            sql = (
                "UPDATE job SET state = 'queued', worker = '', lease_until = 0, attempts = attempts - ?"
                " WHERE state = 'working'"
            )
            return db.execute(sql, (not counted,)).rowcount

        return self._writer.run_removing(work, synced=False)

    def drop(self, job: Job) -> None:
        def work(db: sqlite3.Connection) -> None:
            if db.execute(f"DELETE FROM job WHERE {_HELD}", _held(job)).rowcount:
                path_states.set_state(db, job.doc_id)

        self._writer.run_removing(work)

    def owe(self, kind: str, doc_id: str, not_before: int = 0) -> None:
        def work(db: sqlite3.Connection) -> None:
            sql = (
                "INSERT INTO job (kind, doc_id, ontology, deposit, not_before)"
                " SELECT ?1, doc_id, ontology, deposit, ?3 FROM document WHERE doc_id = ?2"
                " ON CONFLICT DO UPDATE SET not_before = ?3 WHERE state = 'queued'"
            )
            db.execute(sql, (kind, doc_id, not_before))
            if not db.execute("SELECT 1 FROM document WHERE doc_id = ?", (doc_id,)).fetchone():
                raise MissingError(f"There is no document {doc_id}.")
            path_states.set_state(db, doc_id)

        if kind not in KINDS:
            raise BadInputError(f"There is no work of kind {kind!r}; known are {', '.join(KINDS)}.")
        self._writer.run(work)

    def all(self) -> list[Job]:
        return self._jobs("job")

    def of(self, doc_id: str) -> list[Job]:
        kinds = ", ".join(f"'{kind}'" for kind in KINDS)
        return self._jobs(f"job WHERE kind IN ({kinds}) AND doc_id = ?", doc_id)

    def working(self) -> list[Job]:
        return self._jobs("job INDEXED BY job_working WHERE state = 'working'")

    def _jobs(self, which: str, *values: str) -> list[Job]:
        rows = self._connect().execute(f"SELECT {JOB} FROM {which} ORDER BY deposit, kind, doc_id", values).fetchall()
        return [job_from(row) for row in rows]

    def owed(self) -> int:
        number: int = self._connect().execute("SELECT count(*) FROM job").fetchone()[0]
        return number


def _held(job: Job) -> tuple[str, str, str, int]:
    return job.kind, job.doc_id, job.worker, job.attempts


def nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
