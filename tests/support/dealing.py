"""How tests are dealt to the processes of a parallel run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

_ON_S3 = re.compile(r"t1_stores/test_(garage|ledger|s3)")
_KILLS_NEO4J = re.compile(r"t6_whole/test_outages_mounted|t1_stores/test_projection_outages")
_LONG = (
    "t6_whole/test_outages_mounted",
    "t1_stores/test_garage",  # with all others of S3
    "t6_whole/test_projected_home",
    "t1_stores/test_projection",
    "t1_stores/test_graph",
    "t6_whole/test_mending_killed",
    "t6_whole/test_migrate",
    "t6_whole/test_kills",
    "t6_whole/test_vectors_on_server",
    "t5_mount/test_stress",
    "t6_whole/test_outages",
    "t6_whole/test_durability",
    "t6_whole/test_ray",
    "t6_whole/test_s3_home",
    "t6_whole/test_history",
    "t3_ingest/test_engines",
    "t5_mount/test_search",
    "t5_mount/test_elsewhere",
    "t6_whole/test_backup",
)
"""Beginnings of names of files that take longest: dealt at the end, one of them would be waited for by all other processes."""


def shares(path: str) -> str:
    """Whose tests stay in one process: a file's, for its mount; all files' of S3, whose servers each process starts anew; and
    those that kill a Neo4j, for the same reason. The other Neo4j is for all processes."""
    return "s3" if _ON_S3.search(path) else "mortal" if _KILLS_NEO4J.search(path) else path


def soonest(item: pytest.Item) -> tuple[int, int]:
    """Sorts tests: the longest files first; then by rung, as the higher ones take longer."""
    path = Path(item.nodeid.partition("::")[0]).as_posix().removeprefix("tests/")
    rung = re.match(r"t(\d)_", path)
    first = next((at for at, name in enumerate(_LONG) if path.startswith(name)), len(_LONG))
    if _ON_S3.search(path):
        first = _LONG.index("t1_stores/test_garage")
    return first, -int(rung[1]) if rung else 0


class DealByFile(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return shares(super()._split_scope(nodeid))
