"""Memory of blocks: used again, and never while somebody holds it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.stores.garage.reader import Buffers

SIZE = 8192


def test_memory_that_nobody_holds_is_used_again() -> None:
    buffers = Buffers(SIZE, 1)
    one = buffers.take(SIZE)
    one[:4] = b"held"
    other = buffers.take(SIZE)
    assert bytes(other[:4]) != b"held"
    del one
    assert bytes(buffers.take(3)) == b"hel"


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 4))
def test_what_is_held_is_nobody_elses(steps: list[int], spare: int) -> None:
    """A step takes one more, of so many bytes, or lets go of the one held longest."""
    buffers = Buffers(SIZE, spare)
    held: list[tuple[int, memoryview]] = []
    for number, step in enumerate(steps):
        if step < 3 and held:
            held.pop(0)
        else:
            taken = buffers.take(step * 900)
            taken[:] = bytes([number]) * len(taken)
            held.append((number, taken))
        assert all(bytes(view) == bytes([of]) * len(view) for of, view in held)
