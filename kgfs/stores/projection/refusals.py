"""Map what the driver and the server raise to the errors of kgfs, each with what to do."""

from __future__ import annotations

import socket
import ssl
from typing import TypeVar

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from kgfs.errors import KgfsError, StoreError, TimedOutError, UnavailableError
from kgfs.stores.projection.endpoint import Endpoint

Cause = TypeVar("Cause", bound=BaseException)


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
