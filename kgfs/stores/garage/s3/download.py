"""The download of a part of an object."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from http.client import HTTPResponse, IncompleteRead
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

STEP = 256 << 10
"""The number of bytes that are copied to the buffer at a time, few enough to be still in the processor's cache."""


class Download:
    """A part of an object that is being received. Not for several threads at the same time.

    Reading waits for the server up to the timeout, and raises the errors of
    :class:`~kgfs.stores.garage.s3.bucket.Bucket`.
    """

    def __init__(self, response: BaseHTTPResponse, spoken: Callable[[], AbstractContextManager[None]]) -> None:
        self._response = response
        self._spoken = spoken

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end of the part."""
        with self._spoken():
            return self._response.read(size, decode_content=False)

    def read_into(self, buffer: memoryview) -> int:
        """Fill ``buffer``, and return the number of bytes received, fewer than its length only at the end of the
        part."""
        filled = 0
        with self._spoken():
            while filled < len(buffer) and (
                came := self._straight_into(buffer[filled:]) or self._into(buffer[filled:])
            ):
                filled += came
        return filled

    def _straight_into(self, buffer: memoryview) -> int:
        """Receive bytes from the socket into ``buffer``, and return how many.

        Return 0 at the end of the part, or if the answer is not read straight from a socket. The library's own
        reading makes an intermediate bytes object of everything, which takes a third of the time of receiving it.
        """
        response, source = self._response, getattr(self._response, "_fp", None)
        if not (isinstance(source, HTTPResponse) and response.length_remaining):
            return 0
        with response._error_catcher():  # type: ignore[attr-defined]
            came = source.readinto(buffer)
            if not came:  # inside the error catcher, so that the connection is closed before it goes back to the pool
                raise IncompleteRead(b"", response.length_remaining)
        response.length_remaining -= came
        return came

    def _into(self, buffer: memoryview) -> int:
        """Copy the next bytes of the library's own reading into ``buffer``, and return how many."""
        piece = self._response.read(min(STEP, len(buffer)), decode_content=False)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Close the download. The connection is reused only if the part was read to its end."""
        # A connection cannot carry another request if its answer was not read to the end, or has no known length.
        if self._response.length_remaining != 0:
            self._response.close()
        self._response.release_conn()
