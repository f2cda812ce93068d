"""Make the golden home: ``python -m tests.support.golden.make``.

The archive has the folder ``home`` and ``seen.json``, what :mod:`.observe` read of it. The home is at rest: nothing is mounted, waits or
is owed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.support.golden import contents
from tests.support.golden.observe import observe
from tests.support.golden.opening import ARCHIVE, SEEN

MTIME = 1_772_000_000
"""Seconds since 1970 that the files were last changed at, some minutes apart."""
AT_REST = ("cache", "log", "spool")
"""Folders of a home that hold nothing between two uses."""

QUICK = {"KGFS_PIPELINE_SETTLE": "0.5", "KGFS_PIPELINE_CHUNK_TOKENS": "60", "KGFS_MODELS_EMBEDDER": "none"}
"""The environment of all commands: short documents have several Sources, and vectors would take too much room."""


class Home:
    """A home that the command line and a mount are used on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.top = folder.with_name(f"{folder.name}.mnt")
        self.garage = folder.with_name(f"{folder.name}.garage")
        for path in (self.top, self.garage):
            path.mkdir()
        folder.mkdir(mode=0o700)
        self._environment = {**os.environ, **QUICK, "KGFS_HOME": str(folder)}

    def run(self, *words: str | bytes | Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "kgfs", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        if done.returncode:
            raise SystemExit(f"kgfs {words} exited with {done.returncode}: {done.stdout}{done.stderr}")
        print(f"kgfs {words}: {done.stdout.strip()[-300:]}", file=sys.stderr)
        return done.stdout

    def mount(self) -> None:
        self.run("mount", self.top)

    def umount(self) -> None:
        self.run("umount", self.top)

    def wait(self) -> None:
        self.run("wait", "--timeout", "240")

    def observe(self) -> dict[str, Any]:
        self.run("mount", self.top, "--no-worker")
        self.run("mount", "--view", "garage", self.garage)
        try:
            return observe(self.top, self.garage)
        finally:
            self.run("umount", self.garage)
            self.run("umount", self.top)


def put(documents: Path, name: bytes, content: bytes, at: int) -> None:
    path = os.path.join(os.fsencode(documents), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.utime(path, (at, at))


def fill(home: Home) -> None:
    """Deposit all documents, and do to them what people do. The home is mounted."""
    harbour, bees = home.top / "Harbour", home.top / "Bees"
    documents = harbour / "documents"
    for top, names in ((harbour, contents.HARBOUR), (bees, contents.BEES)):
        top.mkdir()
        for n, (name, content) in enumerate(names.items()):
            put(top / "documents", name, content, MTIME + 60 * n)
    (documents / "lamp").symlink_to("lighthouse.md")
    home.wait()
    for n, content in enumerate(contents.TIDES[1:], 1):
        put(documents, b"tides.rst", content, MTIME + 3600 * n)
        home.wait()
    for n, content in enumerate((contents.FOG[1], contents.FOG[0]), 1):
        put(documents, b"fog-signals.txt", content, MTIME + 7200 * n)
        home.wait()
    (documents / "sub" / "deeper").rename(documents / "sub" / "weather")
    (documents / "pages" / "rules.html").rename(documents / "pages" / "berths.html")
    (documents / "lighthouse.md").chmod(0o640)
    put(documents, b"copy of wind.md", contents.WIND, MTIME + 9000)
    (harbour / "search" / "fog signal").touch()
    (home.top / "search" / "spring tide").touch()
    passing = home.top / "Passing"
    passing.mkdir()
    passing.rename(home.top / "Passed")
    (home.top / "Passed").rmdir()
    bees.rename(home.top / "Bee keeping")
    (home.top / "Empty").mkdir()
    (documents / "old" / "notes.txt").unlink()
    (documents / "old" / "again.txt").unlink()
    home.wait()
    home.run("trash", "restore", "Harbour/documents/old/again.txt")
    home.wait()
    home.run("forget", "--yes", "Harbour/old/wrong.md")
    home.run("forget", "--yes", "--cascade", "none", "Harbour/old/kept.md")
    home.run("forget", "--yes", "--cascade", "all", "Harbour/old/all.md")
    home.run("forget", "--yes", "--purge", "Harbour/old/secret.md")
    home.wait()
    home.run("concept", "merge", "Harbour", "wind", "west-wind", "--yes")
    home.run(
        "concept",
        "split",
        "Harbour",
        "spring-tide",
        "--document",
        "Harbour/copy of wind.md",
        "--name",
        "high-water",
        "--yes",
    )
    home.run("ingest", documents / "lighthouse.md", "--force")
    home.run("regenerate", "Bee keeping", "--strategy", "popularity", "--yes")
    home.wait()


def keep(home: Home) -> None:
    """Write the archive of a home that is not mounted."""
    seen = home.observe()
    print(home.run("check", "--deep"), file=sys.stderr)
    told = home.folder.with_name(SEEN)
    told.write_text(json.dumps(seen, sort_keys=True, separators=(",", ":")) + "\n")
    for name in AT_REST:
        shutil.rmtree(home.folder / name, ignore_errors=True)
    ARCHIVE.parent.mkdir(exist_ok=True)
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for path in (home.folder, told):
            archive.add(path, path.name, filter=_nobody)


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kgfs-golden-") as folder:
        home = Home(Path(folder) / "home")
        try:
            home.mount()
            fill(home)
            home.umount()
            keep(home)
        finally:
            for mountpoint in (home.top, home.garage):
                if os.path.ismount(mountpoint):
                    subprocess.run([sys.executable, "-m", "kgfs", "umount", mountpoint, "--lazy"], check=False)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
