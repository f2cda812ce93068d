"""A program at a terminal, typed at by a machine."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 20.0


def typed(words: Sequence[str | Path], keys: Sequence[bytes], *, at: Path, pause: float = 0.15) -> bytes:
    """Start it on a terminal of its own in folder ``at``, press ``keys`` one group after the other, each once the
    screen has been still for ``pause`` seconds, and wait for its end. What it showed; AssertionError if it fails."""
    child, screen = pty.fork()
    if child == 0:
        os.chdir(at)
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": str(at), "LESS": ""}
        os.execvpe(str(words[0]), [str(word) for word in words], environment)
    shown = b""
    try:
        select.select([screen], [], [], PATIENCE)  # until it is there at all
        for group in keys:
            shown += _until_still(screen, pause)
            os.write(screen, group)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            shown += _until_still(screen, 0.05)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                child = 0
                assert os.waitstatus_to_exitcode(status) == 0, shown
                return shown
        raise AssertionError(f"{words} did not end: {shown!r}")
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(screen)


def _until_still(screen: int, pause: float) -> bytes:
    shown = b""
    while select.select([screen], [], [], pause)[0]:
        try:
            piece = os.read(screen, 65536)
        except OSError:  # the program closed its terminal
            time.sleep(pause)
            return shown
        if not piece:
            return shown
        shown += piece
    return shown
