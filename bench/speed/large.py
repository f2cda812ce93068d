"""Works on a home with many names: looking them up, starting, memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.speed.mounts import KGFS, SERVERS, Mounted
from bench.speed.result import ON_SERVERS, Row, against, seconds
from bench.speed.sizes import Bench
from bench.speed.timing import call, timed

CHANGE = 0.5
"""MiB and seconds of CPU within which a mount that nobody uses is at rest: one on servers asks what is new."""


def lookup(bench: Bench) -> Iterator[Row]:
    counts = (bench.million, 1000)
    taken: dict[int, dict[str, list[float]]] = {count: {side: [] for side in bench.homes} for count in counts}
    for _ in range(bench.samples):
        for count, sides in taken.items():
            for side in sides:
                with bench.mounted(side, bench.names(count)) as mount:
                    folder = mount.bench / "concepts"
                    names = [folder / f"concept-{n:07d}.concept" for n in range(0, count, count // 1000)]
                    folder.stat()
                    sides[side].append(timed(_stat_all, names))
    if bench.servers:
        for count, sides in taken.items():
            yield against(f"lookup of 1000 names among {count}", ON_SERVERS, sides)
        return
    many, few = (sides[KGFS] for sides in taken.values())
    yield Row(
        f"lookup among {bench.million} names against 1000 names",
        seconds(many) / seconds(few),
        1.2,
        taken={"many": many, "few": few},
        note="(both kgfs)",
    )


def _stat_all(names: Sequence[Path]) -> None:
    for name in names:
        name.stat()


def start(bench: Bench) -> Iterator[Row]:
    taken: dict[str, list[float]] = {side: [] for side in bench.homes}
    memory: dict[str, list[float]] = {side: [] for side in bench.homes}
    later: list[float] = []
    for _ in range(bench.samples):
        for side in bench.homes:
            with bench.mounted(side, bench.names(bench.million)) as mount:
                (mount.bench / "concepts").stat()
                taken[side].append(mount.seconds)
                memory[side].append(mount.memory())
                if side == SERVERS:
                    mount.turn_to_servers()
                    later.append(mount.memory())
    work = f"mount start with {bench.million} concepts"
    if bench.servers:
        yield against(work, ON_SERVERS, taken)
        ours, theirs = max(memory[SERVERS]), max(memory[KGFS])
        yield Row("its memory", ours / theirs, ON_SERVERS, note=f"{ours:.0f} MiB, {theirs:.0f} MiB")
        yield Row("its memory once it has turned to its servers, MiB", max(later), 150, unit="MiB")
        return
    measured = bench.sides[0]
    yield Row(f"{work}, s", seconds(taken[measured]), 1.0, unit="s", taken=taken)
    yield Row("its memory, MiB", max(memory[measured]), 150, unit="MiB")


def walk_twice(bench: Bench) -> Iterator[Row]:
    with bench.mounted(bench.sides[0], bench.names(bench.million)) as mount:
        memory = []
        for _ in range(2):
            call("find", str(mount.bench / "concepts"), "-maxdepth", "1")
            peak = mount.memory("VmHWM")
            Path("/proc/sys/vm/drop_caches").write_text("2")
            memory.append(_settled_memory(mount))
    yield Row(
        f"memory after the second find over {bench.million} names, above the first",
        memory[1] - memory[0],
        24,
        unit="MiB",
        note=f"{memory[0]:.0f} → {memory[1]:.0f} MiB, peak {peak:.0f}",
    )


def _settled_memory(mount: Mounted) -> float:
    """Once the kernel has told all it forgot, which takes its time."""
    before, computed = -1.0, mount.cpu()
    while abs(mount.memory() - before) > CHANGE or mount.cpu() - computed > CHANGE:
        before, computed = mount.memory(), mount.cpu()
        time.sleep(5)
    return before
