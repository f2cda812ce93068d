"""The filesystem scenarios on a small tree, without a kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kgfs.tree.vfs import Vfs, space_of
from tests.support.scenarios.filesystem import SCENARIOS, Scenario
from tests.support.scenarios.memory import Loop, MemoryDriver
from tests.support.scenarios.small_tree import Tree


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.stop()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(scenario: Scenario, loop: Loop) -> None:
    vfs = Vfs(Tree().root, lambda: space_of("/"))
    scenario(MemoryDriver(loop, vfs, b"documents"))
    assert len(vfs.inodes) == 1, "every lookup was given back"
    assert len(vfs.handles) == 0, "everything was closed"
