"""Show the progress of a command on stderr: a bar, redrawn on one line of a terminal, elsewhere a line a minute; and steps
in words.
"""

from __future__ import annotations

import sys
import threading
import time

import click

SERVERS_ANSWER = 2.0
"""Seconds that are waited, once the mount answers, for servers that have not answered."""
STEP_SILENT = 2.0
"""Seconds that a step may take before it is announced."""
MOUNT_END = 20.0
"""Seconds to wait for the mount's process and its worker to end."""
MOUNT_END_LAZY = 1.0
"""Seconds to wait with --lazy, when the process may go on as long as a program has a file open."""

WIDTH = 30
LINE_EVERY = 60.0
"""Seconds between the lines of a progress that no terminal shows."""


class Bar:
    """Show a progress bar: ``with Bar() as bar: bar.show(done, total, "what")``. The line is cleared at the end."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()
        self._shown = False
        self._said = time.monotonic()

    def show(self, done: int, total: int, what: str) -> None:
        if not self._tty:
            if time.monotonic() - self._said >= LINE_EVERY:
                self._said = time.monotonic()
                click.echo(f"{done} of {total} {what}", err=True)
            return
        filled = WIDTH * done // max(total, 1)
        sys.stderr.write(f"\r\x1b[K[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total} {what}"[:160])
        sys.stderr.flush()
        self._shown = True

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Steps:
    """Announce steps: ``with Steps() as step: step("what is done now")``. A step is printed once, on a terminal or
    not, if it takes longer than STEP_SILENT.
    """

    def __init__(self) -> None:
        self._step = ""
        self._begun: threading.Timer | None = None

    def __call__(self, what: str) -> None:
        if what != self._step:
            self._end()
            self._step = what
            self._begun = threading.Timer(STEP_SILENT, click.echo, (f"{what} …",), {"err": True})
            self._begun.daemon = True
            self._begun.start()

    def _end(self) -> None:
        if self._begun is not None:
            self._begun.cancel()

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
