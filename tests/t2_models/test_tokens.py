from __future__ import annotations

import pytest

from kgfs.errors import ModelMissingError
from kgfs.models import tokens


@pytest.mark.models
def test_counts_are_those_of_cl100k_and_need_no_network(no_network: None) -> None:
    counting = tokens.Cl100k(tokens.read_vocabulary())
    assert counting.name == "cl100k_base"
    # Known from the reference implementation.
    assert counting.counts(["", "hello world", "tiktoken is great!", "antidisestablishmentarianism"]) == [0, 2, 6, 6]


@pytest.mark.models
@pytest.mark.parametrize(
    "text", ["", "a", "naïve café", "字" * 50, "\r\n\t \x0c", "👩‍👩‍👧", "e\u0301" * 9, "\ud800 lone", "<|endoftext|>"]
)
def test_any_text_is_counted_alone_as_in_company(text: str) -> None:
    counting = tokens.Cl100k()
    assert counting.counts([text, "other", text]) == [counting.count(text), 1, counting.count(text)]
    assert (counting.count(text) == 0) == (text == "")


def test_without_the_vocabulary_counts_are_estimates_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ModelMissingError("gone")

    monkeypatch.setattr(tokens, "read_vocabulary", missing)
    tokens.shared_vocabulary.cache_clear()
    try:
        counting = tokens.load()
    finally:
        tokens.shared_vocabulary.cache_clear()
    assert counting.name == "estimate"
    prose = "The generator yields values to its caller, and the caller sends values back. " * 20
    assert counting.count(prose) == pytest.approx(301, rel=0.1)
    assert counting.counts([prose, ""]) == [counting.count(prose), 0]
