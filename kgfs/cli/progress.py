"""A progress bar on stderr: one line redrawn on a terminal, nothing where stderr is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType

WIDTH = 30


class Bar:
    """``with Bar() as bar: bar.show(done, total, "what")``; the line is cleared at the end."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()
        self._shown = False

    def show(self, done: int, total: int, what: str) -> None:
        if not self._tty:
            return
        filled = WIDTH * done // max(total, 1)
        sys.stderr.write(f"\r\x1b[K[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total} {what}"[:160])
        sys.stderr.flush()
        self._shown = True

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
