"""The client of a bucket: its timeouts, its retries and its credentials.

Importing this module takes longer than starting the rest of kgfs, so callers import it with the first request.
"""

from __future__ import annotations

import configparser
import logging
import os
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlsplit

import certifi
import urllib3
from minio import Minio
from minio.credentials.credentials import Credentials
from minio.credentials.providers import AWSConfigProvider, EnvAWSProvider, IamAwsProvider, Provider
from urllib3.exceptions import ReadTimeoutError
from urllib3.util import Retry, Timeout

from kgfs.errors import BadInputError
from kgfs.settings import is_sayable
from kgfs.stores import timing
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.errors import NoKeysError
from kgfs.stores.servers import asked

_NOT_OF_INSTANCES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
"""Environment variables that name another source of credentials. That source is asked instead."""
_VARIABLES = (("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"), ("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"))
"""The environment variables of the two halves of a key pair. Of each pair of names the first takes precedence."""
CONNECTIONS = 32
"""The number of connections that are kept open to the server. More may be open for a while."""
PIECE = 128 << 10
"""The number of bytes of a body that are sent at a time. Each piece may take a third of the timeout. A body that is
sent as a whole may take no longer, and would never arrive over a slow line."""


class KeyFiles(Provider):
    """Credentials from two files. The files are read for every request, so changing a key means changing the
    files."""

    def __init__(self, access: Path, secret: Path) -> None:
        self._access = access
        self._secret = secret

    def retrieve(self) -> Credentials:
        found = []
        for file in (self._access, self._secret):
            try:
                found.append(file.read_text("utf-8").strip())
            except (OSError, UnicodeDecodeError) as error:
                raise NoKeysError(f"{file} cannot be read") from error
            if not found[-1]:
                raise NoKeysError(f"{file} is empty")
        return _keys(Credentials(found[0], found[1]), f"what {self._access} and {self._secret} hold")


class _Instance(IamAwsProvider):
    """Credentials of this machine's cloud instance or container. On other machines there is no server to ask."""

    def __init__(self) -> None:
        asking = urllib3.PoolManager(timeout=Timeout(2.0), retries=False)
        endpoint = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "").rstrip("/")
        # The client would take this address for that of any source of credentials.
        otherwise = any(os.environ.get(name) for name in _NOT_OF_INSTANCES)
        super().__init__(custom_endpoint=None if otherwise else endpoint or None, http_client=asking)

    def retrieve(self) -> Credentials:
        try:
            return super().retrieve()
        except (urllib3.exceptions.HTTPError, KeyError, OSError) as error:
            raise ValueError("the instance gives none") from error


class _Anywhere(Provider):
    """Credentials from the first source that has some, if no setting names files.

    The sources are asked for every request, so that a change takes effect at once. Credentials of the instance are
    cached until they expire.
    """

    def __init__(self) -> None:
        self._places = {
            "what AWS_ACCESS_KEY_ID and its like hold": EnvAWSProvider(),
            "what the file of AWS credentials holds": AWSConfigProvider(),
            "what the instance gives": _Instance(),
        }

    def retrieve(self) -> Credentials:
        given = [any(os.environ.get(name) for name in names) for names in _VARIABLES]
        if any(given) and not all(given):  # else the keys of another source would be used
            missing = _VARIABLES[given.index(False)][0]
            raise NoKeysError(f"{missing} is not set, and the other half of the key is")
        for what, place in self._places.items():
            found = None
            with suppress(ValueError, configparser.Error):  # the source has none, or its file is being written
                found = place.retrieve()
            if found:
                return _keys(found, what)
        raise NoKeysError("no setting, variable or file names any")


def _keys(found: Credentials, what: str) -> Credentials:
    """Return the credentials, or raise NoKeysError if they cannot stand in a request header, for example because a
    file holds two. An HTTP library would quote them in its error message."""
    heads = (found.access_key, found.session_token or "")
    if not all(map(is_sayable, heads)) or len(found.secret_key.splitlines()) > 1:
        raise NoKeysError(f"{what} has more than one line, or other characters than keys have")
    return found


class _CallTimeout(Retry):
    """Retry what failed at once (a refused or broken connection, a server that is starting), so that a restart goes
    unnoticed. Do not retry a read timeout, which has used up the time already."""

    def increment(self, method=None, url=None, response=None, error=None, _pool=None, _stacktrace=None):  # type: ignore[no-untyped-def]
        if isinstance(error, ReadTimeoutError):
            raise error
        return super().increment(method, url, response, error, _pool, _stacktrace)


class _Pool(urllib3.PoolManager):
    """A connection pool that counts requests; a request and its retries count once.

    It lets as many requests run at the same time as connections are kept, as long as the server answers soon. A
    request more would open a connection for itself alone.
    """

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self._free = BoundedSemaphore(CONNECTIONS)

    def urlopen(self, method: str, url: str, redirect: bool = True, **words: Any) -> urllib3.BaseHTTPResponse:  # type: ignore[override]
        asked["garage"] += 1
        if isinstance(body := words.get("body"), bytes) and len(body) > PIECE:
            words["body"] = BytesIO(body)
        free = self._free.acquire(timeout=timing.CONNECTION_WAIT)
        try:
            return super().urlopen(method, url, redirect, **words)
        finally:
            if free:
                self._free.release()


def client_of(place: Endpoint) -> Minio:
    """Return the client of a place. No request is sent yet.

    Raise BadInputError for an endpoint that is not valid. Certificates are always verified.
    """
    parts = urlsplit(place.endpoint)
    # Each retry would log a warning of its own. The caller learns the outcome.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
    pool = _Pool(
        timeout=Timeout(connect=place.timeout / 3, read=place.timeout),
        maxsize=CONNECTIONS,
        blocksize=PIECE,
        cert_reqs="CERT_REQUIRED",
        ca_certs=str(place.ca_file) if place.ca_file else certifi.where(),
        retries=_CallTimeout(
            total=None,
            connect=2,
            read=1,
            status=3,
            redirect=0,
            other=0,
            backoff_factor=0.2,
            status_forcelist=(500, 502, 503, 504),
            allowed_methods=None,
            respect_retry_after_header=False,  # a starting server asks for a minute
            raise_on_status=False,
        ),
    )
    try:
        client = Minio(
            parts.netloc,
            secure=parts.scheme == "https",
            region=place.region or None,
            http_client=pool,
            credentials=_credentials(place),
        )
    except ValueError as error:
        raise BadInputError(f"garage.endpoint '{place.endpoint}': {error}.") from error
    client._base_url.virtual_style_flag = not place.path_style
    return client


def _credentials(place: Endpoint) -> Provider:
    if place.access_key_file and place.secret_key_file:
        return KeyFiles(place.access_key_file, place.secret_key_file)
    return _Anywhere()
