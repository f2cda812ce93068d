"""The job queue, with leases measured by the wall clock. Times are Unix times in nanoseconds; leases and delays are in
seconds."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from kgfs.domain.documents import TEXT_FIRST
from kgfs.errors import BadInputError, LostLeaseError, MissingError
from kgfs.stores.catalog import path_states
from kgfs.stores.catalog.rows import JOB, WAITING, Connect, Job, job_from
from kgfs.stores.catalog.writer import Writer

KINDS = ("read", "forget")
_HELD = "kind = ? AND doc_id = ? AND worker = ? AND attempts = ?"
"""Condition that finds a claimed job: a claim is identified by its worker and its attempt."""


HUGE = 2**63 - 1
LATE = 2**62
"""The size that a job has which comes after all others: more bytes than a document can have."""
OVERTAKEN = 100
"""The number of later documents that are matched before one that waits, at most."""

Find = Callable[[sqlite3.Connection, int], "tuple[str, str] | None"]
"""A function that returns kind and document of the job to be claimed next, given the time in nanoseconds."""

_DUE = "not_before <= ?1 AND (state = 'queued' OR lease_until <= ?1)"


class Jobs:
    """The job queue. What is to be forgotten is claimed first. Then documents are claimed, small ones before large ones;
    but a document is claimed when OVERTAKEN later ones came before it. Documents that are read again on request come
    after all others, in order of deposit, since people wait for what they have just written.

    ``writer`` makes changes, ``connect`` gives a thread's reading connection."""

    def __init__(self, writer: Writer, connect: Connect) -> None:
        self._writer = writer
        self._connect = connect

    def claim(self, worker: str, lease: float, below: int = HUGE) -> Job | None:
        """Lease the next due job that is queued or whose lease has expired; return it, or None if no job is due.
        Documents of more than ``below`` bytes are left out.

        The lease lasts ``lease`` seconds, and ``attempts`` of the job grows by one. Two claimers never get the same
        job while its lease lasts."""
        return self._claimed(worker, lease, lambda db, now: _due(db, now, below))

    def claim_text(self, worker: str, lease: float) -> Job | None:
        """Lease as :meth:`claim` does, but only a job whose document's text is owed, the smallest first."""
        return self._claimed(worker, lease, _text_due)

    def _claimed(self, worker: str, lease: float, find: Find) -> Job | None:
        if not find(self._connect(), time.time_ns()):
            return None
        return self._writer.run_removing(lambda db: self._claim(db, worker, lease, find), synced=False)

    def _claim(self, db: sqlite3.Connection, worker: str, lease: float, find: Find) -> Job | None:
        now = time.time_ns()
        due = find(db, now)
        if due is None:
            return None
        sql = (
            "UPDATE job SET state = 'working', worker = ?, attempts = attempts + 1, lease_until = ?, stage = '',"
            f" progress = 0 WHERE kind = ? AND doc_id = ? RETURNING {JOB}"
        )
        return job_from(db.execute(sql, (worker, now + nanoseconds(lease), *due)).fetchone())

    def renew(self, job: Job, lease: float, stage: str = "", progress: float = 0.0) -> None:
        """Extend the lease of a claimed job to ``lease`` seconds from now, and set its stage and progress. Raises
        LostLeaseError if the claim no longer holds: the job was claimed again, put back, freed or removed."""

        def work(db: sqlite3.Connection) -> None:
            sql = f"UPDATE job SET lease_until = ?, stage = ?, progress = ? WHERE {_HELD} AND state = 'working'"
            row = (time.time_ns() + nanoseconds(lease), stage, progress, *_held(job))
            if db.execute(sql, row).rowcount == 0:
                raise LostLeaseError(f"The job {job.kind} {job.doc_id} is not held by {job.worker} any more.")

        self._writer.run_removing(work, synced=False)

    def put_back(self, job: Job, reason: str, delay: float, *, counted: bool = True, stage: str = "") -> None:
        """Return a claimed job to the queue, to be tried again after ``delay`` seconds. ``attempts`` stays, or goes
        down by one where the attempt is not to be ``counted``. ``stage`` tells people what it waits for. Does nothing if
        the claim no longer holds."""

        def work(db: sqlite3.Connection) -> None:
            sql = (
                "UPDATE job SET state = 'queued', worker = '', reason = ?, not_before = ?, lease_until = 0, stage = ?,"
                f" progress = 0, attempts = attempts - ? WHERE {_HELD}"
            )
            db.execute(sql, (reason, time.time_ns() + nanoseconds(delay), stage, not counted, *_held(job)))

        self._writer.run_removing(work, synced=False)

    def postpone(self, job: Job, reason: str) -> None:
        """Return a claimed job to the queue, to be claimed when no other document is due. The attempt is not counted,
        and the text of its document is published with the rest. Does nothing if the claim no longer holds."""

        def work(db: sqlite3.Connection) -> None:
            sql = (
                "UPDATE job SET state = 'queued', worker = '', reason = ?, lease_until = 0, stage = '', progress = 0,"
                f" attempts = attempts - 1, text_owed = 0, size = ? WHERE {_HELD}"
            )
            db.execute(sql, (reason, LATE, *_held(job)))

        self._writer.run_removing(work, synced=False)

    def others_wait(self) -> bool:
        """Return whether a job is due that nobody holds and that was not postponed. Quick."""
        sql = f"SELECT EXISTS(SELECT 1 FROM job WHERE state = 'queued' AND size < {LATE} AND {_DUE})"
        return bool(self._connect().execute(sql, (time.time_ns(),)).fetchone()[0])

    def free(self, *, counted: bool = True) -> int:
        """Revoke every lease, whichever worker holds it, and return how many there were.

        Call this only while holding the home's worker lock, that is, when no other worker lives: the jobs of a killed
        worker are due again at once and in their order. ``attempts`` of each job stays, or goes down by one where the
        attempts are not to be ``counted``."""

        def work(db: sqlite3.Connection) -> int:
            sql = (
                "UPDATE job SET state = 'queued', worker = '', lease_until = 0, attempts = attempts - ?"
                " WHERE state = 'working'"
            )
            return db.execute(sql, (not counted,)).rowcount

        return self._writer.run_removing(work, synced=False)

    def drop(self, job: Job) -> None:
        """Remove a claimed job that turned out to be unnecessary (its document is no path's current version). Does
        nothing if the claim no longer holds."""

        def work(db: sqlite3.Connection) -> None:
            if db.execute(f"DELETE FROM job WHERE {_HELD}", _held(job)).rowcount:
                path_states.set_state(db, job.doc_id)

        self._writer.run_removing(work)

    def owe(self, kind: str, doc_id: str, not_before: int = 0) -> None:
        """Enqueue a job by hand, as a retry of a failed document does. A document has at most one job of each kind; a
        queued job that is there already gets the new ``not_before``. Raises MissingError if there is no such
        document, BadInputError if there is no such kind."""

        def work(db: sqlite3.Connection) -> None:
            sql = (
                "INSERT INTO job (kind, doc_id, ontology, deposit, not_before, size, text_owed)"
                " SELECT ?1, doc_id, ontology, deposit, ?3, size, ?1 = 'read' AND shown = 0 AND size <= ?4"
                " FROM document WHERE doc_id = ?2"
                " ON CONFLICT DO UPDATE SET not_before = ?3 WHERE state = 'queued'"
            )
            db.execute(sql, (kind, doc_id, not_before, TEXT_FIRST))
            if not db.execute("SELECT 1 FROM document WHERE doc_id = ?", (doc_id,)).fetchone():
                raise MissingError(f"There is no document {doc_id}.")
            path_states.set_state(db, doc_id)

        if kind not in KINDS:
            raise BadInputError(f"There is no work of kind {kind!r}; known are {', '.join(KINDS)}.")
        self._writer.run(work)

    def all(self) -> list[Job]:
        """Return all jobs in order of deposit. The cost is proportional to their number, so this is not for
        polling."""
        return self._jobs("job")

    def of(self, doc_id: str) -> list[Job]:
        """Return the jobs of one document in order of deposit. Quick."""
        kinds = ", ".join(f"'{kind}'" for kind in KINDS)
        return self._jobs(f"job WHERE kind IN ({kinds}) AND doc_id = ?", doc_id)

    def waiting(self, most: int) -> list[Job]:
        """Return at most so many queued jobs that wait for a server or a limit, in order of deposit."""
        return self._jobs(f"job WHERE stage = '{WAITING}' AND state = 'queued'")[:most]

    def working(self) -> list[Job]:
        """Return the jobs that a worker has claimed, in order of deposit. Quick."""
        return self._jobs("job INDEXED BY job_working WHERE state = 'working'")

    def _jobs(self, which: str, *values: str) -> list[Job]:
        rows = self._connect().execute(f"SELECT {JOB} FROM {which} ORDER BY deposit, kind, doc_id", values).fetchall()
        return [job_from(row) for row in rows]

    def to_read(self) -> tuple[int, int]:
        """Return the number of documents that are to be read, and their bytes. The cost is proportional to their number."""
        sql = "SELECT count(*), coalesce(sum(size), 0) FROM job WHERE kind = 'read'"
        count, size = self._connect().execute(sql).fetchone()
        return int(count), int(size)

    def owed(self) -> int:
        """Return the number of jobs of any state."""
        number: int = self._connect().execute("SELECT count(*) FROM job").fetchone()[0]
        return number


