"""Two homes on one bucket and one graph, both mounted, as two machines have them: files and what was read in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.logs import AWAY
from tests.support.running import Place, until

SEEN = 60.0
"""Seconds for what others did to be seen, on a machine that does much else."""
WORDS = "A garbage collector is a form of automatic memory management. The garbage collector uses reference counting."

pytestmark = [pytest.mark.slow, pytest.mark.mounted, pytest.mark.logs(AWAY)]


def mounted(homes: tuple[Place, Place]) -> tuple[Path, Path]:
    """One ontology in both mounts; the worker is that of the first."""
    here, there = homes
    for place in homes:
        place.mountpoint.mkdir()
    written = here.mount().ontology("Memory")
    there.mount("--no-worker")
    seen = there.mountpoint / "Memory"
    until(seen.is_dir, SEEN)
    return written, seen


def concepts(ontology: Path) -> set[str]:
    return set(os.listdir(ontology / "concepts"))


@pytest.mark.claim("SHARE-1")
def test_written_read_renamed_and_forgotten(homes: tuple[Place, Place]) -> None:
    here, there = homes
    written, seen = mounted(homes)
    (written / "documents/a.txt").write_text(WORDS)
    file = seen / "documents/a.txt"
    until(lambda: file.exists() and file.read_text() == WORDS, SEEN)  # the name may come before the words
    until(lambda: concepts(seen), SEEN)
    here.wait()
    until(lambda: concepts(seen) == concepts(written), SEEN)
    for name in sorted(concepts(seen)):
        for page in sorted((written / "concepts" / name).rglob("*")):
            if page.is_file() and not page.is_symlink():
                same = seen / page.relative_to(written)
                until(lambda page=page, same=same: same.read_bytes() == page.read_bytes(), SEEN)  # type: ignore[misc]
    assert any("garbage" in name for name in concepts(seen))

    (seen / "documents/a.txt").rename(seen / "documents/b.txt")
    until(lambda: os.listdir(written / "documents") == ["b.txt"], SEEN)
    there.run("forget", "Memory/b.txt", "--yes")
    until(lambda: not os.listdir(written / "documents"), SEEN)
    for one in (written, seen):
        until(lambda one=one: not concepts(one), SEEN)  # type: ignore[misc]
    for place in homes:
        until(lambda place=place: json.loads((place.mountpoint / ".kgfs/status.json").read_text())["owed"] == 0, SEEN)  # type: ignore[misc]


@pytest.mark.claim("SHARE-8")
def test_a_purge_waits_for_a_host_that_is_not_there(homes: tuple[Place, Place]) -> None:
    here, there = homes
    written, seen = mounted(homes)
    (written / "documents/a.txt").write_text(WORDS)
    until(lambda: (seen / "documents/a.txt").exists(), SEEN)
    here.wait()
    until(lambda: len(sharing(here)["hosts"]) == 2, SEEN)
    until(lambda: concepts(seen), SEEN)
    there.umount()
    here.run("forget", "Memory/a.txt", "--purge", "--yes")
    here.wait()
    absent = (there.home / "host").read_text()
    until(lambda: [purge["waits_for"] for purge in asked(here)["purges"]] == [[absent]], SEEN)
    assert f"waits for {absent}" in here.run("status").stdout
    until(lambda: sharing(here)["purges"], SEEN)
    there.mount("--no-worker")
    until(lambda: not asked(here)["purges"], SEEN)
    assert not [p for p in there.home.rglob("*") if p.is_file() and b"garbage" in p.read_bytes().lower()]
    there.umount()
    assert here.run("hosts", "--strike-off", "0123456789ab", "--yes", expect=None).returncode == 4
    here.run("hosts", "--strike-off", absent, "--yes")
    until(lambda: [host["this"] for host in sharing(here)["hosts"]] == [True], SEEN)


def asked(place: Place) -> dict[str, Any]:
    return dict(json.loads(place.run("hosts", "--json").stdout))


def sharing(place: Place) -> dict[str, Any]:
    """What the mount says of hosts; empty lists where it says nothing yet."""
    found = json.loads((place.mountpoint / ".kgfs/status.json").read_text())["sharing"]
    return dict(found or {"hosts": [], "purges": []})
