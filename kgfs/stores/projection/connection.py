"""One driver to the server: reads, and writes that are carried out only for the home that owns the projection."""

from __future__ import annotations

import logging
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from socket import gaierror
from typing import Any, TypeVar

from neo4j import (
    Driver,
    GraphDatabase,
    ManagedTransaction,
    Session,
    TrustCustomCAs,
    unit_of_work,
)
from neo4j.exceptions import ClientError, DriverError, Neo4jError

from kgfs.errors import KgfsError, LostLeaseError, TimedOutError
from kgfs.stores import timing
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.password import PasswordFile
from kgfs.stores.projection.refusals import cause_of, translated
from kgfs.stores.servers import asked

# Its warnings repeat what it raises, at each attempt.
logging.getLogger("neo4j").setLevel(logging.CRITICAL)

Answer = TypeVar("Answer")
Row = dict[str, Any]
Statement = tuple[str, dict[str, Any]]

WRITING = 10
"""A transaction that writes may take so many times the endpoint's time-out."""
_WORD = re.compile(r"\$(\w+)")
_OWNER = "MATCH (g:Graph {name: $graph}) RETURN g.home AS home"
_MADE_BY_ANOTHER = (
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
)


class Connection:
    """Any number of threads. Nothing is asked before the first call. Every call may raise UnavailableError, TimedOutError or StoreError
    (:func:`~.refusals.translated`)."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        options = endpoint.driver_options() | {
            "max_transaction_retry_time": min(timing.PROJECTION_RETRIED, endpoint.timeout)
        }
        if endpoint.ca_file:
            options |= {"encrypted": True, "trusted_certificates": TrustCustomCAs(str(endpoint.ca_file))}
        if endpoint.uri.startswith("neo4j") and not endpoint.encrypted:
            options["resolver"] = self._resolved
        with self._translated():
            self._driver: Driver = GraphDatabase.driver(endpoint.address(), auth=PasswordFile(endpoint), **options)
        self._deadline: float | None = None
        self._was_reached = False

    def _resolved(self, address: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Warn of the address of a member of a cluster before the driver connects to it."""
        self.endpoint.warn_of(str(address[0]), address[1])
        return [address]

    @property
    def is_overdue(self) -> bool:
        """Return whether the call under way should have ended by now: the server was cut off without a word."""
        deadline = self._deadline
        return deadline is not None and time.monotonic() > deadline

    def read(self, statement: str, **words: Any) -> list[Row]:
        return self._call(
            self.endpoint.timeout,
            lambda session, wrap: session.execute_read(
                wrap(lambda tx: [dict(row) for row in tx.run(statement, words)])
            ),
        )

    def read_one(self, statement: str, **words: Any) -> Row | None:
        return next(iter(self.read(statement, **words)), None)

    def write(self, statements: Sequence[Statement], owner: str = "") -> list[Row]:
        """Carry out statements in one transaction and return the rows of the last. LostLeaseError, with nothing done, where
        another home than ``owner`` owns the projection of the endpoint's namespace. It may be done although an error is
        raised."""

        def work(tx: ManagedTransaction) -> list[Row]:
            if owner:
                found = tx.run(_OWNER, graph=self.endpoint.namespace).single()
                if found is None or found["home"] != owner:
                    raise LostLeaseError(f"{self.endpoint.uri}: another home writes the projection now.")
            rows: list[Row] = []
            for statement, words in statements:
                rows = [dict(row) for row in tx.run(*planned_once(statement, words))]
            return rows

        return self._call(self.endpoint.timeout * WRITING, lambda session, wrap: session.execute_write(wrap(work)))

    def change_schema(self, statement: str) -> None:
        """Carry out a statement that changes the schema. Several homes may do this at once."""

        def change(session: Session, wrap: Callable[[Any], Any]) -> None:
            try:
                session.run(statement).consume()
            except ClientError as error:
                if error.code not in _MADE_BY_ANOTHER:
                    raise

        self._call(self.endpoint.timeout * WRITING, change)

    def close(self) -> None:
        self._driver.close()

    def _call(self, seconds: float, work: Callable[[Session, Callable[[Any], Any]], Answer]) -> Answer:
        with self._translated():
            # A little more than the server is given: what it says itself tells more.
            self._deadline = time.monotonic() + 1.2 * seconds + 2 * timing.PROJECTION_RETRIED
            try:
                if not self._was_reached:  # else the driver would repeat what is refused now and always
                    self._reach()
                    self._was_reached = True
                asked["graph"] += 1
                with self._driver.session(
                    database=self.endpoint.database,
                    # Members of a cluster are asked for what this driver wrote.
                    bookmark_manager=self._driver.execute_query_bookmark_manager,
                ) as session:
                    return work(session, unit_of_work({"kgfs": self.endpoint.namespace}, seconds))
            finally:
                self._deadline = None

    def _reach(self) -> None:
        """Connect for the first time. A server that is starting, and answers, is asked again by the call that follows."""
        try:
            self._driver.verify_connectivity()
        except (DriverError, Neo4jError) as error:
            if not error.is_retryable() or cause_of(error, ssl.SSLError) or cause_of(error, OSError):
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DriverError, Neo4jError, OSError) as error:
            raise translated(self.endpoint, error) from error
        except ValueError as error:
            if cause_of(error, gaierror) is None:
                raise
            raise translated(self.endpoint, error) from error  # the driver's form of a host that has no address


def planned_once(statement: str, words: dict[str, Any]) -> Statement:
    """Return the statement with all its words in one map. The server keeps one plan for each order of magnitude of the lists and
    strings that a statement is given, but does not look into maps; planning takes longer than most of these statements."""
    assert words.keys() >= {*_WORD.findall(statement)}, (
        statement
    )  # what a map lacks would be null, and nothing found by it
    return statement.replace("$", "$given."), {"given": words}


def probe(endpoint: Endpoint) -> KgfsError | None:
    """Return what is wrong with a server; None where it answers within the endpoint's time-out."""
    found: list[KgfsError | None] = []

    def ask() -> None:
        try:
            connection = Connection(endpoint)
            try:
                connection.read("RETURN 1 AS one")
            finally:
                connection.close()
        except KgfsError as error:
            found.append(error)
        else:
            found.append(None)

    # The driver waits without end for a server that was cut off without a word.
    thread = threading.Thread(target=ask, name="kgfs-probe", daemon=True)
    thread.start()
    thread.join(endpoint.timeout + 2 * timing.PROJECTION_RETRIED)
    if not found:
        return TimedOutError(f"{endpoint.uri}: Neo4j does not answer within {endpoint.timeout:g} s ([graph] timeout).")
    return found[0]
