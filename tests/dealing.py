"""How tests are dealt to the processes of a parallel run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

_ON_A_SERVER = {
    "neo4j": re.compile(r"t1_stores/test_graph|test_graph_on_server"),
    "s3": re.compile(r"t1_stores/test_(garage|ledger|s3)"),
}


def shares(path: str) -> str:
    """Whose tests stay in one process: a file's, for its mount; all files' of one server, which starts slowly."""
    return next((server for server, files in _ON_A_SERVER.items() if files.search(path)), path)


def soonest(item: pytest.Item) -> tuple[bool, int]:
    """Sorts tests: those of servers first, as one process does them all; then by rung, as the higher ones take longer."""
    path = Path(item.nodeid.partition("::")[0]).as_posix()
    rung = re.search(r"/t(\d)_", path)
    return shares(path) == path, -int(rung[1]) if rung else 0


class DealByFile(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return shares(super()._split_scope(nodeid))
