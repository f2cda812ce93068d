"""One driver to the server: reads, and writes that only the home that owns the projection can carry out.

What the driver and the server raise becomes an error of kgfs that says what to do.
"""

from __future__ import annotations

import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from socket import gaierror
from typing import Any, TypeVar

from neo4j import Auth, GraphDatabase, ManagedTransaction, Session, TrustCustomCAs, basic_auth, unit_of_work
from neo4j.auth_management import AuthManager
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from kgfs.errors import KgfsError, LostLeaseError, StoreError, TimedOutError, UnavailableError
from kgfs.stores import timing
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.servers import asked

Cause = TypeVar("Cause", bound=BaseException)

# Its warnings repeat what it raises, at each attempt.
logging.getLogger("neo4j").setLevel(logging.CRITICAL)

Answer = TypeVar("Answer")
Row = dict[str, Any]
Statement = tuple[str, dict[str, Any]]

WRITING = 10
"""A transaction that writes may take so many times the endpoint's time-out."""
_OWNER = "MATCH (g:Graph {name: $graph}) RETURN g.home AS home"


class PasswordFile(AuthManager):
    """Read the password for each connection. While the file cannot be read, or is being written, the last one is used. A refused
    password is not sent again for a while: the server locks out a user after three wrong ones."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._password = endpoint.password
        self._refused: tuple[object, float] = (None, 0.0)

    def get_auth(self) -> Auth:
        """Return the credentials. Raise AuthError for those that were just refused."""
        if self._endpoint.password_file is not None:
            try:
                self._password = self._endpoint.password_file.read_text("utf-8").strip() or self._password
            except (OSError, UnicodeDecodeError):
                pass
        auth = basic_auth(self._endpoint.user, self._password)
        if auth == self._refused[0] and time.monotonic() < self._refused[1]:
            raise AuthError("refused a moment ago")
        return auth

    def handle_security_exception(self, auth: object, error: Neo4jError) -> bool:
        if isinstance(error, AuthError):
            self._refused = (auth, time.monotonic() + timing.PASSWORD_REFUSED)
        return False


class Connection:
    """Any number of threads may use it. Nothing is asked before the first call. Every call may raise UnavailableError, TimedOutError
    or StoreError (:func:`~.refusals.translated`). The driver limits each wait, repeats what is worth it, and notices a server that
    has gone silent."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        options: dict[str, Any] = {
            "connection_timeout": min(endpoint.timeout, 10.0),
            "connection_acquisition_timeout": endpoint.timeout,
            "max_transaction_retry_time": min(timing.PROJECTION_RETRIED, endpoint.timeout),
            "liveness_check_timeout": 30.0,
            "keep_alive": True,
            "user_agent": "kgfs",
            "telemetry_disabled": True,
            "notifications_min_severity": "OFF",
        }
        uri = endpoint.uri
        if endpoint.ca_file:  # the driver excludes the short schemes of TLS beside it
            uri = uri.replace("+s", "", 1)
            options |= {"encrypted": True, "trusted_certificates": TrustCustomCAs(str(endpoint.ca_file))}
        if uri.startswith("neo4j://"):
            options["resolver"] = self._resolved
        self._was_reached = False
        with self._translated():
            self._driver = GraphDatabase.driver(uri, auth=PasswordFile(endpoint), **options)

    def _resolved(self, address: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Warn of a member of a cluster before the driver connects to it."""
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        self.endpoint.warn_of(f"neo4j://{host}:{address[1]}")
        return [address]

    def read(self, statement: str, **words: Any) -> list[Row]:
        return self._call(
            self.endpoint.timeout,
            lambda session, wrap: session.execute_read(
                wrap(lambda tx: [dict(row) for row in tx.run(statement, words)])
            ),
        )

    def write(self, statements: Sequence[Statement], owner: str = "") -> list[Row]:
        """Carry out statements in one transaction and return the rows of the last. Raise LostLeaseError, with nothing done, where
        another home than ``owner`` owns the projection of the endpoint's namespace. It may be done although an error is
        raised."""

        def work(tx: ManagedTransaction) -> list[Row]:
            if owner:
                found = tx.run(_OWNER, graph=self.endpoint.namespace).single()
                if found is None or found["home"] != owner:
                    raise LostLeaseError(f"{self.endpoint.uri}: another home writes the projection now.")
            rows: list[Row] = []
            for statement, words in statements:
                # The server plans anew for each order of magnitude of a list that it is given, but does not look into maps.
                rows = [dict(row) for row in tx.run(statement.replace("$", "$given."), given=words)]
            return rows

        return self._call(self.endpoint.timeout * WRITING, lambda session, wrap: session.execute_write(wrap(work)))

    def change_schema(self, statement: str) -> None:
        """Carry out a statement that changes the schema. Several homes may do this at once."""
        try:
            self.write([(statement, {})])
        except KgfsError as error:
            made = isinstance(error.__cause__, ClientError) and "AlreadyExists" in str(error.__cause__.code)
            if not made:  # by another home
                raise

    def close(self) -> None:
        self._driver.close()

    def _call(self, seconds: float, work: Callable[[Session, Callable[[Any], Any]], Answer]) -> Answer:
        with self._translated():
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


def probe(endpoint: Endpoint) -> KgfsError | None:
    """Return what is wrong with a server; None where it answers within the endpoint's time-out."""
    try:
        with closing(Connection(endpoint)) as connection:
            connection.read("RETURN 1 AS one")
    except KgfsError as error:
        return error
    return None


def translated(endpoint: Endpoint, error: Exception) -> KgfsError:
    """Return the error of kgfs for one of the driver. It says nothing of the request but the server's address."""
    uri = endpoint.uri
    code = (error.code or "") if isinstance(error, Neo4jError) else ""
    if code.endswith("AuthenticationRateLimit"):
        return UnavailableError(
            f"{uri}: Neo4j does not let '{endpoint.user}' in for some seconds: it was told wrong passwords, from here or"
            " elsewhere. If it goes on, look at [graph] user and password_file of each machine."
        )
    if isinstance(error, AuthError) or code.endswith("CredentialsExpired"):
        return UnavailableError(
            f"{uri}: Neo4j does not let '{endpoint.user}' in. Set [graph] user and password_file, or KGFS_GRAPH_USER"
            " and KGFS_GRAPH_PASSWORD_FILE."
        )
    if (
        "failed to obtain a connection from the pool" in str(error)
        or ".TransactionTimedOut" in code
        or code.endswith("LockClientStopped")  # its time was up while it waited for a lock
    ):
        return TimedOutError(f"{uri}: Neo4j does not answer within {endpoint.timeout:g} s ([graph] timeout).")
    if isinstance(error, TransientError) or code == "Neo.ClientError.Transaction.Terminated":
        return TimedOutError(f"{uri}: Neo4j is too busy ({code}). Trying again can succeed.")
    if code.endswith("DatabaseNotFound"):
        return StoreError(f"{uri}: there is no database '{endpoint.database}'. Set [graph] database.")
    if isinstance(error, Neo4jError):
        return StoreError(f"{uri}: Neo4j refuses: {code}: {error.message}")
    if isinstance(error, ConfigurationError):
        return StoreError(f"{uri}: the connection cannot be set up: {error}")
    if certificate := cause_of(error, ssl.SSLCertVerificationError):
        return UnavailableError(  # one that was trusted may have expired: then the next may be good
            f"{uri}: the certificate is not trusted: {certificate.verify_message}. Set graph.ca_file to that of its"
            " authority, or graph.uri to a name that it is for."
        )
    if cause_of(error, ssl.SSLError):
        return UnavailableError(f"{uri}: what answers there speaks no TLS. Check graph.uri.")
    if "looks like HTTP" in f"{error} {_innermost(error)}":
        return UnavailableError(f"{uri}: what answers there is not Neo4j, or another of its ports. Check graph.uri.")
    if isinstance(error, (ServiceUnavailable, SessionExpired, OSError)) or cause_of(error, socket.gaierror):
        return UnavailableError(
            f"{uri}: Neo4j cannot be reached ({_innermost(error)}). Does it listen there? Check graph.uri."
        )
    return StoreError(f"{uri}: {type(error).__name__}: {_innermost(error)}")


def cause_of(error: BaseException | None, kind: type[Cause]) -> Cause | None:
    """Return the first of that kind among an error and its causes; of a cluster the driver tells of all members at once."""
    if error is None or isinstance(error, kind):
        return error
    causes = error.exceptions if isinstance(error, BaseExceptionGroup) else (error.__cause__ or error.__context__,)
    return next((found for one in causes if (found := cause_of(one, kind))), None)


def _innermost(error: BaseException) -> str:
    """Return the message of the innermost cause: a refused connection, an unknown host."""
    while cause := error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__:
        error = cause
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
