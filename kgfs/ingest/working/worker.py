"""The worker: claims jobs, publishes the texts of small documents first, reads documents in parallel and publishes them.

Small documents come before large ones, but a document waits for few that came after it (``jobs.claim``). A scan whose pages are recognised comes after all documents
that wait. Documents are
published in the order in which they were claimed; a LARGE one that is being read keeps none behind it waiting. The
ledger has the publications in the order in which they were decided.

While it works, it also settles files that dead mounts left behind and ships the ledger, so neither waits for a mount
to come back. A worker that is killed loses nothing: its leases expire, and the next worker finds its Readings and
Records.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress

from kgfs.domain.documents import State
from kgfs.errors import (
    AWAY,
    KgfsError,
    LostLeaseError,
    MissingError,
    NoSpaceError,
    PostponedError,
    UnreadableAnswersError,
    UnreadableTextError,
)
from kgfs.ingest import timing
from kgfs.ingest.reading.recognised import RECOGNITION
from kgfs.ingest.working.claims import HUGE, TEXTS, Claim, Claims
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.stores.catalog.rows import WAITING
from kgfs.stores.change_watch import ChangeWatch, lively_after
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.readings import Reading

FATAL = 12
"""Number of attempts after which a document that keeps killing its worker (by memory use, for example) is given up."""

log = logging.getLogger("kgfs.worker")


class Worker:
    """The worker of a home. Only one runs per home (see ``stores.worker_lock``).

    One thread calls ``run``; any thread may call ``stop``.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        errors: ErrorLog,
        chores: Callable[[], None],
        watch: ChangeWatch | None = None,
        questions_wait: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create a worker that calls ``chores`` between documents and while idle.

        ``chores`` settles and ships, and must be quick when nothing is due. With a ``watch`` of the home, nothing is polled often while nothing happens.
        While ``questions_wait`` no document is claimed or published, and none is read on, but for timing.QUESTIONS_FIRST.
        """
        self._pipeline = pipeline
        self._errors = errors
        self._chores = chores
        self._questions_wait = questions_wait
        self._stopping = threading.Event()
        self._watch = watch
        self._lively = lively_after(pipeline.config)
        self._lively_until = time.monotonic() + self._lively
        self._name = f"worker-{os.getpid()}"
        self._lease = pipeline.config.pipeline.lease
        self._engine = pipeline.engine
        self.finished = 0
        self._away: KgfsError | None = None
        """The last error of a server that this worker waits for; None while no server is waited for."""
        self._tried = 0
        """How often the server has been tried since it went away."""
        self._ordered: dict[str, float] = {}
        """Order id → when to carry the order out here (monotonic seconds): the process that recorded it has abandoned
        it by then, or a failed attempt is due again."""
        self._turn = 0
        self._widen_at = 0.0
        self._reported: set[str] = set()
        """Errors of the preparation that are logged already."""
        self._asked: list[Claim] = []
        """Claims whose documents a language model is being asked about. They stand in no order."""

    @property
    def trouble(self) -> str:
        """Return why work stands still: the error of the server that is waited for. Empty while work goes on."""
        return str(self._away or "")

    @property
    def notice(self) -> str:
        """Return why documents are not read where they are configured to be; empty while they are."""
        return self._engine.notice

    def stop(self) -> None:
        """Make ``run`` return, and give back the leases of the documents in work."""
        self._stopping.set()
        if self._watch is not None:
            self._watch.wake()

    def run(
        self,
        *,
        until_idle: bool = False,
        watch: Callable[[], None] = lambda: None,
        give_way: Callable[[], bool] = lambda: False,
        prepare: Callable[[], None] = lambda: None,
        begin: Callable[[], None] = lambda: None,
        beside: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Work until stopped, or with ``until_idle`` until no job is due; return whether ``give_way`` ended the work.

        With ``until_idle``, raise the error of a server that has been away for too many attempts; the jobs stay due.
        ``watch`` is called after each round, also after a failed one. ``give_way`` is asked before each round.
        ``prepare`` is called before anything is claimed, and is repeated while a server that it needs is away.
        ``begin`` is called when the preparation is over, even where it failed. ``beside`` does a part of other work,
        about a second of it, while no document waits, and returns whether there was any.
        """
        claims = Claims()
        self._pipeline.stores.catalog.jobs.free()
        prepared = False
        with ThreadPoolExecutor(self._engine.width + TEXTS, thread_name_prefix="read") as pool:
            try:
                while not self._stopping.is_set():
                    if give_way():
                        self.stop()
                        return True
                    self._chores()
                    if until_idle and self._away and self._tried >= self._pipeline.config.pipeline.max_attempts:
                        raise self._away
                    idle = False
                    self._give_way_to_questions()
                    try:
                        if not prepared and self._prepare(prepare):
                            prepared = True
                            begin()
                        idle = prepared and not self._poll(claims, pool) and not beside()
                    except AWAY as error:
                        self._waits_for(error)
                        self._stopping.wait(timing.JOB_RETRY)
                    except KgfsError as error:  # the catalog itself failed, by a full disk: claims wait here
                        self._errors.add("worker", error)
                        self._stopping.wait(timing.JOB_RETRY)
                    watch()
                    left = self._left_ordered() if idle else []
                    if left:
                        prepared = self._prepare(lambda: None)
                        # Set the time before the attempt, since an attempt that is refused may take long.
                        self._ordered |= dict.fromkeys(left, time.monotonic() + timing.ORDERS_RETRY)
                    elif idle:
                        if until_idle and not self._pipeline.stores.catalog.jobs.owed():
                            return False
                        self._rest()
            finally:
                if self._pipeline.asker is not None:
                    self._pipeline.asker.stop()
                for claim in (*claims, *self._asked):
                    self._give_back(claim)
        return False

    def _give_way_to_questions(self) -> None:
        """Wait while questions wait for their answers. Whoever asks waits, and nobody does for the next batch."""
        until = time.monotonic() + timing.QUESTIONS_FIRST
        while self._questions_wait() and time.monotonic() < until and not self._stopping.wait(timing.QUESTIONS_POLL):
            pass

    def _rest(self) -> None:
        """Pause while there is nothing to do: timing.WORKER_IDLE seconds while something happens in the home, else
        until something does, or for timing.WORKER_QUIET seconds."""
        watch, now = self._watch, time.monotonic()
        if watch is not None and watch.works:
            if watch.changed():
                self._lively_until = now + self._lively
            elif now >= self._lively_until:
                if watch.wait(timing.WORKER_QUIET):
                    self._lively_until = time.monotonic() + self._lively
                return
        self._stopping.wait(timing.WORKER_IDLE)

    def _left_ordered(self) -> list[str]:
        """Return the orders to forget that the recording process does not carry out.

        The process was killed, a server was away, or memory was short. An order that failed is returned again every
        timing.ORDERS_RETRY seconds.
        """
        now, names = time.monotonic(), self._pipeline.stores.catalog.names
        orders = [owed.order for owed in names.forgettings()] if names.forgettings_count() else []
        self._ordered = {order: self._ordered.get(order, now + timing.JOB_RETRY) for order in orders}
        return [order for order, at in self._ordered.items() if at <= now]

    def _prepare(self, prepare: Callable[[], None]) -> bool:
        """Run the steps that come before all documents; return whether they are complete.

        False means that a server is away, or that the worker is to stop. Other errors do not
        stop the worker; each is logged once, however often it occurs.
        """
        for step in (prepare, self._pipeline.recover, self._pipeline.finish_forgetting):
            try:
                step()
            except LostLeaseError:  # another process wants the worker lock, or the worker stops
                return False
            except AWAY as error:
                self._waits_for(error)
                self._stopping.wait(timing.JOB_RETRY)
                return False
            except KgfsError as error:
                if str(error) not in self._reported:
                    self._reported.add(str(error))
                    self._errors.add("recover", error)
        self._away = None
        return True

    def _waits_for(self, error: KgfsError, **about: str | int) -> None:
        """Keep the error of a server that is away, and log it once per absence."""
        if self._away is None:
            self._tried = 0
            self._errors.add("worker", error, **about)
        self._away = error
        self._tried += 1

    def _poll(self, claims: Claims, pool: ThreadPoolExecutor) -> bool:
        """Claim jobs while there is room, and finish a claim that is ready.

        Return whether there are claims.
        """
        for held in (*claims, *self._asked):  # first, since publishing may have taken longer than leases last
            with suppress(LostLeaseError):  # noticed when the claim is published
                self._keep_lease(held)
        while claims.has_room_for_text and (claim := self._claim(text=True)):
            claims.append(claim)
            self._begin(claim, pool)
        self._hear(claims)
        # No document is read while texts are to be shown, but for those whose failure is waited out.
        while (
            not claims.texts
            and self._may_ask
            and (room := claims.room(self._engine.held, has_express=self._engine.has_express))
            and (claim := self._claim(below=room))
        ):
            self._widen()
            if self._pipeline.asks(claim.job):
                self._ask(claim)
            else:
                self._line_up(claims, claim)
                self._begin(claim, pool)
        if not claims:
            if self._asked:
                wait([claim.asked for claim in self._asked if claim.asked], timing.WORKER_IDLE, FIRST_COMPLETED)
            return self._look_back() or bool(self._asked)
        self._go_on(claims, pool)
        return True

    @property
    def _may_ask(self) -> bool:
        """Return whether another document may be asked about, as far as a model is asked at all."""
        asker = self._pipeline.asker
        return asker is None or len(self._asked) < asker.width

    def _line_up(self, claims: Claims, claim: Claim) -> None:
        claims.append(claim)
        claims.sort(key=lambda claim: claim.order)

    def _ask(self, claim: Claim) -> None:
        """Begin to ask the language model about a document, in a thread. It is read when the answers are complete."""
        claim.asked = Future()
        self._asked.append(claim)
        threading.Thread(target=self._asking, args=(claim, claim.asked), name="ask", daemon=True).start()

    def _asking(self, claim: Claim, asked: Future[None]) -> None:
        def progress(stage: str, share: float) -> None:
            if self._stopping.is_set():
                raise LostLeaseError("The worker is stopping.")
            self._pipeline.stores.catalog.jobs.renew(claim.job, self._lease, stage, share)

        try:
            self._pipeline.ask(claim.document, claim.job, progress)
            asked.set_result(None)
        except BaseException as error:  # noqa: BLE001  the worker's thread judges it
            asked.set_exception(error)

    def _hear(self, claims: Claims) -> None:
        """Line up the documents whose answers are complete, and put back those that wait for the model.

        They are lined up in the order in which their answers were completed, whatever their order before.
        """
        for claim in [one for one in self._asked if one.asked is not None and one.asked.done()]:
            self._asked.remove(claim)
            error = claim.asked.exception() if claim.asked is not None else None
            jobs = self._pipeline.stores.catalog.jobs
            if isinstance(error, AWAY):
                self._waits_for(error, doc_id=claim.document.doc_id)
                jobs.put_back(claim.job, str(error), timing.MODEL_RETRY, counted=False, stage=WAITING)
            elif isinstance(error, LostLeaseError):
                jobs.put_back(claim.job, "another had it", 0.0, counted=False)
            elif error is None:
                self._turn += 1
                claim.turn = self._turn
                self._away = None
                self._line_up(claims, claim)
            else:
                claim.reading = Future()
                claim.reading.set_exception(error)
                self._line_up(claims, claim)

    def _look_back(self) -> bool:
        """Look through a batch of earlier documents while nothing else is to do; return whether there was one."""
        return self._pipeline.stores.graph.risen(1) is not None and self._pipeline.look_back()

    def _widen(self) -> None:
        """Tell the engine how much is to be read, WIDENED_EVERY seconds after it was told last."""
        if time.monotonic() >= self._widen_at:
            self._widen_at = time.monotonic() + timing.WIDENED_EVERY
            self._engine.widen(*self._pipeline.stores.catalog.jobs.to_read())

    def _go_on(self, claims: Claims, pool: ThreadPoolExecutor) -> None:
        """Finish the claim whose turn it is, if one is ready; else wait timing.WORKER_IDLE seconds at most until one is."""
        for claim in claims:
            if claim.resting_until and claim.is_ready and claim.reading and claim.reading.exception():
                claim.reading, claim.resting_until = self._read(pool, claim), 0.0
        first = next((claim for claim in claims if not claim.text), None)
        for claim in claims:  # begin the first in any case, since others wait for it
            if claim.text or claim is first or claims.in_work < self._engine.held:
                self._begin(claim, pool)
        ready = claims.next_ready()
        if ready is not None:
            if self._finish(ready):
                claims.remove(ready)
            return
        running = [claim.reading for claim in claims if claim.reading is not None and not claim.reading.done()]
        if running:
            wait(running, timing.WORKER_IDLE, FIRST_COMPLETED)
        else:
            self._stopping.wait(timing.WORKER_IDLE)

    def _begin(self, claim: Claim, pool: ThreadPoolExecutor) -> None:
        """Start to read the document of a claim."""
        if claim.job.kind == "read" and claim.reading is None and claim.is_rested:
            claim.reading = self._read(pool, claim)

    def _claim(self, *, text: bool = False, below: int = HUGE) -> Claim | None:
        """Claim the next job that is still valid; None if there is none. Invalid jobs are dropped."""
        jobs, names = self._pipeline.stores.catalog.jobs, self._pipeline.stores.catalog.names
        while job := (jobs.claim_text(self._name, self._lease) if text else jobs.claim(self._name, self._lease, below)):
            document = names.document(job.doc_id)
            wanted = names.held(job.doc_id) is (job.kind == "read")
            if document is None or not wanted:
                jobs.drop(job)
            elif job.kind == "forget" and names.arriving(document.ontology, document.sha256):
                # The file was moved over another one: its knowledge, forgotten now, would come back under new
                # numbers.
                jobs.put_back(job, "the same bytes wait to be settled", timing.WORKER_ARRIVING, counted=False)
            elif job.kind == "read" and job.attempts > FATAL:
                self._pipeline.fail(document, State.FAILED, f"reading it ended the worker {FATAL} times")
            else:
                self._turn += 1
                return Claim(job, document, time.monotonic(), self._turn, text)
        return None

    def _read(self, pool: ThreadPoolExecutor, claim: Claim) -> Future[Reading]:
        def progress(stage: str, share: float) -> None:
            self._give_way_to_questions()
            if self._stopping.is_set():
                raise LostLeaseError("The worker is stopping.")
            jobs = self._pipeline.stores.catalog.jobs
            if stage.endswith(RECOGNITION) and (claim.text or jobs.others_wait()):
                raise PostponedError(stage)
            jobs.renew(claim.job, self._lease, stage, share)

        if claim.text:
            return pool.submit(self._pipeline.read_text, claim.document, progress)
        return pool.submit(self._pipeline.read, claim.document, claim.job, progress)

    def _finish(self, claim: Claim) -> bool:
        """Publish or forget the document of a claim that is ready, and return whether the claim is finished."""
        try:
            if claim.job.kind == "forget":
                self._pipeline.forget(claim.document, f"forget-{claim.document.doc_id}-{claim.job.deposit}")
            else:
                assert claim.reading is not None
                reading = claim.reading.result()
                if claim.text:
                    self._pipeline.publish_text(claim.document, reading, lambda: self._assert_lease(claim))
                    # Its document is read when its turn comes.
                    self._pipeline.stores.catalog.jobs.put_back(claim.job, "", 0.0, counted=False)
                    self._away = None
                    return True
                self._pipeline.publish(claim.document, reading, lambda: self._assert_lease(claim), claim.job)
        except PostponedError as error:
            self._pipeline.stores.catalog.jobs.postpone(claim.job, str(error))
            return True
        except LostLeaseError:
            if self._stopping.is_set():
                return False
            log.info("%s: somebody else has it now", claim.document.doc_id)
            self._pipeline.stores.catalog.jobs.put_back(claim.job, "another had it", 0.0, counted=False)
            return True
        except UnreadableTextError as error:
            self._pipeline.fail(claim.document, State.UNSUPPORTED, str(error))
        except UnreadableAnswersError as error:
            self._pipeline.fail(claim.document, State.FAILED, str(error))
        except KgfsError as error:
            return self._failed(claim, error)
        except Exception as error:  # one poisoned document must not stop the queue; it is logged and counted
            log.exception("%s: unexpected failure", claim.document.doc_id)
            return self._failed(claim, error)
        self.finished += 1
        self._away = None
        return True

    def _keep_lease(self, claim: Claim) -> None:
        if time.monotonic() - claim.renewed > self._lease / 3:
            self._pipeline.stores.catalog.jobs.renew(claim.job, self._lease)
            claim.renewed = time.monotonic()

    def _assert_lease(self, claim: Claim) -> None:
        self._pipeline.stores.catalog.jobs.renew(claim.job, self._lease, "commit", 0.95)

    def _failed(self, claim: Claim, error: Exception) -> bool:
        """Log the failure of a claim; return whether the document is given up, after ``max_attempts`` failures.

        A full disk and a server that is away do not count, since they are not the document's fault: the claim is
        retried until there is room, and until the server answers.
        """
        if isinstance(error, AWAY):
            self._waits_for(error, doc_id=claim.document.doc_id)
        else:
            self._errors.add("worker", error, doc_id=claim.document.doc_id, attempt=claim.failures + 1)
        if not isinstance(error, (NoSpaceError, *AWAY)):
            claim.failures += 1
        if claim.job.kind == "read" and claim.failures >= self._pipeline.config.pipeline.max_attempts:
            self._pipeline.fail(claim.document, State.FAILED, f"{type(error).__name__}: {error}")
            return True
        claim.resting_until = time.monotonic() + timing.JOB_RETRY * max(claim.failures, 1)
        if isinstance(error, MissingError) and claim.reading is not None and not claim.reading.exception():
            claim.reading = None  # what it read is gone, as a part that another process gave up: it is read again
        return False

    def _give_back(self, claim: Claim) -> None:
        if claim.reading is not None:
            claim.reading.cancel()
        try:
            self._pipeline.stores.catalog.jobs.put_back(claim.job, "the worker stopped", 0.0, counted=False)
        except KgfsError as error:
            log.warning("%s: could not be given back, its lease will run out: %s", claim.document.doc_id, error)
