"""Translate the client's errors to those of kgfs. Messages have the address and the remedy, and nothing of keys or
signatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree.ElementTree import ParseError

from minio.error import MinioException, S3Error, ServerError
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    MaxRetryError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)

from kgfs.errors import KgfsError, MissingError, NoSpaceError, StoreError, TimedOutError, UnavailableError
from kgfs.stores.garage.s3.errors import (
    ChangedError,
    NoBucketError,
    NoKeysError,
    NotAllowedError,
    ShortError,
    TakenError,
)

_KEYS = frozenset(
    (
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "InvalidTokenId",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
    )
)
_ELSEWHERE = frozenset(
    (
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "InvalidRegion",
        "PermanentRedirect",
        "RetryHead",
    )
)
"""The error codes for a wrong region. The last is the client's own."""
_FULL = frozenset(("XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "InsufficientCapacity"))
_TAKEN = frozenset(("PreconditionFailed", "ConditionalRequestConflict", "OperationAborted", "BucketAlreadyOwnedByYou"))
_NOT_READY = frozenset(
    (
        "InternalError",
        "ServiceUnavailable",
        "SlowDown",
        "SlowDownRead",
        "SlowDownWrite",
        "RequestTimeout",
        "XMinioServerNotInitialized",
    )
)
"""The error codes of a server that is starting, has lost a part of itself, or is overloaded."""
_LATER = frozenset((408, 425, 429, 500, 502, 503, 504))
"""The HTTP status codes that mean the same, whatever the error code is: each server has its own code for overload."""
_ABSENT = frozenset(("NoSuchKey", "NoSuchUpload", "NotFound"))


@contextmanager
def spoken(where: str, what: str) -> Iterator[None]:
    """Translate the errors inside the block. ``where`` is the bucket for messages, ``what`` the object or listing
    that was asked for."""
    try:
        yield
    except (MinioException, HTTPError, ValueError, ParseError) as error:
        raise _ours(where, what, error) from error


def _ours(where: str, what: str, error: Exception) -> KgfsError:
    match error:
        case S3Error():
            return _refused(where, what, error.code or "", error.response.status)
        case ServerError():
            return UnavailableError(f"{where}: the server answers {error.status_code} to {what}. Try again later.")
        case NoKeysError():
            return UnavailableError(
                f"{where}: there are no keys to ask with: {error}. Set garage.access_key_file and garage.secret_key_file, "
                "or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
            )
        case MaxRetryError():
            return _ours(where, what, error.reason) if error.reason else StoreError(f"{where}: does not answer.")
        case SSLError() if "certificate" in str(error).lower():
            # A certificate that was trusted may have expired: UnavailableError makes callers wait until there is another.
            return UnavailableError(
                f"{where}: the certificate is not trusted, or has expired. Set garage.ca_file to its authority's, or have the"
                " server show another."
            )
        case SSLError():
            return UnavailableError(f"{where}: what answers there speaks no TLS. Check garage.endpoint.")
        # To the library a refused connection is a kind of ConnectTimeoutError.
        case ConnectTimeoutError() | ReadTimeoutError() if not isinstance(error, NewConnectionError):
            return TimedOutError(f"{where}: no answer in time about {what}.")
        case HTTPError():
            return UnavailableError(
                f"{where}: cannot be reached ({type(error).__name__}). Is the server running? Check garage.endpoint."
            )
        case _:  # an answer that is no XML, or not the expected one
            return UnavailableError(f"{where}: what answers there is no S3 server. Check garage.endpoint.")


def _refused(where: str, what: str, code: str, status: int) -> KgfsError:
    if code in _ABSENT:
        return MissingError(f"{what}: not in {where}.")
    if code == "NoSuchBucket":
        return NoBucketError(
            f"{where}: there is no such bucket. Check garage.bucket and garage.endpoint; kgfs doctor --create makes the bucket."
        )
    if code in _TAKEN:
        return TakenError(f"{what}: taken.")
    if code in ("BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"):
        return ChangedError(f"{what}: changed after it was hashed.")
    if code == "InvalidRange":
        return ShortError(f"{what}: ends before what was asked for.")
    if code in ("RequestTimeTooSkewed", "RequestExpired"):
        return UnavailableError(
            f"{where}: the server refuses what is said by this machine's clock ({code}). Set the clock."
        )
    # also the code for every refused request whose answer has no body, whatever the reason
    if code == "AccessDenied":
        return NotAllowedError(
            f"{where}: the server refuses the keys ({code}). Check those that garage.* or AWS_* name, what they may do"
            " with the bucket, and this machine's clock."
        )
    if code == "BadRequest":  # for an answer without a body: some servers send this for expired tokens
        return UnavailableError(
            f"{where}: the server refuses the keys, or the region ({code}). Check those that garage.* or AWS_* name, and"
            " garage.region."
        )
    if code in _KEYS:
        return UnavailableError(
            f"{where}: the server refuses the keys ({code}). Check those that garage.* or AWS_* name."
        )
    if code in _FULL:
        return NoSpaceError(f"{where}: the server has no space left for {what}. Make room there.")
    if code in _ELSEWHERE:
        return UnavailableError(f"{where}: the server refuses the region ({code}). Set garage.region to the bucket's.")
    # an InvalidObjectState object is archived and cannot be read at once
    if status in (401, 403) and code != "InvalidObjectState":
        return NotAllowedError(
            f"{where}: the server refuses {what} ({code}). Check the account that the keys are of, and what it may do with the"
            " bucket."
        )
    if code in _NOT_READY or status in _LATER:
        return UnavailableError(
            f"{where}: the server is not ready for {what} ({code}). It is starting, busy, or without room on its disks. Try again"
            " later."
        )
    return StoreError(f"{where}: the server refuses {what}: {code}.")
