"""Cold reads of a garage in a bucket beside the ``minio`` client's own: ``python -m bench.bucket [--server NAME] [--rate RATE]``.

Both get the same objects from the same server, in turns: whole by the client, into nothing (``get_object`` and ``read``) and
into files (``fget_object``), and block by block through the garage with an empty cache, as a mount does: until the last byte is
here ("cold"), and until all of it stands in the cache too ("kept"), which is written behind the reader. The last side is the
garage with what is cached so. ``--rate``
(Linux, root) puts a network of that rate between them, as ``tc`` writes it: without one the server takes half of what this
machine can do.
Prints medians of wall and CPU seconds of this process, their ratios to what the client takes into nothing, and that of "cold"
to what it takes into files, for the garage keeps what it reads as well; goal: wall of "cold" ≤ 1.3.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bench.settled import settle
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.s3.client import client_of
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from scripts.servers import minio, process, seaweedfs

SERVERS = {"seaweedfs": seaweedfs, "minio": minio}
WORKS = {"1 of 256 MiB": (1, 256 << 20), "32 of 4 MiB": (32, 4 << 20), "400 of 20 KiB": (400, 20 << 10)}
ASKED = 128 << 10
"""Bytes of one read, as the kernel asks for them."""
MEMORY = 1 << 30
"""Bytes that a sample fills, of the kernel's pages: of the cache, and of the server's files."""
_HAS_NETWORK = "BENCH_RATE"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=SERVERS, default="seaweedfs")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--only", choices=WORKS, action="append")
    parser.add_argument("--rate", help="of a network between the two, e.g. 10gbit")
    arguments = parser.parse_args()
    if arguments.rate and _HAS_NETWORK not in os.environ:
        sys.exit(behind_network(arguments.rate))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "server"
        folder.mkdir()
        SERVERS[arguments.server].start(folder, ())
        try:
            for work in arguments.only or WORKS:
                measure(arguments.server, work, place_of(folder), Path(scratch), arguments.samples)
        finally:
            process.end(folder)


def behind_network(rate: str) -> int:
    """This program once more, in a network of its own that has only this rate; its exit code."""
    shaped = 'ip link set lo up && tc qdisc add dev lo root tbf rate "$0" burst 8mb latency 50ms && exec "$@"'
    again = [sys.executable, "-m", "bench.bucket", *sys.argv[1:]]
    return subprocess.run(
        ["unshare", "--net", "sh", "-c", shaped, rate, *again], env={**os.environ, _HAS_NETWORK: rate}, check=False
    ).returncode


def place_of(folder: Path) -> Endpoint:
    where = f"http://127.0.0.1:{process.ports_before(folder)[0]}"
    return Endpoint(where, "kgfs", access_key_file=folder / "access_key", secret_key_file=folder / "secret_key")


def measure(server: str, work: str, place: Endpoint, scratch: Path, samples: int) -> None:
    count, size = WORKS[work]
    keys = [f"sources/Bench/{work.replace(' ', '-')}-{n}.bin" for n in range(count)]
    with closing(S3Garage(place, scratch / "none", 0)) as garage:
        for key in keys:
            garage.objects.put(key, os.urandom(size))
    sides: dict[str, list[tuple[float, float]]] = {"client": [], "into files": [], "cold": [], "kept": [], "cached": []}
    for sample in range(samples):
        # Each a folder of its own: ext4 makes files slowly where many were removed just now.
        cache, files = (scratch / f"{kind}-{work.replace(' ', '-')}-{sample}" for kind in ("cache", "files"))
        settle(scratch, MEMORY)
        sides["client"].append(timed(lambda: by_client(place, keys, size)))
        settle(scratch, MEMORY)
        sides["into files"].append(timed(lambda files=files: into_files(place, keys, files)))  # type: ignore[misc]
        settle(scratch, MEMORY)
        garage = S3Garage(place, cache, 1 << 30)
        cold = timed(lambda garage=garage: through(garage, keys, size))  # type: ignore[misc]
        behind = timed(garage.close)
        sides["cold"].append(cold)
        sides["kept"].append((cold[0] + behind[0], cold[1] + behind[1]))
        with closing(S3Garage(place, cache, 1 << 30)) as garage:
            sides["cached"].append(timed(lambda garage=garage: through(garage, keys, size)))  # type: ignore[misc]
    wall, cpu = ({side: statistics.median(s[at] for s in found) for side, found in sides.items()} for at in (0, 1))
    shown = {
        "server": server,
        "rate": os.environ.get(_HAS_NETWORK, "loopback"),
        "work": work,
        "wall": rounded(wall),
        "cpu": rounded(cpu),
    }
    beside_files = round(wall["cold"] / wall["into files"], 2)
    print(
        json.dumps({**shown, "wall ratio": ratios(wall), "cold to files": beside_files, "cpu ratio": ratios(cpu)}),
        flush=True,
    )


def ratios(found: dict[str, float]) -> dict[str, float]:
    return {side: round(seconds / found["client"], 2) for side, seconds in found.items() if side != "client"}


def rounded(found: dict[str, float]) -> dict[str, float]:
    return {side: round(seconds, 3) for side, seconds in found.items()}


def timed(act: Callable[[], None]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - wall, time.process_time() - cpu


def by_client(place: Endpoint, keys: list[str], size: int) -> None:
    client = client_of(place)
    for key in keys:
        response = client.get_object(place.bucket, f"objects/{key}!")
        got = 0
        while piece := response.read(BLOCK):
            got += len(piece)
        response.release_conn()
        assert got == size


def into_files(place: Endpoint, keys: list[str], folder: Path) -> None:
    client = client_of(place)
    for at, key in enumerate(keys):
        client.fget_object(place.bucket, f"objects/{key}!", str(folder / str(at)))


def through(garage: S3Garage, keys: list[str], size: int) -> None:
    for key in keys:
        with closing(garage.objects.open(key)) as reader:
            for at in range(0, size, ASKED):
                assert len(reader.read_at(at, ASKED)) == min(ASKED, size - at)


if __name__ == "__main__":
    main()
