"""A mount of the small tree in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.support.required import missing

ROOT = Path(__file__).parents[2]
NOBODY = 65534


def need_a_readable_project() -> None:
    """For a test in which an ordinary user runs the project from where it stands."""
    for path in (ROOT, Path(sys.executable)):
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", "test", "-r", str(path)]
        if subprocess.run(words, check=False).returncode:
            missing("user", f"{path} is not readable for an ordinary user")


class SmallMount:
    """Mounted when made; :meth:`close` unmounts and ends the process whatever happened."""

    def __init__(self, mountpoint: Path, *arguments: str, before: Sequence[str] = ()) -> None:
        self.path = mountpoint
        self.errors = mountpoint.with_name(mountpoint.name + ".errors")
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "tests.support.serve_small_tree", str(mountpoint), *arguments],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            )
        reported = self._out.readline()
        if reported != b"ready\n":
            self.process.wait(10)
            self.close()
            raise AssertionError(f"not mounted: {reported!r} {self.reported()}")

    @property
    def documents(self) -> Path:
        return self.path / "documents"

    @property
    def _out(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def tell(self, command: str) -> list[str]:
        """Obeyed when this returns; what it said."""
        assert self.process.stdin is not None
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        lines = []
        while (line := self._out.readline().decode().rstrip("\n")) != "done":
            lines.append(line)
        return lines

    def reported(self) -> str:
        return self.errors.read_text()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and wait for its end."""
        self.process.send_signal(number)
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            try:
                self.end()
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        subprocess.run(["fusermount3", "-u", "-z", "-q", str(self.path)], check=False, capture_output=True)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
