"""What servers need that is not there: fetched or built once, for every checkout of this user."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PACKAGES = {"mvn": "maven", "go": "golang-go"}
"""Those that a command comes with under another name."""


def fetch(what: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> None:
    """Run what fetches or builds it. Nothing of it says for minutes what it does, so that is said here."""
    if not shutil.which(command[0]):
        package = PACKAGES.get(str(command[0]), command[0])
        raise SystemExit(f"{what} is fetched by {command[0]}, which is not installed: apt-get install {package}")
    print(f"{what} is being fetched, once; this takes minutes …", file=sys.stderr)
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise SystemExit(f"{what} could not be fetched: {said[0] if said else f'exit code {done.returncode}'}")
