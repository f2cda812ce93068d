"""The same life on embedded stores and on servers: ``python -m bench.servers DIR --config FILE [--json OUT]``.

``make servers`` starts servers and writes the FILE. Both sides are mounted and used by ordinary programs, one after the
other at each group of steps. The side of the servers has a place of its own on them, which is emptied at the end. Cold means:
mounted anew, and with nothing in the local cache of the bucket. Prints a table, with what the servers call themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.error import HTTPError
from urllib.request import urlopen

from kgfs.config import Config, load
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.vectors.opening import open_vectors
from kgfs.stores.worker_lock import worker_note

WAIT = 7200
"""Seconds after which reading is given up."""
WARM = 3
"""How often it is done what is done again; the median counts."""
SOURCES = 10_000
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

    def cold(self) -> None:
        """Mount anew, with nothing of the bucket at hand."""
        self.umount()
        shutil.rmtree(self.home / "cache", ignore_errors=True)
        self.mount()

    def settings(self) -> Config:
        return load(self.home, self.config, {**os.environ, **self.place})


@dataclass(frozen=True)
class Step:
    name: str
    """Empty for what is not measured."""
    do: Callable[[Side], object]
    times: int = 1

    def measure(self, one: Side) -> None:
        taken = []
        for _ in range(self.times):
            started = time.perf_counter()
            self.do(one)
            taken.append(time.perf_counter() - started)
        if self.name:
            one.seconds[self.name] = round(statistics.median(taken), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--forget", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    files = sorted(path for path in options.folder.iterdir() if path.is_file())
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kgfs-servers-") as folder:
        sides = [side(Path(folder), "embedded", None), side(Path(folder), "servers", options.config.absolute())]
        names = peers(sides[1].settings())
        print("\n".join(f"{what}: {name}" for what, name in names.items()))
        print(f"\n| {len(files)} documents | embedded | servers | ratio |\n| --- | --- | --- | --- |", flush=True)
        try:
            for group in groups(files, options.forget):
                for one in sides:
                    for step in group:
                        step.measure(one)
                for step in group:
                    if step.name:
                        print(line_of(step.name, sides), flush=True)
        finally:
            for one in sides:
                if os.path.ismount(one.mountpoint):
                    one.kgfs("umount", "--lazy", str(one.mountpoint))
            empty(sides[1].settings())
    took = round(time.perf_counter() - began)
    print(f"\nAll of it took {took} s.")
    if options.json:
        seconds = {one.name: one.seconds for one in sides}
        figures = {"peers": names, "documents": len(files), "took": took, "seconds": seconds}
        options.json.write_text(json.dumps(figures, indent=1))


def side(folder: Path, name: str, config: Path | None) -> Side:
    (mountpoint := folder / f"{name}-mnt").mkdir()
    own = f"bench-{secrets.token_hex(4)}"
    place = {
        "KGFS_GARAGE_PREFIX": f"{own}/",
        "KGFS_GRAPH_NAMESPACE": own,
        "KGFS_VECTORS_PREFIX": own,
    }
    return Side(name, folder / name, mountpoint, config, place if config else {})


def groups(files: list[Path], forget: int) -> list[list[Step]]:
    """What one side does while the other rests, all groups in turn."""
    words = " ".join(f"'{path.absolute()}'" for path in files)
    leaving = [f"Bench/{path.name}" for path in files[:forget]]
    find, grep = "find Bench", f"grep -r {PATTERN} Bench/documents || [ $? = 1 ]"
    cat = f"find Bench/concepts -name source.txt | head -n {SOURCES} | xargs cat"
    return [
        [
            Step("", Side.mount),
            Step("", lambda one: one.shell("mkdir Bench")),
            Step("`cp` into `documents/`", lambda one: one.shell(f"cp {words} Bench/documents/")),
            Step("ingest, from then on", lambda one: one.kgfs("wait", "--timeout", str(WAIT))),
        ],
        [Step("", Side.cold), Step("`find`, first", lambda one: one.shell(find))],
        [Step("`find`, again", lambda one: one.shell(find), WARM)],
        [Step("`grep -r` in `documents/`, cold", lambda one: one.shell(grep))],
        [Step("`grep -r` in `documents/`, warm", lambda one: one.shell(grep), WARM)],
        [Step("", Side.cold), Step(f"`cat` of up to {SOURCES:,} `source.txt`, cold", lambda one: one.shell(cat))],
        [Step("the same, warm", lambda one: one.shell(cat), WARM)],
        [Step("`kgfs search`", lambda one: one.kgfs("search", QUESTION, "--ontology", "Bench"), WARM)],
        [
            Step("", Side.umount),
            Step(f"`kgfs forget` of {len(leaving)} documents", lambda one: one.kgfs("forget", *leaving, "--yes")),
        ],
        [Step("`kgfs rebuild`", lambda one: one.kgfs("rebuild", "--yes"))],
    ]


def peers(config: Config) -> dict[str, str]:
    """What the servers of a configuration call themselves."""
    found = {}
    if config.graph.store == "neo4j":
        from neo4j import GraphDatabase

        password = Path(config.graph.password_file).expanduser().read_text().strip()
        with GraphDatabase.driver(config.graph.uri, auth=(config.graph.user, password)) as driver:
            found["graph"] = driver.get_server_info().agent
    if config.garage_store.store == "s3":
        try:
            reported = urlopen(config.garage_store.endpoint).headers
        except HTTPError as refused:  # it wants a key, and tells its name all the same
            reported = refused.headers
        found["garage"] = str(reported.get("Server", "an S3 server"))
    if config.vectors.store == "qdrant":
        reported = json.load(urlopen(config.vectors.url))
        found["vectors"] = f"{reported['title']} {reported['version']}"
    return found


def empty(config: Config) -> None:
    """Take what a home has on servers off them; the home is of no use afterwards."""
    if config.vectors.store == "qdrant" and (model := str(worker_note(config.run).get("embedder", ""))):
        with closing(open_vectors(config, model)) as vectors:
            vectors.clear()
    if config.garage_store.store == "s3":
        from kgfs.stores.garage.s3.garage import S3Garage

        with closing(open_garage(config)) as garage:
            bucket = cast(S3Garage, garage)._bucket  # the garage itself never deletes its ledger
            for found in list(bucket.listed("")):
                bucket.delete(found.name)


def line_of(name: str, sides: list[Side]) -> str:
    embedded, servers = (one.seconds[name] for one in sides)
    return f"| {name} | {embedded:.2f} s | {servers:.2f} s | {servers / max(embedded, 0.001):.2f} |"


if __name__ == "__main__":
    main()
