"""Drawing a sample of ids that others may take away meanwhile."""

from __future__ import annotations

import pytest

from kgfs.stores.graph.scoped import draw, stepwise

IDS = [f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}" for number in range(300)]


@pytest.mark.parametrize("left", [300, 250, 20, 1])
def test_a_sample_comes_to_an_end_where_most_ids_left_since_they_were_counted(left: int) -> None:
    ids = sorted(IDS[:left])
    drawn = draw(7, 100, 300, stepwise(lambda at, n: [i for i in ids if i >= at][:n]), lambda: ids)
    assert len(drawn) == len(set(drawn)) == min(100, left)
    assert set(drawn) <= set(ids)
