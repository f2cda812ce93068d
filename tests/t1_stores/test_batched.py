"""Much in small pieces: nothing lost, nothing moved, nothing too large, no piece smaller than need be."""

from __future__ import annotations

from itertools import chain, islice, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.stores.batched import batched


@given(st.lists(st.integers(0, 20)), st.integers(1, 6), st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_portions_are_as_large_as_they_may_be(items: list[int], most: int, heaviest: int) -> None:
    found = list(batched(items, most, lambda item: item, heaviest))
    assert list(chain(*found)) == items
    for portion in found:
        assert 0 < len(portion) <= most and (sum(portion) <= heaviest or len(portion) == 1)
    for portion, following in pairwise(found):
        assert len(portion) == most or sum(portion) + following[0] > heaviest


@given(st.lists(st.integers()), st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_without_weights_all_but_the_last_are_full(items: list[int], most: int) -> None:
    found = list(batched(items, most))
    assert list(chain(*found)) == items and all(found)
    assert all(len(portion) == most for portion in found[:-1])


def test_no_item_is_asked_for_before_its_portion_is() -> None:
    rest = iter(range(10))
    assert list(islice(batched(rest, 3), 2)) == [[0, 1, 2], [3, 4, 5]]
    assert next(rest) == 6
