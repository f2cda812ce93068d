"""A part of an object on its way here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from http.client import HTTPResponse, IncompleteRead
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

STEP = 256 << 10
"""Bytes that are copied to their place at once: so few are still in the processor's cache."""


class Download:
    """Not for several threads at once. Reading waits as long as the server may be silent; errors are those of the bucket."""

    def __init__(self, response: BaseHTTPResponse, spoken: Callable[[], AbstractContextManager[None]]) -> None:
        self._response = response
        self._spoken = spoken

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only where the part ends."""
        with self._spoken():
            return self._response.read(size, decode_content=False)

    def read_into(self, buffer: memoryview) -> int:
        """How many bytes came, fewer than there is room for only where the part ends."""
        filled = 0
        with self._spoken():
            while filled < len(buffer) and (
                came := self._straight_into(buffer[filled:]) or self._into(buffer[filled:])
            ):
                filled += came
        return filled

    def _straight_into(self, buffer: memoryview) -> int:
        """How many bytes the socket filled in; 0 where the part ended, or where there is more than a socket to it. The library's
        own reading makes bytes of all that comes first, which takes a third of the time of receiving them."""
        response, source = self._response, getattr(self._response, "_fp", None)
        if not (isinstance(source, HTTPResponse) and response.length_remaining):
            return 0
        with response._error_catcher():  # type: ignore[attr-defined]
            came = source.readinto(buffer)
            if not came:  # in here, so that the connection is closed before it goes back to the others
                raise IncompleteRead(b"", response.length_remaining)
        response.length_remaining -= came
        return came

    def _into(self, buffer: memoryview) -> int:
        piece = self._response.read(min(STEP, len(buffer)), decode_content=False)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        # What was not read to its end cannot carry another request, nor what has an end that nobody knows.
        if self._response.length_remaining != 0:
            self._response.close()
        self._response.release_conn()