def _held(job: Job) -> tuple[str, str, str, int]:
    return job.kind, job.doc_id, job.worker, job.attempts


def nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)


def _text_due(db: sqlite3.Connection, now: int) -> tuple[str, str] | None:
    sql = (
        f"SELECT kind, doc_id FROM job WHERE kind = 'read' AND text_owed = 1 AND {_DUE} ORDER BY size, deposit LIMIT 1"
    )
    found: tuple[str, str] | None = db.execute(sql, (now,)).fetchone()
    return found


def _due(db: sqlite3.Connection, now: int, below: int) -> tuple[str, str] | None:
    """Return kind and document of the job that is next: what is to be forgotten, then documents, then those of each run
    that asked for documents to be read again, by its age. Documents of more than ``below`` bytes are left out."""
    forgotten = f"SELECT doc_id FROM job WHERE kind = 'forget' AND {_DUE} ORDER BY deposit, doc_id LIMIT 1"
    if found := db.execute(forgotten, (now,)).fetchone():
        return "forget", found[0]
    again = f"SELECT run FROM job WHERE kind = 'read' AND run != '' AND size <= ?2 AND {_DUE} ORDER BY deposit LIMIT 1"
    doc_id = _document_due(db, now, below, "") or (
        _document_due(db, now, below, found[0]) if (found := db.execute(again, (now, below)).fetchone()) else None
    )
    return ("read", doc_id) if doc_id else None


