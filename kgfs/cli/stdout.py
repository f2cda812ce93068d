"""Distinguish errors of stdout from errors of other files."""

from __future__ import annotations

import errno
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class StdoutError(OSError):
    """Output could not be written to stdout and is discarded. Not raised for a closed pipe (BrokenPipeError)."""


class _Printed(io.FileIO):
    """Write to stdout, and discard all output after the first failure, since Python retries the write at exit."""

    _failed = False

    def write(self, data: Buffer, /) -> int:
        if self._failed:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            self._failed = True
            raise StdoutError(error.errno, error.strerror) from error


def tell_errors_of_stdout() -> None:
    """Raise StdoutError for failed writes to stdout from now on. Nothing changes if stdout is closed or was replaced."""
    usual = sys.stdout
    if usual is not None and usual is sys.__stdout__ and isinstance(usual, io.TextIOWrapper):
        raw = io.BufferedWriter(_Printed(usual.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(raw, usual.encoding, usual.errors, line_buffering=usual.line_buffering)
