"""The same life on embedded stores and on servers: ``python -m bench.servers DIR --config FILE``.

``make servers`` starts servers and writes the FILE. Both sides are mounted and used by ordinary programs, one after the
other at each step; the side of the servers has a place of its own on them, which is left for looking at. Cold means: mounted
anew, and with nothing in the local cache of the bucket.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

WAIT = 7200
PATTERN = "generator"
QUESTION = "garbage collection of reference cycles"


@dataclass
class Side:
    name: str
    home: Path
    mountpoint: Path
    config: Path | None = None
    place: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def kgfs(self, *words: str) -> str:
        options = ["--home", str(self.home), *(["--config", str(self.config)] if self.config else [])]
        asked = [sys.executable, "-m", "kgfs", words[0], *options, *words[1:]]
        done = subprocess.run(asked, env={**os.environ, **self.place}, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{self.name}: kgfs {' '.join(words)} exited with {done.returncode}: {done.stderr}")
        return done.stdout

    def shell(self, command: str) -> None:
        subprocess.run(command, shell=True, cwd=self.mountpoint, stdout=subprocess.DEVNULL, check=True)

    def mount(self) -> None:
        self.kgfs("mount", str(self.mountpoint))

    def umount(self) -> None:
        self.kgfs("umount", str(self.mountpoint))

    def anew(self, *, cold: bool) -> None:
        self.umount()
        if cold:
            shutil.rmtree(self.home / "cache", ignore_errors=True)
        self.mount()


Step = Callable[[Side], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--forget", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    files = sorted(path for path in options.folder.iterdir() if path.is_file())
    with tempfile.TemporaryDirectory(prefix="kgfs-servers-") as folder:
        sides = [
            side(Path(folder), "embedded", None),
            side(Path(folder), "servers", options.config.absolute()),
        ]
        for one in sides:
            one.mount()
            one.shell("mkdir Bench")
        try:
            for name, step in steps(files, options.forget):
                for one in sides:
                    started = time.perf_counter()
                    step(one)
                    if name:
                        one.seconds[name] = round(time.perf_counter() - started, 3)
                if name:
                    print(line_of(name, sides), flush=True)
        finally:
            for one in sides:
                if os.path.ismount(one.mountpoint):
                    one.kgfs("umount", "--lazy", str(one.mountpoint))
        if options.json:
            options.json.write_text(json.dumps({one.name: one.seconds for one in sides}, indent=1))


def side(folder: Path, name: str, config: Path | None) -> Side:
    (mountpoint := folder / f"{name}-mnt").mkdir()
    own = f"bench-{secrets.token_hex(4)}"
    place = {
        "KGFS_GARAGE_PREFIX": f"{own}/",
        "KGFS_GRAPH_NAMESPACE": own,
        "KGFS_VECTORS_PREFIX": own,
    }
    return Side(name, folder / name, mountpoint, config, place if config else {})


def steps(files: list[Path], forget: int) -> list[tuple[str, Step]]:
    """Names and steps; those without a name are not measured."""
    words = " ".join(f"'{path.absolute()}'" for path in files)
    leaving = [f"Bench/{path.name}" for path in files[:forget]]
    cat = "find Bench/concepts -name source.txt | head -n 10000 | xargs cat"
    return [
        ("cp -r, as seen by cp", lambda one: one.shell(f"cp {words} Bench/documents/")),
        ("ingest, until nothing is owed", lambda one: _ignore(one.kgfs("wait", "--timeout", str(WAIT)))),
        ("", lambda one: one.anew(cold=True)),
        ("find, first", lambda one: one.shell("find Bench")),
        ("find, second", lambda one: one.shell("find Bench")),
        ("grep -r documents, cold", lambda one: one.shell(f"grep -r {PATTERN} Bench/documents")),
        ("grep -r documents, warm", lambda one: one.shell(f"grep -r {PATTERN} Bench/documents")),
        ("cat 10,000 source.txt, cold", lambda one: one.shell(cat)),
        ("cat 10,000 source.txt, warm", lambda one: one.shell(cat)),
        ("search", lambda one: _ignore(one.kgfs("search", QUESTION, "--ontology", "Bench"))),
        ("", lambda one: one.umount()),
        (f"forget {len(leaving)}", lambda one: _ignore(one.kgfs("forget", *leaving, "--yes"))),
        ("rebuild", lambda one: _ignore(one.kgfs("rebuild", "--yes"))),
    ]


def _ignore(said: str) -> None:
    del said


def line_of(name: str, sides: list[Side]) -> str:
    embedded, servers = (one.seconds[name] for one in sides)
    return f"| {name} | {embedded:.2f} s | {servers:.2f} s | {servers / max(embedded, 0.001):.2f} |"


if __name__ == "__main__":
    main()
