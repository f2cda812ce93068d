"""Searches of a home with a real worker and its model: through the mount and on the command line alike."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.running import until

THINGS = "kettle pot spoon whisk bowl tray scroll mat lamp bell fan screen gate stove".split()  # noqa: SIM905
"""Fourteen documents: more than a page."""


@contextmanager
def mounted(home: Path, where: Path) -> Iterator[None]:
    environ = {**os.environ, "KGFS_HOME": str(home)}
    mount = subprocess.Popen([sys.executable, "-m", "kgfs", "mount", "--foreground", str(where)], env=environ)
    try:
        until(where.is_mount)
        yield
    finally:
        mount.send_signal(signal.SIGTERM)
        mount.wait()


def kgfs(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "KGFS_HOME": str(home)}
    return subprocess.run([sys.executable, "-m", "kgfs", *words], env=environ, capture_output=True, text=True)


@pytest.mark.mounted
@pytest.mark.models
def test_the_mount_and_the_command_line_find_the_same(tmp_path: Path) -> None:
    home, where = tmp_path / "home", tmp_path / "mnt"
    where.mkdir()
    with mounted(home, where):
        (where / "Tea").mkdir()
        for n, thing in enumerate(THINGS):
            text = (
                f"# The {thing}\n\nThe {thing} of the tea house is made of wood. Monks clean the {thing} on day {n}.\n"
            )
            (where / "Tea" / f"{thing}.md").write_text(text)
        assert kgfs(home, "wait").returncode == 0

        nothing = kgfs(home, "search", "zzzzqqq")
        assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "nothing found\n")  # and by meaning, too
        assert json.loads((where / "search/zzzzqqq/results.json").read_text())["results"] == []

        seen: list[str] = []
        for page, folder in ((1, "search/tea house"), (2, "search/tea house/page-2")):
            told = kgfs(home, "search", "tea house", "--page", str(page), "--json")
            found = json.loads(told.stdout)
            assert json.loads((where / folder / "results.json").read_text()) == found, folder
            seen += [one["document"] for one in found["results"]]
        assert len(seen) == len(set(seen)) == len(THINGS)
        assert not found["pagination"]["has_next"] and not found["only_text"]

        nested = json.loads(kgfs(home, "search", "monks", "--within", "bell", "--json").stdout)
        assert [one["document"] for one in nested["results"]] == ["documents/bell.md"]
        assert json.loads((where / "search/bell/monks/results.json").read_text()) == nested
        (where / "Tea/search/monks path:bel").touch()
    with mounted(home, where):  # a saved search keeps its filter
        assert os.listdir(where / "Tea/search") == ["monks path:bel"]
        kept = json.loads((where / "Tea/search/monks path:bel/results.json").read_text())
        assert [one["document"] for one in kept["results"]] == ["documents/bell.md"]
