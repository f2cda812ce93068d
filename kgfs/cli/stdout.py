"""Stdout, whose errors are told from those of all other files."""

from __future__ import annotations

import errno
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class StdoutError(OSError):
    """What was to be printed could not be written, and is thrown away. Not raised where a reader went away (BrokenPipeError)."""


class _Printed(io.FileIO):
    """Once it could not be written all that comes after is thrown away too: Python tries again when it ends."""

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
    """From now on what fails in writing to stdout is a StdoutError. Nothing changes where it is closed, or somebody put something
    else in its place."""
    usual = sys.stdout
    if usual is not None and usual is sys.__stdout__ and isinstance(usual, io.TextIOWrapper):
        raw = io.BufferedWriter(_Printed(usual.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(raw, usual.encoding, usual.errors, line_buffering=usual.line_buffering)
