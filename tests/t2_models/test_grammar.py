from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.models import grammar
from kgfs.models.grammar import English, pieces_of


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab \n.", max_size=400), st.integers(4, 60))
def test_pieces_cover_a_text_and_are_bounded(text: str, size: int) -> None:
    spans = pieces_of(text, size)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(end - start <= size for start, end in spans)


@pytest.mark.models
def test_the_grammar_loads_and_reads_without_the_network(no_network: None) -> None:
    pipeline = grammar.read_pipeline()
    assert [word.text for word in pipeline("It works.")] == ["It", "works", "."]


@pytest.mark.models
def test_long_texts_are_read_in_pieces_with_their_offsets(english: English) -> None:
    text = "A sentence about nothing much.\n\n" * 1500
    ((first, *rest), (short,)) = english.read([text, "Short \ud800 one."])
    assert rest
    assert first[0] == 0
    assert all(text[offset : offset + len(doc.text)] == doc.text for offset, doc in (first, *rest))
    assert short[1].text == "Short \ufffd one."


@pytest.mark.models
def test_a_verb_is_seen(english: English) -> None:
    assert english.has_verb("The generator yields values.")
    assert not english.has_verb("The quick generator.")
    assert not english.has_verb("")
