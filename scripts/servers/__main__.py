"""Start, show or end real servers: ``python -m scripts.servers start [NAME …] [--folder .servers]``.

Starting what runs is harmless; a server that ended comes back on the ports and with the data it had. One that cannot be
had here keeps none of the others from starting. After a start ``FOLDER/kgfs.toml`` is a configuration for ``--config`` of
every verb.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

from scripts.servers import minio, neo4j, process, qdrant_wire, seaweedfs

SERVERS: dict[str, ModuleType] = {
    "neo4j": neo4j,
    "minio": minio,
    "seaweedfs": seaweedfs,
    "qdrant-wire": qdrant_wire,
}
S3 = ("minio", "seaweedfs")
"""Of these one is written into the configuration: the first that was started."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.servers", description=__doc__)
    parser.add_argument("verb", choices=("start", "stop", "show", "install"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SERVERS)}; all when none is named")
    parser.add_argument("--folder", type=Path, default=Path(".servers"))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in SERVERS]
    if unknown:
        parser.error(f"no server is called {unknown[0]}; known are {', '.join(SERVERS)}")
    folder = arguments.folder.absolute()
    failed = []
    for name in arguments.names or SERVERS:
        try:
            VERBS[arguments.verb](name, folder / name)
        except SystemExit as error:
            failed.append(name)
            print(f"{name}: {error}", file=sys.stderr)
    if arguments.verb == "start":
        write_settings(folder)
    # One of the two S3 servers does, where neither was asked for by name.
    if failed and (arguments.names or arguments.verb != "start" or len(failed) > 1 or failed[0] not in S3):
        raise SystemExit(1)


def start(name: str, folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (found := process.running(folder)) is None:
        for port in process.ports_before(folder):
            if process.taken(port):
                raise SystemExit(
                    f"port {port} is taken by another program. End that, or remove {folder / 'running.json'}."
                )
        print(f"{name}\tstarting …", file=sys.stderr)
        found = SERVERS[name].start(folder, process.ports_before(folder))
    print(f"{name}\tprocess {found.pid}\tport {found.ports[0]}")


def stop(name: str, folder: Path) -> None:
    if process.end(folder):
        print(f"{name}\tended")


def show(name: str, folder: Path) -> None:
    found = process.running(folder)
    print(f"{name}\tprocess {found.pid}\tport {found.ports[0]}" if found else f"{name}\tnot running")


def install(name: str, folder: Path) -> None:
    print(f"{name}\t{SERVERS[name].install()}")


def write_settings(folder: Path) -> None:
    """What was ever started, as a configuration: one that does not run now is a server that is away, and a home on it is to
    find no other instead. It names files of secrets and holds none."""
    known = {name: ports for name in SERVERS if (ports := process.ports_before(folder / name))}
    by_age = sorted(known.keys() & S3, key=lambda name: (folder / name / "access_key").stat().st_mtime)
    parts = [
        SERVERS[name].settings(folder / name, ports)
        for name, ports in known.items()
        if name not in S3 or name == by_age[0]
    ]
    (folder / "kgfs.toml").write_text("\n".join(parts))
    print(f"configuration\t{folder / 'kgfs.toml'}", file=sys.stderr)


VERBS = {"start": start, "stop": stop, "show": show, "install": install}

if __name__ == "__main__":
    main()
