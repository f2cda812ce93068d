"""What lasts for long is told of while it does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kgfs.cli import progress
from kgfs.cli.progress import Steps
from scripts.servers import fetching, minio
from scripts.servers.fetching import fetch
from tests.support.running import until


def test_a_server_that_is_being_built(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fetching, "SAID_EVERY", 0.01)
    fetch("A server", [sys.executable, "-c", "import time; time.sleep(0.1)"], how="built")
    first, *between, last = capsys.readouterr().err.splitlines()
    assert first.startswith("A server is being built, once")
    assert between and all("s so far" in line for line in between)
    assert last.startswith("A server was built in")
    with pytest.raises(SystemExit, match="A server could not be built: no such thing"):
        fetch("A server", [sys.executable, "-c", "import sys; sys.exit('no such thing')"], how="built")


@pytest.mark.parametrize(("version", "there"), [("1.19.8", "installed is 1.19"), ("", "none is installed")])
def test_which_go_a_server_needs(version: str, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(minio, "cache", lambda: tmp_path)
    if version:
        (tmp_path / "go").write_text(f"#!/bin/sh\necho go version go{version} linux/amd64\n")
        (tmp_path / "go").chmod(0o700)
    with pytest.raises(SystemExit, match=rf"Go 1\.24 or later, and {there}: .*go\.dev"):
        minio.install()


def test_steps_that_take_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reported = ""

    def told() -> str:
        nonlocal reported
        reported += capsys.readouterr().err
        return reported

    monkeypatch.setattr(progress, "STEP_SILENT", 0.0)
    with Steps() as step:
        for _ in range(3):
            step("Copying the graph")
        until(lambda: told() == "Copying the graph …\n")
        monkeypatch.setattr(progress, "STEP_SILENT", 600.0)
        step("Starting the mount")
    assert told() == "Copying the graph …\n"
