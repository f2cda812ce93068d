"""The API key of a Qdrant server. It is read again from its file when the server refuses it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import httpx

from kgfs.stores.servers import is_sayable

REFUSED = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)
"""The status codes of a refused key."""


class Key(httpx.Auth):
    """Add the API key to each request. Any thread may use it. The key is a secret, and is never shown.

    A refused request is sent once more if the file has another key by now. If the file cannot be read, or is being
    written, the key stays the same.
    """

    def __init__(self, key: str, file: Path | None) -> None:
        """Make the authentication with ``key`` as it was first read, '' for a server without keys.

        Without ``file`` the key never changes.
        """
        self._key = key
        self._file = file

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with the key and, if it is refused and the key has changed, once more with the new key."""
        sent = self._key
        _sign(request, sent)
        response = yield request
        if response.status_code in REFUSED and self._read_again() != sent:
            _sign(request, self._key)
            yield request

    def _read_again(self) -> str:
        """Return the key in the file, or the known key if the file has none that can be sent."""
        if self._file is not None:
            try:
                found = self._file.read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError):
                return self._key
            if found and is_sayable(found):
                self._key = found
        return self._key


def _sign(request: httpx.Request, key: str) -> None:
    if key:
        request.headers["api-key"] = key
