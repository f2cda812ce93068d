"""The client of a bucket: how long it waits, how often it tries, and where it finds its keys.

Loading it takes longer than starting the rest of kgfs, so it is loaded by who is about to ask something.
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
from kgfs.stores.garage.s3.errors import NoKeysError
from kgfs.stores.garage.s3.place import Place
from kgfs.stores.servers import asked, is_sayable

_NOT_OF_INSTANCES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
"""Variables that name another giver of keys, who is asked instead."""
_VARIABLES = (("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"), ("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"))
"""The two halves of a key, each by the name that comes first."""
CONNECTIONS = 32
"""Kept open to the server; more may be open for a while."""
BRIEFLY = 1.0
"""Seconds that a request waits for one of them at most. While the server is silent all are taken for long: it is waited for by
everybody at once then, not by some after the others."""
PIECE = 128 << 10
"""Bytes of a body that are sent at once. Each piece has a third of the time-out for itself; a body that is handed over whole has no
more, and by a slow line would never be there."""


class KeyFiles(Provider):
    """Keys from two files, read each time: who changes a key changes the files."""

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
    """What this machine's instance may do, or the container; elsewhere there is nobody to ask."""

    def __init__(self) -> None:
        asking = urllib3.PoolManager(timeout=Timeout(2.0), retries=False)
        endpoint = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "").rstrip("/")
        # To the client it would be the address of whatever gives keys.
        otherwise = any(os.environ.get(name) for name in _NOT_OF_INSTANCES)
        super().__init__(custom_endpoint=None if otherwise else endpoint or None, http_client=asking)

    def retrieve(self) -> Credentials:
        try:
            return super().retrieve()
        except (urllib3.exceptions.HTTPError, KeyError, OSError) as error:
            raise ValueError("the instance gives none") from error


class _Anywhere(Provider):
    """Where keys may stand that no setting names, the first place that has some. Looked for each time, for the same reason;
    those of the instance are kept until they expire."""

    def __init__(self) -> None:
        self._places = {
            "what AWS_ACCESS_KEY_ID and its like hold": EnvAWSProvider(),
            "what the file of AWS credentials holds": AWSConfigProvider(),
            "what the instance gives": _Instance(),
        }

    def retrieve(self) -> Credentials:
        given = [any(os.environ.get(name) for name in names) for names in _VARIABLES]
        if any(given) and not all(given):  # else somebody else's keys would be taken
            missing = _VARIABLES[given.index(False)][0]
            raise NoKeysError(f"{missing} is not set, and the other half of the key is")
        for what, place in self._places.items():
            found = None
            with suppress(ValueError, configparser.Error):  # it has none, or is being written
                found = place.retrieve()
            if found:
                return _keys(found, what)
        raise NoKeysError("no setting, variable or file names any")


def _keys(found: Credentials, what: str) -> Credentials:
    """NoKeysError where they cannot stand in the head of a request, by two in one file say: who sends it quotes it then."""
    heads = (found.access_key, found.session_token or "")
    if not all(map(is_sayable, heads)) or len(found.secret_key.splitlines()) > 1:
        raise NoKeysError(f"{what} has more than one line, or other characters than keys have")
    return found


class _Patience(Retry):
    """Retries what failed at once (a refused or broken connection, a server that is starting), so that a restart goes
    unnoticed; never what failed by silence, which has used up the time already."""

    def increment(self, method=None, url=None, response=None, error=None, _pool=None, _stacktrace=None):  # type: ignore[no-untyped-def]
        if isinstance(error, ReadTimeoutError):
            raise error
        return super().increment(method, url, response, error, _pool, _stacktrace)


class _Pool(urllib3.PoolManager):
    """Counts what is asked; its retries once. Has as many asked at once as connections are kept, while they are answered soon: a
    connection of one more would be opened for its request alone."""

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self._free = BoundedSemaphore(CONNECTIONS)

    def urlopen(self, method: str, url: str, redirect: bool = True, **words: Any) -> urllib3.BaseHTTPResponse:  # type: ignore[override]
        asked["garage"] += 1
        if isinstance(body := words.get("body"), bytes) and len(body) > PIECE:
            words["body"] = BytesIO(body)
        free = self._free.acquire(timeout=BRIEFLY)
        try:
            return super().urlopen(method, url, redirect, **words)
        finally:
            if free:
                self._free.release()


def client_of(place: Place) -> Minio:
    """Speaks to nobody yet. BadInputError for an endpoint that cannot be. Certificates are verified, always."""
    parts = urlsplit(place.endpoint)
    # Each retry would be a warning of its own; who asked is told how it ended.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
    pool = _Pool(
        timeout=Timeout(connect=place.timeout / 3, read=place.timeout),
        maxsize=CONNECTIONS,
        blocksize=PIECE,
        cert_reqs="CERT_REQUIRED",
        ca_certs=str(place.ca_file) if place.ca_file else certifi.where(),
        retries=_Patience(
            total=None,
            connect=2,
            read=1,
            status=3,
            redirect=0,
            other=0,
            backoff_factor=0.2,
            status_forcelist=(500, 502, 503, 504),
            allowed_methods=None,
            respect_retry_after_header=False,  # a server that starts asks for a minute
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


def _credentials(place: Place) -> Provider:
    if place.access_key_file and place.secret_key_file:
        return KeyFiles(place.access_key_file, place.secret_key_file)
    return _Anywhere()