def _document_due(db: sqlite3.Connection, now: int, below: int, run: str) -> str | None:
    """Return the next document of a run ('' for those that no run asked for): the oldest, if OVERTAKEN later ones came
    before it, else the smallest."""
    those = "kind = 'read' AND run = ?3" if run else "kind = 'read' AND run = ''"
    values = (now, below, run)[: 3 if run else 2]
    mine = f"{those} AND size <= ?2 AND {_DUE}"
    first = f"SELECT doc_id, deposit FROM job WHERE {mine} AND size {{}} {LATE} ORDER BY deposit LIMIT 1"
    oldest = db.execute(first.format("<"), values).fetchone()
    if oldest is None:
        late = db.execute(first.format(">="), values).fetchone()
        return str(late[0]) if late else None
    sql = (
        "SELECT (SELECT count(*) FROM overtaker WHERE run = ?2 AND deposit > ?1)"
        " + (SELECT count(*) FROM job INDEXED BY job_working"
        " WHERE state = 'working' AND kind = 'read' AND run = ?2 AND text_owed = 0 AND deposit > ?1)"
    )
    if db.execute(sql, (oldest[1], run)).fetchone()[0] >= OVERTAKEN:
        return str(oldest[0])
    smallest = db.execute(f"SELECT doc_id FROM job WHERE {mine} ORDER BY size, deposit LIMIT 1", values).fetchone()
    return str(smallest[0])
