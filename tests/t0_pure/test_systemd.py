"""The units in systemd/: words systemd knows, and commands that do what the units say they do."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kgfs.errors import BusyError, KgfsError, StoreError, TimedOutError
from tests.support.required import missing
from tests.support.running import until

UNITS = Path(__file__).parents[2] / "systemd"
NAMES = ("kgfs@.service", "kgfs-worker.service")


def needed(why: str) -> None:
    if why:
        missing("systemd", why)


def settings(name: str) -> dict[str, list[str]]:
    """Key → values, in order."""
    found: dict[str, list[str]] = {}
    for line in (UNITS / name).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_systemd_understands_it(name: str, tmp_path: Path) -> None:
    needed("" if shutil.which("systemd-analyze") else "systemd-analyze is not installed")
    done = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", UNITS / name],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    about_it = [line for line in done.stderr.splitlines() if "kgfs" in line]
    assert about_it == [], "what systemd does not understand it ignores, with these words"


def test_nothing_keeps_fusermount_from_mounting() -> None:
    """It is set-user-id root, and what it mounts must be seen by all: no setting may imply NoNewPrivileges or a mount
    namespace of the unit's own."""
    implies = re.compile(
        r"NoNew|Private|Protect|ReadOnly|ReadWrite|Inaccessible|Restrict|SystemCall|Lock|MemoryDeny|Dynamic|Root"
    )
    assert [key for key in settings("kgfs@.service") if implies.match(key)] == []


@pytest.mark.parametrize("name", NAMES)
def test_failures_that_pass_are_tried_again(name: str) -> None:
    """A full disk, a time-out, a signal. Others stay as they are until somebody does something about them."""
    (prevented,) = settings(name)["RestartPreventExitStatus"]
    codes = {int(code) for code in prevented.split()}
    assert {StoreError.exit_code, TimedOutError.exit_code, KgfsError.exit_code}.isdisjoint(codes)
    assert (BusyError.exit_code in codes) == (name == "kgfs@.service"), "a worker waits for the one that works"


def test_a_first_mount_may_take_as_long_as_its_graph_takes_to_be_copied() -> None:
    assert settings("kgfs@.service")["TimeoutStartSec"] == ["infinity"]


def test_a_mount_that_ended_by_itself_has_not_failed() -> None:
    """ExecStop is run then too, when nothing is mounted any more. What it exits with counts, but for the ``-``."""
    (stop,) = settings("kgfs@.service")["ExecStop"]
    assert stop.startswith("-")


# ------------------------------------------------------------------------------- the commands, without systemd


class Unit:
    """Does what systemd would: expands the commands of the mount's unit and runs them."""

    def __init__(self, top: Path) -> None:
        self.mountpoint = top / "my knowledge"
        self._settings = settings("kgfs@.service")
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(top),
            "KGFS_HOME": str(top / "home"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def command(self, key: str) -> list[str]:
        (line,) = self._settings[key]
        words = [word.replace("%f", str(self.mountpoint)) for word in shlex.split(line.removeprefix("-"))]
        options = self.environment.get("KGFS_OPTIONS", "").split()
        unfolded = [part for word in words for part in (options if word == "$KGFS_OPTIONS" else [word])]
        return [word.replace("$$", "$") for word in unfolded]

    def run(self, key: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(key), env=self.environment, cwd="/", capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def unit(tmp_path: Path) -> Iterator[Unit]:
    found = Unit(tmp_path)
    yield found
    subprocess.run(["fusermount3", "-u", "-z", "-q", str(found.mountpoint)], check=False, capture_output=True)


@pytest.mark.mounted
def test_the_commands_of_the_mount(unit: Unit) -> None:
    unit.environment["KGFS_OPTIONS"] = "--no-worker"
    assert unit.run("ExecStartPre").returncode == 0
    with subprocess.Popen(["true"]) as ended:
        unit.environment["MAINPID"] = str(ended.pid)
    assert unit.run("ExecStartPost").returncode != 0, "who waits for a mount that ended would wait for ever"
    for ending in ("stop", "kill"):
        main = subprocess.Popen(
            unit.command("ExecStart"), env=unit.environment, cwd="/", stderr=subprocess.PIPE, text=True
        )
        unit.environment["MAINPID"] = str(main.pid)
        reaped = threading.Thread(target=main.wait)  # at once, as by systemd: ExecStop waits for the process to be gone
        reaped.start()
        try:
            assert unit.run("ExecStartPost").returncode == 0
            assert "README.md" in os.listdir(unit.mountpoint)
            if ending == "kill":
                main.send_signal(signal.SIGKILL)
            else:
                assert unit.run("ExecStop").returncode == 0
            _, reported = main.communicate(timeout=30)
        finally:
            with suppress(ProcessLookupError):
                main.kill()
            reaped.join()
        assert main.returncode == (-signal.SIGKILL if ending == "kill" else 0), reported
        unit.run("ExecStopPost")
        assert os.listdir(unit.mountpoint) == [], "an empty folder, no dead mount"


# ----------------------------------------------------------------------------------------- under systemd itself


def no_manager() -> str:
    if not shutil.which("systemctl"):
        return "systemctl is not installed"
    asked = subprocess.run(
        ["systemctl", "--user", "is-system-running"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return "" if asked in ("running", "degraded", "starting") else "no systemd runs for this user"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The unit of a mount of a fresh home, known to the user's systemd."""
    needed(no_manager())
    mountpoint = tmp_path / "mnt"
    name = subprocess.run(
        ["systemd-escape", "--path", "--template=kgfs@.service", mountpoint], capture_output=True, text=True, check=True
    ).stdout.strip()
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")) / "systemd/user"
    folder = runtime / f"{name}.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test.conf").write_text(
        f'[Service]\nEnvironment="PATH={Path(sys.executable).parent}:/usr/bin:/bin" "KGFS_HOME={tmp_path}/home"\n'
    )
    template = runtime / "kgfs@.service"
    template.write_bytes((UNITS / "kgfs@.service").read_bytes())
    systemctl("daemon-reload")
    yield name, mountpoint
    systemctl("stop", name)
    shutil.rmtree(folder)
    template.unlink()
    systemctl("daemon-reload")


def systemctl(*words: str) -> str:
    done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, timeout=120, check=False)
    return (done.stdout + done.stderr).strip()


@pytest.mark.mounted
def test_systemd_starts_it_again_after_a_kill_and_stops_it(service: tuple[str, Path]) -> None:
    name, mountpoint = service
    assert systemctl("start", name) == ""
    assert "README.md" in os.listdir(mountpoint), "started means mounted"
    first = systemctl("show", "--property=MainPID", "--value", name)
    os.kill(int(first), signal.SIGKILL)
    time.sleep(1)
    until(lambda: systemctl("is-active", name) == "active", 60)
    assert systemctl("show", "--property=MainPID", "--value", name) != first
    assert "README.md" in os.listdir(mountpoint)
    assert systemctl("stop", name) == ""
    assert os.listdir(mountpoint) == []
    assert systemctl("is-active", name) == "inactive"
