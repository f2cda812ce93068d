"""What servers need that is not there: fetched or built once, for every checkout of this user."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PACKAGES = {"mvn": "maven"}
"""Those that a command comes with under another name."""


SAID_EVERY = 20.0
"""Seconds."""


def fetch(what: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None, how: str = "fetched") -> None:
    """Run what fetches or builds it. Nothing of it says for minutes what it does, so that is said here."""
    if not shutil.which(command[0]):
        package = PACKAGES.get(str(command[0]), command[0])
        raise SystemExit(f"{what} is {how} by {command[0]}, which is not installed: apt-get install {package}")
    print(f"{what} is being {how}, once; this takes minutes …", file=sys.stderr)
    begun = time.monotonic()
    words = [str(word) for word in command]
    with subprocess.Popen(
        words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        while True:
            try:
                out, err = process.communicate(timeout=SAID_EVERY)
                break
            except subprocess.TimeoutExpired:
                print(f"{what} is being {how}, for {time.monotonic() - begun:.0f} s so far …", file=sys.stderr)
    if process.returncode:
        said = [line.strip() for line in (err + out).splitlines() if line.strip()]
        raise SystemExit(f"{what} could not be {how}: {said[0] if said else f'exit code {process.returncode}'}")
    print(f"{what} was {how} in {time.monotonic() - begun:.0f} s.", file=sys.stderr)
