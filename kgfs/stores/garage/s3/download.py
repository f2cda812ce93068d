"""A part of an object on its way here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
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
        while filled < len(buffer) and (piece := self.read(min(STEP, len(buffer) - filled))):
            buffer[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def close(self) -> None:
        # What was not read to its end cannot carry another request, nor what has an end that nobody knows.
        if self._response.length_remaining != 0:
            self._response.close()
        self._response.release_conn()
