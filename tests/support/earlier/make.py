"""Write the earlier homes: ``python -m tests.support.earlier.make OUT COMMIT``, in a checkout of that commit.

Each archive has the folder ``home`` (and ``other``, a second home, with ``bucket``: the objects of the bucket that both share), each JSON
file what :mod:`.observe` read of it, and ``made_by``, the commit. The homes are at rest: nothing is mounted, waits or is owed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.endpoint import Endpoint
from scripts.servers import process, seaweedfs
from tests.support.earlier import contents
from tests.support.earlier.observe import observe

MTIME = 1_772_000_000
"""Seconds since 1970 that the files were last changed at, some minutes apart."""
AT_REST = ("cache", "log", "spool")
"""Folders of a home that hold nothing between two uses."""

QUICK = {"KGFS_PIPELINE_SETTLE": "0.5", "KGFS_PIPELINE_CHUNK_TOKENS": "60"}
"""The environment of all commands: short documents have several Sources."""


class Home:
    """A home that the command line and a mount are used on."""

    def __init__(self, folder: Path, settings: str, **environment: str) -> None:
        self.folder = folder
        self.top = folder.with_name(f"{folder.name}.mnt")
        self.garage = folder.with_name(f"{folder.name}.garage")
        for path in (self.top, self.garage):
            path.mkdir()
        folder.mkdir(mode=0o700)
        (folder / "config.toml").write_text(settings)
        self._environment = {**os.environ, **QUICK, "KGFS_HOME": str(folder), **environment}

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
    home.run("concept", "merge", "Harbour", "fog-signal", "fog-bell", "--yes")
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


def conflict(home: Home, other: Home) -> None:
    """Save one path in two homes at once until one of the two contents became a conflict's version."""
    for n in range(20):
        for at, words in ((home, "first"), (other, "second")):
            put(
                at.top / "Harbour" / "documents",
                b"both.txt",
                f"The {words} harbour master was number {n}.\n".encode(),
                MTIME + n,
            )
        for at in (home, other):
            at.wait()
        time.sleep(1)
        if json.loads(home.run("status", "--json"))["conflicts"]:
            return
    raise SystemExit("no conflict came about")


def embedded(out: Path, commit: str, folder: Path) -> None:
    home = Home(folder / "home", "")
    home.mount()
    fill(home)
    home.umount()
    keep(out / "files", commit, [home], {})


def in_bucket(out: Path, commit: str, folder: Path) -> None:
    (folder / "seaweedfs").mkdir()
    seaweedfs.start(folder / "seaweedfs", [])
    try:
        place = Endpoint(
            endpoint=f"http://127.0.0.1:{process.ports_before(folder / 'seaweedfs')[0]}",
            bucket="kgfs",
            prefix="earlier",
            access_key_file=folder / "seaweedfs" / "access_key",
            secret_key_file=folder / "seaweedfs" / "secret_key",
        )
        settings = (
            f'[garage]\nstore = "s3"\nshared = true\nendpoint = "{place.endpoint}"\nprefix = "earlier"\n'
            f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\n'
        )
        home, other = (Home(folder / name, settings, KGFS_MODELS_EMBEDDER="none") for name in ("home", "other"))
        home.mount()
        other.mount()
        fill(home)
        other.wait()
        conflict(home, other)
        put(
            other.top / "Harbour" / "documents",
            b"from the other.md",
            b"# Other\n\nThe other home has a pilot boat, too.\n",
            MTIME,
        )
        other.wait()
        home.wait()
        time.sleep(15)  # each has told the other how far it has followed
        for at in (home, other):
            at.umount()
        bucket = Bucket(place)
        # What is observed first, then kept: observing writes nothing but how far a home has followed.
        keep(out / "bucket", commit, [home, other], {}, bucket)
    finally:
        process.end(folder / "seaweedfs")


def keep(goal: Path, commit: str, homes: list[Home], notes: dict[str, Any], bucket: Bucket | None = None) -> None:
    """Write the JSON file and the archive of homes that are not mounted."""
    seen = [home.observe() for home in homes]
    trash = sorted(json.loads(row)["path"] for row in homes[0].run("trash", "list", "--json").splitlines())
    documents = json.loads(homes[0].run("status", "--json"))["documents"]
    print(homes[0].run("check", "--deep"), file=sys.stderr)
    if any(one != seen[0] for one in seen):
        raise SystemExit("the homes do not show the same")
    body = {"made_by": commit, "trash": trash, "states": documents, **notes, **seen[0]}
    goal.with_suffix(".json").write_text(json.dumps(body, sort_keys=True, separators=(",", ":")) + "\n")
    with tarfile.open(goal.with_suffix(".tar.xz"), "w:xz", preset=9) as archive:
        for home in homes:
            for name in AT_REST:
                shutil.rmtree(home.folder / name, ignore_errors=True)
            (home.folder / "config.toml").unlink()
            archive.add(home.folder, home.folder.name, filter=_nobody)
        if bucket is not None:
            _add_objects(archive, bucket, homes[0].folder.with_name("bucket"))


def _add_objects(archive: tarfile.TarFile, bucket: Bucket, folder: Path) -> None:
    """Add each object as ``bucket/<number>``, and their names and metadata as ``bucket/objects.json``."""
    folder.mkdir()
    rows = []
    for n, listed in enumerate(bucket.listed("")):
        found, raw = bucket.get(listed.name)
        (folder / str(n)).write_bytes(raw)
        rows.append({"name": found.name, "meta": dict(found.meta)})
    (folder / "objects.json").write_text(json.dumps(rows, indent=1))
    archive.add(folder, "bucket", filter=_nobody)


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    out, commit = Path(sys.argv[1]).absolute(), sys.argv[2]
    out.mkdir(exist_ok=True)
    for make in (embedded, in_bucket):
        with tempfile.TemporaryDirectory(prefix="kgfs-earlier-") as folder:
            try:
                make(out, commit, Path(folder))
            finally:
                for mountpoint in (*Path(folder).glob("*.mnt"), *Path(folder).glob("*.garage")):
                    if os.path.ismount(mountpoint):
                        subprocess.run([sys.executable, "-m", "kgfs", "umount", mountpoint, "--lazy"], check=False)


if __name__ == "__main__":
    main()
