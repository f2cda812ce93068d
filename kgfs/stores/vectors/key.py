"""Who we are to a Qdrant server: the key, read again from its file where the server refuses it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import httpx

from kgfs.stores.servers import is_sayable

REFUSED = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


class Key(httpx.Auth):
    """Sent with each request, from any thread. A request that is refused is sent once more if the file has another key by now;
    where that cannot be read, or is being written, the key is what it was. It is a secret: never shown."""

    def __init__(self, key: str, file: Path | None) -> None:
        """``key`` as it was read first, '' for a server that wants none; without ``file`` it stays."""
        self._key = key
        self._file = file

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        sent = self._key
        _sign(request, sent)
        response = yield request
        if response.status_code in REFUSED and self._read_again() != sent:
            _sign(request, self._key)
            yield request

    def _read_again(self) -> str:
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
