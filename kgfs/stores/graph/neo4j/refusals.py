"""What the driver and the server complain of as our errors, each with what to do."""

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

from kgfs.errors import AwayError, KgfsError, StoreError, TimedOutError
from kgfs.stores.graph.neo4j.place import Place

Met = TypeVar("Met", bound=BaseException)

ENDED = "Neo.ClientError.Transaction.Terminated"
"""What a transaction hears that somebody ended: most often because we stood still, see ``still``."""
_TIMED_OUT = (
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.LockClientStopped",
)
"""The second is what a transaction hears that waited for a lock when its time was up."""
_SHUT_OUT = "Neo.ClientError.Security.AuthenticationRateLimit"
"""After three wrong passwords, for some seconds, the right one too."""
_TO_BE_CHANGED = "Neo.ClientError.Security.CredentialsExpired"
"""A right one that is to be changed first."""
_OUT_OF_MEMORY = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"
"""What a transaction hears that wants more memory than one may have, or than all others leave."""
_NO_CONNECTION = "failed to obtain a connection from the pool"
"""What the driver says, in whatever kind of error its version has for that, when its time is up before it has one that answers: it
asks one that was idle for long whether it is still good, which one that was dropped without a word never says."""


def ours(place: Place, error: Exception) -> KgfsError:
    code = error.code if isinstance(error, Neo4jError) else None
    if code == _SHUT_OUT:
        return AwayError(
            f"{place.uri}: Neo4j does not let '{place.user}' in for some seconds: it was told wrong passwords, from here or"
            " elsewhere. If it goes on, look at [graph] user and password_file of each machine."
        )
    if isinstance(error, AuthError) or code == _TO_BE_CHANGED:
        return AwayError(
            f"{place.uri}: Neo4j does not let '{place.user}' in. Set [graph] user and password_file, or KGFS_GRAPH_USER"
            " and KGFS_GRAPH_PASSWORD_FILE."
        )
    if _NO_CONNECTION in str(error):
        return TimedOutError(f"{place.uri}: Neo4j does not answer within {place.timeout:g} s ([graph] timeout).")
    if isinstance(error, Neo4jError):
        if (error.code or "").startswith(_TIMED_OUT):
            return TimedOutError(f"{place.uri}: Neo4j does not answer within {place.timeout:g} s ([graph] timeout).")
        if error.code == ENDED:
            return TimedOutError(f"{place.uri}: the transaction was ended from elsewhere. Trying again can succeed.")
        if isinstance(error, TransientError):
            return TimedOutError(f"{place.uri}: Neo4j is too busy ({error.code}). Trying again can succeed.")
        if (error.code or "").endswith("DatabaseNotFound"):
            return StoreError(f"{place.uri}: there is no database '{place.database}'. Set [graph] database.")
        return StoreError(f"{place.uri}: Neo4j refuses: {error.code}: {error.message}")
    if isinstance(error, ConfigurationError):
        return StoreError(f"{place.uri}: the connection cannot be set up: {error}")
    if certificate := refused_by_us(error):
        return AwayError(  # one that was trusted may have expired: then it is waited for until there is another
            f"{place.uri}: the certificate is not trusted: {certificate.verify_message}. Set graph.ca_file to that of its"
            " authority, or graph.uri to a name that it is for."
        )
    if isinstance(error, (ServiceUnavailable, SessionExpired, OSError)) or below(error, socket.gaierror):
        return AwayError(f"{place.uri}: Neo4j cannot be reached ({_plain(error)}). Does it listen there?")
    return StoreError(f"{place.uri}: {type(error).__name__}: {_plain(error)}")


def is_out_of_memory(error: KgfsError) -> bool:
    """Of one of :func:`ours`."""
    return getattr(error.__cause__, "code", "") == _OUT_OF_MEMORY


def refused_by_us(error: BaseException) -> ssl.SSLCertVerificationError | None:
    return below(error, ssl.SSLCertVerificationError)


def below(error: BaseException | None, kind: type[Met]) -> Met | None:
    """The driver tells of what went wrong below it by causes alone; of a cluster, of all members at once."""
    if error is None or isinstance(error, kind):
        return error
    causes = error.exceptions if isinstance(error, BaseExceptionGroup) else (error.__cause__ or error.__context__,)
    return next((met for one in causes if (met := below(one, kind))), None)


def _plain(error: BaseException) -> str:
    """What lies deepest, which the driver only says that it follows from: a refused connection, a name that nobody knows."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
