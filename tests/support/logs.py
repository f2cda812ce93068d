"""What the processes of a home complained about, and nobody announced."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_LOUD = re.compile(r" (WARNING|ERROR|CRITICAL) |^Traceback |^[a-zA-Z_.]*(Error|Exception|Warning): |Warning: ")

_NOBODY_WAITS = re.compile(r"fuse_release\(\): fuse_reply_\* failed with No such file")
"""Of a file that was open when its mount was detached: the kernel has dropped the request, which nobody waits for."""

AWAY = r"\b(UnavailableError|TimedOutError): (?!.*(refuses|does not let))|could not be given back"
"""For ``@pytest.mark.logs``: a server is told to be away, in whatever words. It refuses connections, breaks one off, says
nothing, or that it is starting, as the moment has it; the kind of error is what kgfs makes of all that. Keys that a server
takes no more are something else, though of that kind."""

DEPTH = 2
"""Folders between the one a test has and a home in it."""


def homes_below(top: Path) -> Iterator[Path]:
    """Folders with logs in them."""
    for folder, folders, _ in os.walk(top):
        if "log" in folders:
            yield Path(folder)
        if len(Path(folder).relative_to(top).parts) == DEPTH:
            folders.clear()


def undeclared(home: Path, declared: Sequence[str] = ()) -> list[str]:
    """Warnings and errors in the logs of ``home`` that no pattern of ``declared`` is found in. What was refused to a program is
    declared always: the program was told."""
    patterns = [REFUSED, *declared]
    return [line for line in _complaints(home) if not any(re.search(pattern, line) for pattern in patterns)]


REFUSED = r" fuse\.\w+ (ReadOnlyError|RefusedError|ExistsError|DuplicateError): "


def _complaints(home: Path) -> Iterator[str]:
    for name in ("mount.log", "worker.log"):
        for line in _lines(home / "log" / name):
            if _LOUD.search(line) and not _NOBODY_WAITS.search(line):
                yield f"{name}: {line}"
    for line in _lines(home / "log" / "errors.ndjson"):
        about = json.loads(line)
        yield f"errors.ndjson: {about['where']} {about['error']}: {about['message']}"


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").splitlines() if path.exists() else []
