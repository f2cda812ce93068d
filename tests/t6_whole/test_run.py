"""``make run``: what its script does and shows. Commands that are forked: what tests need of them as of any other."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from kgfs.stores.mount_files import mount_notes
from kgfs.stores.worker_lock import worker_note
from tests.support.running import OTHER_HASHES, QUICK, ROOT, Place, until
from tests.support.texts import ZEN


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A folder to run the script in: it has one short document."""
    top = tmp_path / "work"
    (top / "examples").mkdir(parents=True)
    (top / "examples" / "zen.rst").write_text(ZEN)
    return top


def run(place: Place, folder: Path) -> str:
    """What was shown."""
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "run.sh", Path(sys.executable).with_name("kgfs"), place.mountpoint],
        cwd=folder,
        env={**os.environ, **QUICK, "KGFS_HOME": str(place.home), "KGFS_PIPELINE_SETTLE": "0.5"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.mounted
def test_it_is_repeated_at_any_path_and_after_a_kill(home: Path, tmp_path: Path, examples: Path) -> None:
    place = Place(home, tmp_path / "my friend's knowledge")
    try:
        first = run(place, examples)
        assert run(place, examples) == first
        (note,) = mount_notes(home / "run")
        os.kill(note.pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{note.pid}").exists())
        with pytest.raises(OSError, match="not connected"):
            os.listdir(place.mountpoint)
        assert run(place, examples) == first
        listed = first.splitlines()[1].removeprefix("\x1b[1m$ ").removesuffix("\x1b[0m")
        top = place.mountpoint
        assert shlex.split(listed) == ["ls", "-F", str(top), f"{top}/Python", f"{top}/Python/documents"]
        assert "zen.rst" in first
    finally:
        place.close()


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
