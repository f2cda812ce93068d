"""The works of the table, by name: each measures both sides in turns and says how they compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.speed import closing, large, reading, writing
from bench.speed.result import Row
from bench.speed.sizes import Bench

WORKS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "find-large": reading.find_large,
    "find-full": reading.find_full,
    "ls": reading.ls,
    "grep": reading.grep,
    "cat": reading.cat,
    "read": reading.read_one,
    "head": reading.head,
    "cp-large": writing.cp_one,
    "cp-small": writing.cp_small,
    "close": closing.close,
    "lookup": large.lookup,
    "start": large.start,
    "memory": large.walk_twice,
}
