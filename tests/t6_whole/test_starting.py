"""Commands that are forked: what tests need of them as of any other."""

from __future__ import annotations

import os
import signal
from threading import Thread

from kgfs.stores.worker_lock import worker_note
from tests.support.running import OTHER_HASHES, QUICK, Place, until


def test_a_command_that_runs_ends_with_its_place(place: Place) -> None:
    ended: list[int] = []
    beside = Thread(target=lambda: ended.append(place.run("worker", expect=None, env=QUICK).returncode))
    beside.start()
    until(lambda: worker_note(place.home / "run").get("state") == "working")
    [pid] = place.pids()
    assert pid == worker_note(place.home / "run")["pid"]
    place.close()
    beside.join(60)
    assert ended == [-signal.SIGKILL]
    assert place.pids() == []


def test_what_python_reads_when_it_starts_has_its_effect(place: Place) -> None:
    """Also what nobody can tell a process that runs."""
    assert not OTHER_HASHES.items() <= os.environ.items()
    told = place.run("--version", env=OTHER_HASHES | {"PYTHONVERBOSE": "1"})
    assert "import '" in told.stderr and told.stdout == place.run("--version").stdout
