"""Label, aliases and description are a function of the set of mentions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.knowledge import Mention
from kgfs.errors import BadInputError
from kgfs.render.concept import plain_form, summarise, surface_forms


def mention(
    label: str,
    *,
    doc: str = "d",
    deposit: int = 1,
    forms: tuple[str, ...] = (),
    kind: str = "term",
    score: float = 0.5,
    definition: str = "",
) -> Mention:
    return Mention(doc, deposit, label, forms or (label,), kind, score, definition)


words = st.sampled_from(["Zen", "zen", "Zens", "zazen", "Zen practice", "koan", "koans"])
mentions = st.builds(
    Mention,
    doc_id=st.sampled_from("abcdef"),
    deposit=st.integers(1, 4),
    label=words,
    forms=st.lists(words, max_size=3).map(tuple),
    kind=st.sampled_from(["term", "person"]),
    score=st.floats(0, 1),
    definition=st.sampled_from(["", "a school", "a practice"]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(mentions, min_size=1, max_size=8).flatmap(lambda ms: st.tuples(st.just(ms), st.permutations(ms))))
def test_the_order_of_mentions_is_of_no_account(pair: tuple[list[Mention], list[Mention]]) -> None:
    given_order, other_order = pair
    assert summarise(given_order) == summarise(other_order)


@settings(max_examples=200, deadline=None)
@given(st.lists(mentions, min_size=1, max_size=8))
def test_every_word_comes_from_a_mention_and_no_alias_repeats_another(given_mentions: list[Mention]) -> None:
    summary = summarise(given_mentions)
    assert summary.label in {m.label for m in given_mentions}
    assert summary.description in {m.definition for m in given_mentions} | {""}
    assert summary.kind in {m.kind for m in given_mentions}
    assert set(summary.aliases) <= surface_forms(given_mentions)
    plain = [plain_form(form) for form in (summary.label, *summary.aliases)]
    assert len(plain) == len(set(plain))
    assert {plain_form(form) for form in surface_forms(given_mentions)} == set(plain)


def test_the_label_with_the_greatest_sum_wins() -> None:
    found = summarise([mention("Zen", score=0.6), mention("zen", score=0.4), mention("zen", doc="e", score=0.3)])
    assert found.label == "zen"


def test_a_tie_goes_to_the_earliest_deposit() -> None:
    found = summarise([mention("B", deposit=2, definition="second"), mention("A", deposit=9, definition="ninth")])
    assert (found.label, found.description) == ("B", "second")


def test_the_best_definition_describes() -> None:
    found = summarise([mention("A", score=0.2, definition="weak"), mention("A", score=0.9, definition="strong")])
    assert found.description == "strong"
    assert summarise([mention("A")]).description == ""


def test_case_and_plural_make_no_alias() -> None:
    found = summarise([mention("Type hint", forms=("Type hint", "type hints", "Type-Hint", "annotation"))])
    assert found.aliases == ("annotation",)


@pytest.mark.parametrize(
    ("one", "other"),
    [("classes", "class"), ("libraries", "library"), ("Databases", "database"), ("boxes", "box")],
)
def test_plurals_are_plainly_the_same(one: str, other: str) -> None:
    assert plain_form(one) == plain_form(other)


def test_other_words_are_not_plainly_the_same() -> None:
    assert plain_form("bus") == "bus"
    assert plain_form("analysis") == "analysis"
    assert plain_form("class") == "class"


def test_no_mentions_no_concept() -> None:
    with pytest.raises(BadInputError):
        summarise([])
