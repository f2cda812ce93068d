"""Speaking to the server: managed transactions, whole answers, and our errors in place of the driver's.

A Neo4j transaction reads what others commit meanwhile, so an answer of several steps could mix two epochs. Every question
here is therefore asked between two looks at the graph's epoch and asked again where it moved.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from socket import gaierror
from typing import Any, TypeVar

from neo4j import (
    READ_ACCESS,
    WRITE_ACCESS,
    Driver,
    GraphDatabase,
    ManagedTransaction,
    Query,
    TrustCustomCAs,
    unit_of_work,
)
from neo4j.exceptions import (
    AuthError,
    ClientError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    TransientError,
)

from kgfs.errors import AWAY, AwayError, GraphLostError, KgfsError, TimedOutError
from kgfs.stores.graph.neo4j.bookmarks import Kept
from kgfs.stores.graph.neo4j.entering import Entering
from kgfs.stores.graph.neo4j.locking import IS_WHOLE, WHOLE, is_whole, lock_whole
from kgfs.stores.graph.neo4j.patience import Patience
from kgfs.stores.graph.neo4j.place import WRITING, Place
from kgfs.stores.graph.neo4j.refusals import ENDED, below, ours, refused_by_us
from kgfs.stores.graph.neo4j.still import LOOK, Still, signed
from kgfs.stores.graph.neo4j.strangers import answers_as_another
from kgfs.stores.servers import asked

# What the driver complains of is raised, and told once; it would tell it at each attempt.
logging.getLogger("neo4j").setLevel(logging.CRITICAL)

log = logging.getLogger("kgfs.graph")

Answer = TypeVar("Answer")
Row = Mapping[str, Any]
Fence = Callable[[ManagedTransaction], AbstractContextManager[None]]
"""What is done in a transaction is done within it; it may raise one of our errors, and ask something before and after."""

COMMITTED_AGAIN = 3
"""How often a transaction is repeated whose acknowledgement was lost, which the driver leaves to us."""
GLANCE = 15.0
"""Seconds that whoever only looks in waits; a server that has just started takes some to answer its first question."""
ASKED_AGAIN = 8
"""How often a question is asked while commits come in between, before others are kept from committing."""

ROOT = "MATCH (g:Graph {name: $graph}) RETURN properties(g) AS root"
BOTH_LOOKS = f"""
MATCH (g:Graph {{name: $graph}})
WITH g.space AS space, [g.epoch, g.clears, coalesce(g.turn, 0)] AS before, {IS_WHOLE} AS whole
WITH before, whole, COLLECT {{ %s }} AS rows
MATCH (again:Graph {{name: $graph}})
RETURN rows, whole, before = [again.epoch, again.clears, coalesce(again.turn, 0)] AS steady"""
"""A question and both looks in one request. The question may use ``space`` and returns one column."""

LOOKING = 6 * 3600.0
"""Seconds that a transaction of :meth:`Speaking.once` may take that reads only: longer than any does whose process goes on."""
_AT_ONCE, _AS_USUAL = -1, 1000
"""How many rows the server sends before it waits to be asked for more. While it waits a question is not over; of one that holds
locks it is to be known whether its owner goes on asking."""
_MADE_BY_ANOTHER = (
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
)
_VANISHED = "Neo.ClientError.Statement.EntityNotFound"


class Speaking:
    """One driver, from any number of threads."""

    def __init__(self, place: Place) -> None:
        self.place = place
        options = place.options()
        if place.ca_file:
            options |= {"encrypted": True, "trusted_certificates": TrustCustomCAs(str(place.ca_file))}
        if place.uri.startswith("neo4j") and not place.encrypted:
            options["resolver"] = self._told
        with self._spoken():
            self._driver: Driver = GraphDatabase.driver(place.address(), auth=Entering(place), **options)
        self._bookmarks = Kept(place.bookmarks)
        self._fence: Fence = lambda tx: nullcontext()
        self._silence = place.timeout
        """Seconds after which others may end a transaction of ours in which we ask nothing."""
        self._still = Still(place.namespace)
        self._patience = Patience()
        self._is_known = False
        """Whether it ever answered."""

    def _told(self, address: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The driver asks before it connects where an address leads: there. A cluster's members are elsewhere, perhaps, though
        who told us of them is this machine, or a tunnel to another."""
        self.place.tell_of(str(address[0]), address[1])
        return [address]

    def fenced(self, fence: Fence, silence: float) -> Speaking:
        """The same driver; every transaction that writes does so within ``fence``, and may be ended by others once nothing was
        asked in it for ``silence`` seconds."""
        found = copy(self)
        found._fence, found._silence = fence, silence
        return found

    def write(self, work: Callable[[ManagedTransaction], Answer], seconds: float = 0.0) -> Answer:
        """In one transaction, which may take so long; ten times the place's time-out where nothing is said. ``work`` may be carried out several times, the last time in the transaction that is committed; where the
        acknowledgement is lost, once more after a commit. So it must find out itself whether it was done. While it is waited for,
        others' transactions that stand still are ended: it may be one of their locks that it waits for."""
        seconds = seconds or self.place.timeout * WRITING

        def behind_fence(tx: ManagedTransaction) -> Answer:
            with self._fence(tx):
                return work(tx)

        work_of_ours = self._of_ours(_steady(behind_fence), seconds)

        def written() -> Answer:
            with self._session(fetch_size=_AT_ONCE) as session:
                answer: Answer = session.execute_write(work_of_ours)
                return answer

        def written_for_certain() -> Answer:
            for _ in range(COMMITTED_AGAIN):
                try:
                    return written()
                except IncompleteCommit:
                    continue  # nobody knows whether it was done; the work finds out
                except ClientError as error:
                    if error.code != ENDED:
                        raise
                    # It was not done, for we stood still. Whether we may do it now the fence finds out.
            return written()

        return self._answered(seconds, written_for_certain, self._end_still)

    def _of_ours(self, work: Callable[[ManagedTransaction], Answer], seconds: float | None) -> Callable[..., Answer]:
        """To be carried out in a transaction that says whose it is."""
        return unit_of_work(signed(self.place.namespace, self._silence), seconds)(work)

    def _end_still(self) -> None:
        """Others' transactions that stand still. For who waits for the server: it may be for one of their locks."""

        def look() -> None:
            with self._session() as session:
                self._still.end(lambda statement, words: session.run(statement, words).single())

        try:
            with self._spoken():
                self._patience.within(LOOK, look)
        except KgfsError as error:  # what is waited for says itself what is wrong; this is done again
            log.info("%s: not known whether somebody stands still: %s", self.place.uri, error)

    def read(self, work: Callable[[ManagedTransaction], Answer], seconds: float = 0.0) -> Answer:
        """In one transaction, which may take so long; the place's time-out where nothing is said."""
        seconds = seconds or self.place.timeout

        def read() -> Answer:
            with self._session() as session:
                answer: Answer = session.execute_read(unit_of_work(timeout=seconds)(work))
                return answer

        return self._answered(seconds, read)

    def _answered(
        self, seconds: float, call: Callable[[], Answer], meanwhile: Callable[[], object] = lambda: None
    ) -> Answer:
        def answer() -> Answer:
            if not self._is_known:
                self._reach()
            return call()

        try:
            found = self._within(seconds, answer, meanwhile)
        except AWAY as error:
            if not self._is_known and below(error, ssl.SSLError) and not refused_by_us(error):
                raise AwayError(f"{self.place.uri}: what answers there speaks no TLS. Check graph.uri.") from error
            if self._may_be_another(error) and answers_as_another(self.place.uri):
                said = "what answers there is not Neo4j, or another of its ports. Check graph.uri."
                raise AwayError(f"{self.place.uri}: {said}") from error
            raise
        self._is_known = True
        return found

    def _may_be_another(self, error: KgfsError) -> bool:
        """Neither known, nor one that asks who is there, nor behind TLS, where a question in plain text tells nothing."""
        return not (self._is_known or self.place.encrypted or isinstance(error.__cause__, AuthError))

    def _within(self, seconds: float, call: Callable[[], Answer], meanwhile: Callable[[], object]) -> Answer:
        with self._spoken():
            try:
                # A little more: what the driver finds out by itself says more.
                return self._patience.within(1.2 * seconds + 5.0, call, meanwhile, LOOK)
            except TimeoutError as error:
                raise TimedOutError(
                    f"{self.place.uri}: Neo4j does not answer within {round(seconds, 1):g} s ([graph] timeout). Does it listen there?"
                ) from error

    def _reach(self) -> None:
        """What is refused now is refused again, a certificate here, TLS or a connection there, yet the driver would try until the
        time-out. Only of a server that has answered before it is certain that it is starting again; who can wait for one that
        may be starts with that (``opening.wait_for_server``)."""
        try:
            self._driver.verify_connectivity()
        except (DriverError, Neo4jError) as error:
            if not error.is_retryable() or below(error, ssl.SSLError) or below(error, ConnectionRefusedError):
                raise

    def one(self, statement: str, **words: Any) -> Row | None:
        """The one row of a question that changes nothing, in one request: a transaction of our own would be begun and ended
        in two more. What passes is tried again by the driver."""
        return self._one(READ_ACCESS, self.place.timeout, statement, words)

    def write_one(self, statement: str, seconds: float, **words: Any) -> Row | None:
        """The same of a statement that changes something and may be carried out several times, also where an error is raised;
        it may take so long. Behind no fence. While it is waited for, others' transactions that stand still are ended."""
        return self._one(WRITE_ACCESS, seconds, statement, words)

    def _one(self, access: str, seconds: float, statement: str, words: dict[str, Any]) -> Row | None:
        writes = access == WRITE_ACCESS
        query = Query(statement, signed(self.place.namespace, self._silence), seconds)
        managed = self._of_ours(lambda tx: tx.run(statement, words).single(), seconds)

        def answer() -> Row | None:
            try:
                with self._session(access) as session:
                    at_once: Row | None = session.run(query, words).single()
                    return at_once
            except (DriverError, Neo4jError) as error:
                if not error.is_retryable():
                    raise
            with self._session() as session:
                again = session.execute_write if writes else session.execute_read
                found: Row | None = again(managed)
                return found

        return self._answered(seconds, answer, self._end_still) if writes else self._answered(seconds, answer)

    def once(self, work: Callable[[ManagedTransaction], Answer], *, writes: bool = False) -> Answer:
        """``work`` in one transaction and in this thread, never tried again: fails at once where the server is away. What reads
        only may take as long as the way to the server makes it; a server that falls silent meanwhile is noticed after a
        time-out of its own choosing, so who waits asks with :meth:`glance` first."""
        access = WRITE_ACCESS if writes else READ_ACCESS
        seconds, metadata = LOOKING, None
        if writes:
            seconds, metadata = self.place.timeout * WRITING, signed(self.place.namespace, self._silence)
        with self._spoken(), self._session(access, _AT_ONCE if writes else _AS_USUAL) as session:
            with session.begin_transaction(metadata, seconds) as tx:
                answer = work(tx)
                tx.commit()
            return answer

    def glance(self, statement: str, **words: Any) -> Row | None:
        """As :meth:`one`, but never tried again, of what takes no time: TimedOutError where nothing is heard for some
        seconds."""
        seconds = min(self.place.timeout, GLANCE)

        def answer() -> Row | None:
            with self._session(READ_ACCESS) as session:
                found: Row | None = session.run(statement, words).single()
                return found

        with self._spoken():
            try:
                return self._patience.within(seconds, answer)
            except TimeoutError as error:
                raise TimedOutError(f"{self.place.uri}: Neo4j does not answer within {seconds:g} s.") from error

    def ask(self, graph: str, question: str, **words: Any) -> list[Any]:
        """The rows of one question, all of one epoch."""
        asked, given = BOTH_LOOKS % question, {**words, "graph": graph}

        def attempt(seconds: float) -> tuple[list[Any], bool, bool]:
            found = self._one(READ_ACCESS, seconds, asked, given)
            if found is None:
                raise self.gone(graph)
            return list(found["rows"]), found["whole"], found["steady"]

        return self._of_one_epoch(graph, attempt, lambda tx, _: list(tx.run(asked, given).single(strict=True)["rows"]))

    def steadily(self, graph: str, work: Callable[[ManagedTransaction, str], Answer]) -> Answer:
        """The answer of several questions, all of one epoch; ``work`` is given the graph's space."""

        def once(tx: ManagedTransaction) -> tuple[Answer, bool, bool]:
            before = self.root(tx, graph)
            answer = work(tx, before["space"])
            return answer, is_whole(before), before == self.root(tx, graph)

        return self._of_one_epoch(graph, lambda seconds: self.read(once, seconds), work)

    def _of_one_epoch(
        self,
        graph: str,
        attempt: Callable[[float], tuple[Answer, bool, bool]],
        work: Callable[[ManagedTransaction, str], Answer],
    ) -> Answer:
        """The answer of an attempt, which may take so many seconds, at a graph that was whole and stayed as it was. Where none is
        in so many attempts, or in half of the place's time-out, that of ``work`` while nobody commits. All of it takes no longer than
        the time-out."""
        until = time.monotonic() + self.place.timeout

        def left() -> float:
            seconds = until - time.monotonic()
            if seconds <= 0:
                raise TimedOutError(
                    f"{self.place.uri}: the graph changes faster than it can be read in {self.place.timeout:g} s"
                    " ([graph] timeout)."
                )
            return seconds

        def alone(tx: ManagedTransaction) -> Answer:
            root = lock_whole(tx, graph)
            if root is None:
                raise self.gone(graph)
            return work(tx, root["space"])

        for _ in range(ASKED_AGAIN):
            if (seconds := left()) < self.place.timeout / 2:
                break
            answer, whole, steady = attempt(seconds)
            if whole and steady:
                return answer
            if not whole:
                self.note_whole(graph, left())
        return self.write(alone, left())

    def note_whole(self, graph: str, seconds: float = 0.0) -> Row | None:
        """That what was committed is there, once it is; the graph's root then. Waits for a commit that is under way, as long as the
        place's time-out where nothing is said."""
        return self.write_one(WHOLE, seconds or self.place.timeout, graph=graph)

    def root(self, tx: ManagedTransaction, graph: str) -> dict[str, Any]:
        found = tx.run(ROOT, graph=graph).single()
        if found is None:
            raise self.gone(graph)
        return dict(found["root"])

    def gone(self, graph: str) -> GraphLostError:
        return GraphLostError(f"{self.place.uri}: the graph '{graph}' is gone. 'kgfs rebuild' makes it again.")

    def change_schema(self, statement: str) -> None:
        """Tried again where another machine changes it at the same moment; done where that one was quicker, which the server
        may notice after it has looked whether there is one."""
        with self._spoken(), self._session() as session:
            try:
                session.execute_write(self._of_ours(lambda tx: tx.run(statement).consume(), None))
            except ClientError as error:
                if error.code not in _MADE_BY_ANOTHER:
                    raise

    def close(self) -> None:
        self._driver.close()

    @contextmanager
    def _session(self, access: str = WRITE_ACCESS, fetch_size: int = _AS_USUAL) -> Iterator[Any]:
        """``access`` counts only where a transaction does not say itself what it does."""
        asked["graph"] += 1
        try:
            with self._driver.session(
                database=self.place.database,
                bookmark_manager=self._bookmarks.manager,
                default_access_mode=access,
                fetch_size=fetch_size,
            ) as session:
                yield session
        except Neo4jError as error:
            if "Bookmark" in (error.code or ""):
                self._bookmarks.forget()
            raise

    @contextmanager
    def _spoken(self) -> Iterator[None]:
        """What the driver raises as our errors, without anything of the request but the server's address."""
        try:
            yield
        except (DriverError, Neo4jError, OSError) as error:
            raise ours(self.place, error) from error
        except ValueError as error:
            if below(error, gaierror) is None:
                raise
            raise ours(self.place, error) from error  # as the driver has it where a name server refuses, or is none


def _steady(work: Callable[[ManagedTransaction], Answer]) -> Callable[[ManagedTransaction], Answer]:
    """Work that met a node which somebody removed meanwhile is repeated, as after any other conflict."""

    def carried_out(tx: ManagedTransaction) -> Answer:
        try:
            return work(tx)
        except ClientError as error:
            if error.code == _VANISHED:
                raise TransientError(f"{error.message}") from error
            raise

    return carried_out
