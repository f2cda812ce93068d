from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.models.embedder import MiniLM, windows_of

TOPICS = (
    "The harbour master counted the ships that came in with the evening tide.",
    "A compiler turns the source of a program into instructions of the machine.",
    "Bread rises because yeast turns sugar into carbon dioxide.",
    "The court found that the contract had been void from the beginning.",
    "Glaciers carve valleys while they creep towards the sea.",
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 20_000), st.integers(40, 400), st.integers(0, 30))
def test_windows_cover_all_tokens_and_share_some(length: int, size: int, overlap: int) -> None:
    spans = windows_of(length, size, overlap)
    assert spans[0][0] == 0
    assert spans[-1][1] == length
    assert all(end - start <= size for start, end in spans)
    assert all(before[1] - after[0] in (overlap - 1, overlap, overlap + 1) for before, after in pairwise(spans))


@pytest.mark.models
def test_the_model_loads_and_embeds_without_the_network(no_network: None, quantised: bool) -> None:
    (vectors,) = MiniLM(threads=1, quantised=quantised).embed(["a text"])
    assert vectors.shape == (1, 384)


@pytest.mark.models
def test_rows_have_length_one_and_an_empty_text_is_one_window(minilm: MiniLM) -> None:
    found = minilm.embed(["", "word", "word " * 600])
    assert [len(rows) for rows in found] == [1, 1, 3]
    for rows in found:
        assert rows.dtype == np.float32
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert minilm.embed([]) == []


@pytest.mark.models
def test_a_text_has_the_same_vectors_in_any_company(quantised: bool) -> None:
    alone = MiniLM(threads=1, quantised=quantised).embed([TOPICS[0]])[0]
    company = MiniLM(threads=1, quantised=quantised).embed(["x", TOPICS[1] * 9, TOPICS[0], *TOPICS[2:], TOPICS[0]])
    assert np.array_equal(alone, company[2])
    assert np.array_equal(alone, company[-1])


@pytest.mark.models
def test_what_is_remembered_is_what_was_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgfs.models.embedder.REMEMBERED", 2)
    small = MiniLM(threads=1)
    first = small.embed(list(TOPICS))
    again = small.embed(list(TOPICS))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.models
@pytest.mark.parametrize("topic", TOPICS)
def test_the_last_sentence_of_a_long_text_is_found_by_its_vector(minilm: MiniLM, topic: str) -> None:
    filling = " ".join(
        f"Paragraph {n} is about the weather of day {n}, which was mild and rather cloudy." for n in range(110)
    )
    long_text = f"{filling} {topic}"
    (query,), long_windows = (minilm.embed([topic])[0], minilm.embed([long_text])[0])
    (decoys,) = (minilm.embed([filling]),)
    assert len(long_windows) > 7, "about 2,000 tokens"
    own = long_windows @ query
    assert int(own.argmax()) == len(long_windows) - 1
    assert own.max() > (decoys[0] @ query).max() + 0.05


@pytest.mark.models
def test_near_things_are_near(minilm: MiniLM) -> None:
    rows = np.concatenate(
        minilm.embed(["a generator yields values", "iterators produce items lazily", "the price of butter"])
    )
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
