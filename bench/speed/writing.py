"""Works that write: each sample on a mount of its own with nothing in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.speed.homes import write_big
from bench.speed.mounts import FLOOR, SERVERS, Mounted
from bench.speed.result import ON_SERVERS, Row, against, seconds
from bench.speed.sizes import MB, MEMORY, Bench
from bench.speed.timing import call, cpu_note, increase, settle, timed


def cp_one(bench: Bench) -> Iterator[Row]:
    source = bench.scratch / f"source-{bench.big}"
    if not source.exists():
        write_big(source, bench.big)
    grown: list[float] = []

    def work(mount: Mounted) -> float:
        before = mount.memory()
        taken = timed(lambda: call("cp", str(source), str(writable(mount) / "copied.txt")))
        if mount.side == bench.sides[0]:
            grown.append(mount.memory("VmHWM") - before)
        return taken

    taken, requests, computed = _writing(bench, work)
    limit = ON_SERVERS if bench.servers else 2.0
    yield against(f"cp {bench.big // MB} MiB into documents/", limit, taken, requests, note=cpu_note(computed))
    yield Row(f"cp {bench.big // MB} MiB: growth of the mount's memory", max(grown), 64, unit="MiB")


def cp_small(bench: Bench) -> Iterator[Row]:
    source = _small_files(bench)

    def serial(mount: Mounted) -> float:
        return timed(lambda: call("cp", "-r", str(source), str(writable(mount) / "copied")))

    taken, requests, computed = _writing(bench, serial)
    measured = bench.sides[0]
    rate = bench.documents / seconds(taken[measured])
    note = f"{rate:.0f} files/s, {cpu_note(computed)}"
    limit = ON_SERVERS if bench.servers else 4.0
    yield against(f"cp -r {bench.documents} files of 2 KB", limit, taken, requests, note=note)

    def by_eight(mount: Mounted) -> float:
        folder = writable(mount)
        parts = sorted(source.iterdir())

        def run() -> None:
            running = [
                subprocess.Popen(["cp", "-r", *map(str, parts[n::8]), str(folder / f"part-{n}")]) for n in range(8)
            ]
            if any(process.wait() for process in running):
                raise SystemExit("cp failed")

        for n in range(8):
            (folder / f"part-{n}").mkdir()
        return timed(run)

    together, requests, computed = _writing(bench, by_eight, bench.homes)
    note = f"{bench.documents / seconds(together[measured]):.0f} files/s, {cpu_note(computed)}"
    if bench.servers:
        yield against("the same by 8 writers at once", limit, together, requests, note=note)
        return
    yield Row(
        "the same by 8 writers at once, against the serial rate",
        seconds(taken[measured]) / seconds(together[measured]),
        1.2,
        at_least=True,
        taken=together,
        requests=requests,
        note=note,
    )


def _small_files(bench: Bench) -> Path:
    """A folder of 80 folders of small files."""
    source = bench.scratch / f"small-{bench.documents}"
    if not source.exists():
        for n in range(bench.documents):
            folder = source / f"folder-{n % 80:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{n:06d}.txt").write_bytes((f"File {n}.\n" * 300).encode()[:2048])
    return source


def writable(mount: Mounted) -> Path:
    """A folder to write in: an ontology's documents/ with kgfs."""
    if not mount.bench.exists():
        mount.bench.mkdir()
        if mount.side == FLOOR:
            (mount.bench / "documents").mkdir()
    return mount.bench / "documents"


def _writing(
    bench: Bench, work: Callable[[Mounted], float], sides: Sequence[str] = ()
) -> tuple[dict[str, list[float]], dict[str, Mapping[str, int]], dict[str, list[float]]]:
    """Each sample on a mount of its own with nothing in it: seconds, requests, and seconds computed by the mount."""
    sides = sides or bench.sides
    taken: dict[str, list[float]] = {side: [] for side in sides}
    computed: dict[str, list[float]] = {side: [] for side in sides}
    requests: dict[str, Mapping[str, int]] = {}
    for _ in range(bench.samples):
        for side in sides:
            settle(bench.scratch, MEMORY + bench.big)
            with bench.mounted(side, None) as mount:
                if side == SERVERS:
                    mount.turn_to_servers()  # else it would do so under the writers, in its first seconds alone
                before, cpu = mount.requests(), mount.cpu()
                taken[side].append(work(mount))
                computed[side].append(mount.cpu() - cpu)
                requests[side] = increase(before, mount.requests())
    return taken, requests, computed
