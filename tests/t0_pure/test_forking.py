"""The process that forks parsers: it serves file after file, and ends with the process that started it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from kgfs.formats.table import parse

MAIL = b"From: a@example.org\nTo: b@example.org\nSubject: A koan\n\nThe garden is number %d.\n"

_OWNER = """
import sys, time
from kgfs.formats.table import parse
parse("a.html", b"<p>A word.")
print("parsed", flush=True)
time.sleep(60)
"""


def _serving(owner: int) -> list[int]:
    """The processes that fork for ``owner``."""
    found = []
    for thread in Path(f"/proc/{owner}/task").iterdir():
        found += [int(pid) for pid in (thread / "children").read_text().split()]
    return found


def test_it_ends_when_its_owner_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"parsed\n"
        (serving,) = _serving(owner.pid)
        owner.send_signal(signal.SIGKILL)
    until = time.monotonic() + 10
    while Path(f"/proc/{serving}").exists():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_each_file_is_read_by_itself_and_all_are_by_one_server() -> None:
    parse("a.eml", MAIL % 0)
    begun = time.process_time()
    for number in range(1, 30):
        assert f"number {number}." in parse("a.eml", MAIL % number).text
    assert time.process_time() - begun < 2  # of this process: starting Python for each would take more
