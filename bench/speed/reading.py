"""Works that read: the first and the second time after mounting."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.speed.homes import BIG, Size, home_of
from bench.speed.mounts import SERVERS, Mounted
from bench.speed.plan import read_plan
from bench.speed.result import ON_SERVERS, Row, against, seconds
from bench.speed.sizes import MB, MEMORY, Bench
from bench.speed.timing import call, cpu_note, increase, settle, timed


def find_large(bench: Bench) -> Iterator[Row]:
    yield from _first_and_second(
        bench,
        f"find -maxdepth 2 over {bench.many_concepts} concepts",
        bench.large,
        lambda mount: call("find", str(mount.bench / "concepts"), "-maxdepth", "1"),
        (1.5, 1.1),
    )


def find_full(bench: Bench) -> Iterator[Row]:
    yield from _first_and_second(
        bench,
        f"find to the full depth over {bench.concepts} concepts",
        bench.full,
        lambda mount: call("find", str(mount.bench / "concepts")),
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
            lambda mount: call("ls", "-lU", str(mount.bench / "concepts")),
            (1.5, 1.1),
        )
    )
    yield rows[1]


def grep(bench: Bench) -> Iterator[Row]:
    yield from _first_and_second(
        bench,
        f"grep -r over {bench.documents} documents",
        bench.originals,
        lambda mount: call("grep", "-r", "--exclude", BIG, "no such word", str(mount.bench / "documents"), status=1),
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
        bench,
        f"read {bench.big // MB} MiB sequentially",
        bench.originals,
        work,
        (1.3, 1.3),
        extra=None,
        memory=MEMORY + bench.big,
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
                taken[side].append(timed(call, "head", "-c", "100", str(mount.bench / "documents" / BIG)))
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
    memory: int = 0,
) -> Iterator[Row]:
    """The first and the second time after mounting, each side in its turn; where it fills so many bytes of the kernel's pages,
    those are there before."""
    taken: list[dict[str, list[float]]] = [{side: [] for side in bench.sides} for _ in budgets]
    requests: list[dict[str, Mapping[str, int]]] = [{}, {}]
    computed: list[dict[str, list[float]]] = [{side: [] for side in bench.sides} for _ in budgets]
    asked: list[Mapping[str, int]] = [{}, {}]
    for _ in range(bench.samples):
        for side in bench.sides:
            settle(bench.scratch, memory)
            with bench.mounted(side, home) as mount:
                if side == SERVERS and memory:
                    mount.turn_to_servers()  # else it would do so in the middle of a tenth of a second that is measured
                for turn in range(2):
                    before, cpu, servers = mount.requests(), mount.cpu(), mount.asked()
                    taken[turn][side].append(timed(run, mount))
                    computed[turn][side].append(mount.cpu() - cpu)
                    requests[turn][side] = increase(before, mount.requests())
                    if side == SERVERS:
                        asked[turn] = increase(servers, mount.asked())
    for turn, (name, budget, more) in enumerate(zip(("first", "second"), budgets, (None, extra), strict=True)):
        note = cpu_note(computed[turn]) + _asked(asked[turn], seconds(taken[turn][bench.sides[0]]))
        limit = ON_SERVERS if bench.servers else budget
        yield against(f"{work}, {name}", limit, taken[turn], requests[turn], more, note)


def _asked(counts: Mapping[str, int], taken: float) -> str:
    """A mount looks four times a second whether the graph changed, whatever else it does."""
    return "".join(f", asked of the {store}: {count} in {taken:.1f} s" for store, count in counts.items())
