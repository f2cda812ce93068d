"""Ask the questions of ``ask/``, each once an epoch, and keep their answers while the graph is unchanged.

A question is worked out in a thread of its own, which goes on when nobody waits any more: whoever reads ``answer.md`` again then
finds the answer. Until it is there ``answer.md`` and ``answer.json`` say ``pending``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from kgfs.compute.deadline import Deadline
from kgfs.compute.timing import CANCEL_POLL
from kgfs.config import Config
from kgfs.errors import CrowdedError, GivenUpError, KgfsError, StoppingError
from kgfs.knowledge.ask.answer import Answer, State
from kgfs.knowledge.ask.asking import ask
from kgfs.knowledge.ask.saved import keep, kept
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.stores import Stores
from kgfs.tree.timing import ASK, ASK_MARGIN, ASK_PENDING, SEARCH_AGAIN
from kgfs.tree.view_cache import ViewCache

log = logging.getLogger(__name__)

CONCURRENCY = 16
"""The most questions that are worked out at the same time. A further one is refused with the advice to try again."""
MAX_ANSWERS = 64
"""The most answers that are kept in memory."""

Key = tuple[str, str]
"""The ontology ('' for all) and the question as it is saved: encoded names joined by ``/``."""


@dataclass(slots=True)
class _Job:
    graph: Hashable
    done: threading.Event = field(default_factory=threading.Event)
    answer: Answer | None = None
    error: KgfsError | None = None
    is_shown_pending: bool = False
    """Whether a reader was told to come again. A failure is shown to the next one then."""
    deadline: Deadline = field(default_factory=lambda: Deadline(ASK))
    at: float = 0.0
    """When it was done, in monotonic seconds."""


class Questions:
    """The questions of one mount. The event loop reports changes; any thread may ask."""

    def __init__(self, config: Config, stores: Stores, cache: ViewCache, record: Callable[[Key], None]) -> None:
        """Create the table. ``record`` records that a saved question has a new answer; any thread calls it."""
        self._config = config
        self._stores = stores
        self._cache = cache
        self._record = record
        self._graph_moves = 0
        self._jobs: OrderedDict[Key, _Job] = OrderedDict()
        self._running: dict[threading.Thread, _Job] = {}
        self._is_closed = False
        self._lock = threading.Lock()
        self.asked = 0
        """Number of questions that were worked out."""

    def graph_moved(self) -> None:
        """Drop all answers, because the kernel is being told of a new epoch."""
        self._graph_moves += 1
        with self._lock:
            self._jobs.clear()

    def _graph(self) -> Hashable:
        return self._graph_moves if self._cache.position is not None else ("asked", self._stores.graph.epoch())

    def is_saved(self, key: Key) -> bool:
        return any(saved.question == key[1] for saved in self._stores.catalog.names.saved_questions(key[0]))

    def cached(self, key: Key) -> Answer | None:
        """Return the answer that is known now: that of this epoch or, of a saved question, the last one; else None. *Quick*."""
        if self.is_saved(key) and (last := kept(self._config, self._stores, *key)) is not None:
            return last
        with self._lock:
            job = self._jobs.get(key)
        if job is None or not job.done.is_set() or job.graph != self._graph() or _is_old(job):
            return None
        return job.answer

    def answer(self, key: Key, question: str, patience: Deadline) -> Answer:
        """Return the answer, or one that is pending after ASK_PENDING, or shortly before the deadline. *Blocks*.

        Raise CrowdedError where CONCURRENCY other questions are being worked out, and the errors of
        :func:`kgfs.knowledge.ask.asking.ask`.
        """
        found = self.cached(key)
        if found is not None:
            return found
        job = self._started(key, question)
        shown = patience.within(min(ASK_PENDING, max(patience.left - ASK_MARGIN, 0.0)))
        while not job.done.wait(min(CANCEL_POLL, patience.left)):
            if not shown.left:
                job.is_shown_pending = True
                return Answer(question, key[0], State.PENDING)
            patience.check()
        if job.answer is not None:
            return job.answer
        assert job.error is not None
        with self._lock:
            if self._jobs.get(key) is job:
                del self._jobs[key]  # the next reader asks again
        raise job.error

    def ask_anew(self, key: Key, question: str) -> None:
        """Have a question worked out again, and return at once. Raise CrowdedError as :meth:`answer` does."""
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.done.is_set():
                del self._jobs[key]
        self._started(key, question)

    def _started(self, key: Key, question: str) -> _Job:
        graph = self._graph()
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.graph == graph and not (job.done.is_set() and _is_old(job)):
                self._jobs.move_to_end(key)
                return job
            if self._is_closed:
                raise StoppingError("The mount is being taken down.")
            if len(self._running) >= CONCURRENCY:
                raise CrowdedError(f"{CONCURRENCY} questions are being worked on. Ask again in a moment.")
            job = self._jobs[key] = _Job(graph)
            while len(self._jobs) > MAX_ANSWERS:
                oldest = next((other for other, found in self._jobs.items() if found.done.is_set()), None)
                if oldest is None:
                    break
                del self._jobs[oldest]
            self.asked += 1
            thread = threading.Thread(target=self._work, args=(key, question, job), name="ask", daemon=True)
            self._running[thread] = job
            thread.start()
        return job

    def close(self) -> None:
        """Give all questions up, refuse new ones, and wait for the threads, which use the stores. Idempotent."""
        with self._lock:
            self._is_closed = True
            running = dict(self._running)
        for job in running.values():
            job.deadline.give_up()
        for thread in running:
            thread.join()

    def _work(self, key: Key, question: str, job: _Job) -> None:
        try:
            job.answer = ask(self._stores, self._config.run, question, key[0], job.deadline, llm=self._config.llm)
        except KgfsError as error:
            job.error = error
        except Exception as error:  # a thread's exception would be lost, and its readers would wait for good
            log.exception("A question failed")
            job.error = KgfsError(f"{type(error).__name__}: {error}")
        finally:
            if job.error is not None and job.is_shown_pending and not isinstance(job.error, GivenUpError):
                ErrorLog(self._config.errors_log).add("ask", job.error)
                job.answer = Answer(question, key[0], State.FAILED, asked_at=time.time_ns(), reason=str(job.error))
            job.at = time.monotonic()
            job.done.set()
        self._keep(key, job)
        with self._lock:
            del self._running[threading.current_thread()]

    def was_saved(self, key: Key) -> None:
        """Keep the answer of a question that was saved while it was worked out. Call this once that is recorded."""
        with self._lock:
            job = self._jobs.get(key)
        if job is not None and job.done.is_set():
            self._keep(key, job)

    def _keep(self, key: Key, job: _Job) -> None:
        """Keep the answer of a saved question. Whichever comes last, that it is done or that it is saved, calls this."""
        if job.answer is None or job.error is not None:
            return
        try:
            if self.is_saved(key):
                keep(self._config, *key, job.answer)
                self._record(key)
        except KgfsError as error:
            ErrorLog(self._config.errors_log).add("ask", error)

    def text(self) -> str:
        """Return the metrics for ``.kgfs/metrics.prom``."""
        return (
            "# HELP kgfs_questions_total How many questions of ask/ were worked out.\n"
            "# TYPE kgfs_questions_total counter\n"
            f"kgfs_questions_total {self.asked}\n"
        )


def _is_old(job: _Job) -> bool:
    """Return whether an answer by words alone or without the language model, or a failure, is so old that a worker may be there by now."""
    is_weak = job.error is not None or job.answer is None or bool(job.answer.only_text or job.answer.trouble)
    return is_weak and time.monotonic() - job.at > SEARCH_AGAIN
