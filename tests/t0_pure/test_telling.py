"""What lasts for long is told of while it does."""

from __future__ import annotations

import sys

import pytest

from kgfs.cli import progress
from kgfs.cli.progress import Steps
from scripts.servers import fetching
from scripts.servers.fetching import fetch
from tests.t6_whole.running import until


def test_a_server_that_is_being_built(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fetching, "SAID_EVERY", 0.01)
    fetch("A server", [sys.executable, "-c", "import time; time.sleep(0.1)"], how="built")
    first, *between, last = capsys.readouterr().err.splitlines()
    assert first.startswith("A server is being built, once")
    assert between and all("s so far" in line for line in between)
    assert last.startswith("A server was built in")
    with pytest.raises(SystemExit, match="A server could not be built: no such thing"):
        fetch("A server", [sys.executable, "-c", "import sys; sys.exit('no such thing')"], how="built")


def test_steps_that_take_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ""

    def told() -> str:
        nonlocal said
        said += capsys.readouterr().err
        return said

    monkeypatch.setattr(progress, "MOMENT", 0.0)
    with Steps() as step:
        for _ in range(3):
            step("Copying the graph")
        until(lambda: told() == "Copying the graph …\n")
        monkeypatch.setattr(progress, "MOMENT", 600.0)
        step("Starting the mount")
    assert told() == "Copying the graph …\n"
