"""The forms by which words are found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer import stemmer

from kgfs.domain.word_forms import LONGEST, forms_in, forms_of, stem


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("Running", ("run",)),
        ("run_target", ("run_target", "run", "target")),
        ("DiffExecutor", ("diffexecutor", "diff", "executor")),
        ("HTTPServer", ("httpserver", "http", "server")),
        ("utf8", ("utf8", "utf", "8")),
        ("__aexit__", ("aexit",)),
        ("Zürich", ("zurich",)),
        ("naïve", ("naiv",)),
        ("検索語", ("検", "索", "語", "検索", "索語")),
        ("Python入門", ("python", "入", "門", "入門")),
        ("___", ()),
    ],
)
def test_a_word_has_its_stem_its_parts_or_its_characters(word: str, forms: tuple[str, ...]) -> None:
    assert forms_of(word) == forms


@given(st.text(max_size=60))
def test_forms_are_short_and_do_not_depend_on_what_stands_around(text: str) -> None:
    forms = forms_in(text)
    assert all(0 < len(form) <= LONGEST for form in forms)
    assert forms_in(f"{text} zen") == [*forms, "zen"]


@given(st.text("検索語入門日本", min_size=2, max_size=8), st.data())
def test_a_part_of_a_run_without_spaces_has_no_other_forms(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 2))
    end = data.draw(st.integers(start + 2, len(run)))
    assert set(forms_of(run[start:end])) <= set(forms_of(run))


@given(st.text("abcdeghilmnoprstuvyé'", max_size=12), st.sampled_from(["", "ing", "ational", "ies", "fully", "izers"]))
def test_both_stemmers_give_the_same_stems(word: str, suffix: str) -> None:
    assert stem(word + suffix) == stemmer("english").stemWord(word + suffix)
