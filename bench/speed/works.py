"""The works of the table: each measures both sides in turns and says how they compare."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ParamSpec

from bench.speed.homes import BIG, Size, home_of, write_big
from bench.speed.mounts import FLOOR, KGFS, SERVERS, Mounted
from bench.speed.plan import read_plan
from bench.speed.result import ON_SERVERS, Row, against, seconds
from bench.speed.sizes import MB, Bench

P = ParamSpec("P")
CLOSINGS = 1000
"""Samples of close() at least, for a 99th percentile."""


# ------------------------------------------------------------------------------------------ reading


def find_large(bench: Bench) -> Iterator[Row]:
    yield from _first_and_second(
        bench,
        f"find -maxdepth 2 over {bench.many_concepts} concepts",
        bench.large,
        lambda mount: _run("find", str(mount.bench / "concepts"), "-maxdepth", "1"),
        (1.5, 1.1),
    )


def find_full(bench: Bench) -> Iterator[Row]:
    yield from _first_and_second(
        bench,
        f"find to the full depth over {bench.concepts} concepts",
        bench.full,
        lambda mount: _run("find", str(mount.bench / "concepts")),
        (1.5, 1.1),
    )


def ls(bench: Bench) -> Iterator[Row]:
    count = min(20_000, bench.many_concepts)
    home = Size("concepts", concepts=count, evidence=1)
    rows = list(
        _first_and_second(
            bench,
            f"ls -lU of {count} names",
            home,
            lambda mount: _run("ls", "-lU", str(mount.bench / "concepts")),
            (1.5, 1.1),
        )
    )
    yield rows[1]


def grep(bench: Bench) -> Iterator[Row]:
    yield from _first_and_second(
        bench,
        f"grep -r over {bench.documents} documents",
        bench.originals,
        lambda mount: _run("grep", "-r", "--exclude", BIG, "no such word", str(mount.bench / "documents"), status=1),
        (1.5, 1.15),
        extra=None,
    )


def cat(bench: Bench) -> Iterator[Row]:
    plan = read_plan(home_of(bench.scratch, bench.full).plan)
    wanted = [planned.path for planned in plan if planned.path.endswith("/source.txt")]

    def work(mount: Mounted) -> None:
        names = "".join(f"{mount.path}/{path}\0" for path in wanted)
        subprocess.run(["xargs", "-0", "cat"], input=names.encode(), stdout=subprocess.DEVNULL, check=True)

    yield from _first_and_second(
        bench, f"cat of {len(wanted)} evidence source.txt", bench.full, work, (2.0, 1.15), extra=None
    )


def read_one(bench: Bench) -> Iterator[Row]:

    def work(mount: Mounted) -> None:
        # dd would stop to count; cat notices that both ends are one pipe. Memory of the reader stays flat either way.
        with (mount.bench / "documents" / BIG).open("rb", buffering=0) as file:
            buffer = bytearray(MB)
            while file.readinto(buffer):
                pass

    first, second = _first_and_second(
        bench, f"read {bench.big // MB} MiB sequentially", bench.originals, work, (1.3, 1.3), extra=None
    )
    yield first
    ours, theirs = (second.requests[side].get("read", 0) for side in bench.sides)
    yield Row(
        second.work.replace(", second", f" again: read requests above those of {bench.sides[1]}"),
        ours - theirs,
        0,
        unit="",
        taken=second.taken,
        requests=second.requests,
    )


def head(bench: Bench) -> Iterator[Row]:
    taken: dict[str, list[float]] = {side: [] for side in bench.sides}
    disk = 0.0
    for _ in range(bench.samples):
        for side in bench.sides:
            with bench.mounted(side, bench.originals) as mount:
                before = _read_by(mount)
                taken[side].append(_timed(_run, "head", "-c", "100", str(mount.bench / "documents" / BIG)))
                if side == bench.sides[0]:
                    disk = max(disk, (_read_by(mount) - before) / MB)
    work = f"head -c 100 of {bench.big // MB} MiB, cold"
    if bench.servers:
        yield against(work, ON_SERVERS, taken)
    yield Row(f"{work}: MiB read", disk, 2, unit="MiB", taken=taken)


def _read_by(mount: Mounted) -> int:
    """Bytes the process has read, from wherever."""
    lines = Path(f"/proc/{mount.process.pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def _first_and_second(
    bench: Bench,
    work: str,
    home: Size,
    run: Callable[[Mounted], None],
    budgets: tuple[float, float],
    extra: int | None = 10,
) -> Iterator[Row]:
    """The first and the second time after mounting, each side in its turn."""
    taken: list[dict[str, list[float]]] = [{side: [] for side in bench.sides} for _ in budgets]
    requests: list[dict[str, Mapping[str, int]]] = [{}, {}]
    computed: list[dict[str, list[float]]] = [{side: [] for side in bench.sides} for _ in budgets]
    asked: list[Mapping[str, int]] = [{}, {}]
    for _ in range(bench.samples):
        for side in bench.sides:
            with bench.mounted(side, home) as mount:
                for turn in range(2):
                    before, cpu, servers = mount.requests(), mount.cpu(), mount.asked()
                    taken[turn][side].append(_timed(run, mount))
                    computed[turn][side].append(mount.cpu() - cpu)
                    requests[turn][side] = _more(before, mount.requests())
                    if side == SERVERS:
                        asked[turn] = _more(servers, mount.asked())
    for turn, (name, budget, more) in enumerate(zip(("first", "second"), budgets, (None, extra), strict=True)):
        note = _cpu(computed[turn]) + _asked(asked[turn], seconds(taken[turn][bench.sides[0]]))
        limit = ON_SERVERS if bench.servers else budget
        yield against(f"{work}, {name}", limit, taken[turn], requests[turn], more, note)


def _asked(counts: Mapping[str, int], taken: float) -> str:
    """A mount looks four times a second whether the graph changed, whatever else it does."""
    return "".join(f", asked of the {store}: {count} in {taken:.1f} s" for store, count in counts.items())


def _cpu(computed: Mapping[str, Sequence[float]]) -> str:
    return "CPU of the mounts " + " / ".join(f"{seconds(taken):.2f}" for taken in computed.values()) + " s"


def _more(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}


# ------------------------------------------------------------------------------------------ writing


def cp_one(bench: Bench) -> Iterator[Row]:
    source = bench.scratch / f"source-{bench.big}"
    if not source.exists():
        write_big(source, bench.big)
    grown: list[float] = []

    def work(mount: Mounted) -> float:
        before = mount.memory()
        taken = _timed(lambda: _run("cp", str(source), str(_writable(mount) / "copied.txt")))
        if mount.side == bench.sides[0]:
            grown.append(mount.memory("VmHWM") - before)
        return taken

    taken, requests, computed = _writing(bench, work)
    limit = ON_SERVERS if bench.servers else 2.0
    yield against(f"cp {bench.big // MB} MiB into documents/", limit, taken, requests, note=_cpu(computed))
    yield Row(f"cp {bench.big // MB} MiB: growth of the mount's memory", max(grown), 64, unit="MiB")


def cp_small(bench: Bench) -> Iterator[Row]:
    source = _small_files(bench)

    def serial(mount: Mounted) -> float:
        return _timed(lambda: _run("cp", "-r", str(source), str(_writable(mount) / "copied")))

    taken, requests, computed = _writing(bench, serial)
    measured = bench.sides[0]
    rate = bench.documents / seconds(taken[measured])
    note = f"{rate:.0f} files/s, {_cpu(computed)}"
    limit = ON_SERVERS if bench.servers else 4.0
    yield against(f"cp -r {bench.documents} files of 2 KB", limit, taken, requests, note=note)

    def by_eight(mount: Mounted) -> float:
        folder = _writable(mount)
        parts = sorted(source.iterdir())

        def run() -> None:
            running = [
                subprocess.Popen(["cp", "-r", *map(str, parts[n::8]), str(folder / f"part-{n}")]) for n in range(8)
            ]
            if any(process.wait() for process in running):
                raise SystemExit("cp failed")

        for n in range(8):
            (folder / f"part-{n}").mkdir()
        return _timed(run)

    together, requests, computed = _writing(bench, by_eight, bench.homes)
    note = f"{bench.documents / seconds(together[measured]):.0f} files/s, {_cpu(computed)}"
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


def _writable(mount: Mounted) -> Path:
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
            os.sync()
            with bench.mounted(side, None) as mount:
                before, cpu = mount.requests(), mount.cpu()
                taken[side].append(work(mount))
                computed[side].append(mount.cpu() - cpu)
                requests[side] = _more(before, mount.requests())
    return taken, requests, computed


def close(bench: Bench) -> Iterator[Row]:
    """The 99th percentile of close() of a small file, idle and while a large text is being committed; and that of
    fsync() of a file beside the mount, which shows what the disk itself makes of such company."""
    found = {side: _idle_and_busy(bench, side) for side in bench.homes}
    work = f"p99 of close() while a {bench.text // MB} MB text is committed"
    if bench.servers:
        yield against(work, ON_SERVERS, {side: [busy[0]] for side, (_, busy) in found.items()})
    idle, busy = found[bench.sides[0]]
    yield Row(
        f"{work}, against idle",
        busy[0] / idle[0],
        3.0,
        note=f"idle {idle[0] * 1e3:.2f} ms, busy {busy[0] * 1e3:.2f} ms; fsync beside the mount"
        f" {idle[1] * 1e3:.2f} ms, {busy[1] * 1e3:.2f} ms",
    )


def _idle_and_busy(bench: Bench, side: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """99th percentiles of (close, fsync), idle and while a text is committed."""
    with bench.mounted(side, None) as mount:
        folders = _writable(mount), mount.path.with_name("plain")
        folders[1].mkdir()
        home = mount.path.with_name("home")
        _closings(folders, "warm", lambda: False)
        idle = _closings(folders, "idle", lambda: False)
        writer = subprocess.Popen(
            [sys.executable, "-m", "bench.speed.committing", str(home), str(bench.text)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        busy = _closings(folders, "busy", lambda: writer.poll() is None)
        writer.terminate()
        writer.wait()
    return (
        (_percentile(idle[0], 0.99), _percentile(idle[1], 0.99)),
        (_percentile(busy[0], 0.99), _percentile(busy[1], 0.99)),
    )


def _closings(folders: tuple[Path, Path], name: str, go_on: Callable[[], bool]) -> tuple[list[float], list[float]]:
    """Seconds of each close() in the first folder, and of each fsync() in the second, in turns."""
    closed: list[float] = []
    synced: list[float] = []
    while len(closed) < CLOSINGS or (go_on() and len(closed) < 5 * CLOSINGS):
        for folder, taken in zip(folders, (closed, synced), strict=True):
            file = (folder / f"{name}-{len(taken)}.txt").open("wb", buffering=0)
            file.write(b"x" * 2048)
            taken.append(_timed(file.close if taken is closed else partial(os.fsync, file.fileno())))
            file.close()
        time.sleep(0.001)
    return closed, synced


def _percentile(samples: Sequence[float], share: float) -> float:
    return sorted(samples)[int(len(samples) * share)]


# ------------------------------------------------------------------------------------- large stores


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
                    sides[side].append(_timed(_stat_all, names))
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


def start(bench: Bench) -> Iterator[Row]:
    taken: dict[str, list[float]] = {side: [] for side in bench.homes}
    memory: dict[str, list[float]] = {side: [] for side in bench.homes}
    for _ in range(bench.samples):
        for side in bench.homes:
            with bench.mounted(side, bench.names(bench.million)) as mount:
                (mount.bench / "concepts").stat()
                taken[side].append(mount.seconds)
                memory[side].append(mount.memory())
    measured = bench.sides[0]
    notes = ["", ""]
    if bench.servers:  # a client of each server is loaded and speaks to it: the budget is that of any home
        ratios = (seconds(taken[SERVERS]) / seconds(taken[KGFS]), max(memory[SERVERS]) / max(memory[KGFS]))
        notes = [f"{ratio:.2f} times that of files" for ratio in ratios]
    work = f"mount start with {bench.million} concepts, s"
    yield Row(work, seconds(taken[measured]), 1.0, unit="s", taken=taken, note=notes[0])
    yield Row("its memory, MiB", max(memory[measured]), 150, unit="MiB", note=notes[1])


def walk_twice(bench: Bench) -> Iterator[Row]:
    with bench.mounted(bench.sides[0], bench.names(bench.million)) as mount:
        memory = []
        for _ in range(2):
            _run("find", str(mount.bench / "concepts"), "-maxdepth", "1")
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
    while mount.memory() != before or mount.cpu() - computed > 0.5:
        before, computed = mount.memory(), mount.cpu()
        time.sleep(5)
    return before


# ------------------------------------------------------------------------------------------- inside


def _run(*words: str, status: int = 0) -> None:
    done = subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}")


def _stat_all(names: Sequence[Path]) -> None:
    for name in names:
        name.stat()


def _timed(work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> float:
    started = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - started


WORKS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "find-large": find_large,
    "find-full": find_full,
    "ls": ls,
    "grep": grep,
    "cat": cat,
    "read": read_one,
    "head": head,
    "cp-large": cp_one,
    "cp-small": cp_small,
    "close": close,
    "lookup": lookup,
    "start": start,
    "memory": walk_twice,
}
