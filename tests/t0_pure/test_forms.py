"""Where a text has a form: complete, exact, and the same for each way to write it. The forms by which words are found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer import stemmer

from kgfs.domain.forms import form_key, known_among, places_of, plurals
from kgfs.domain.word_forms import LONGEST, forms_in, forms_of, stem

WORDS = [
    "context",
    "manager",
    "managers",
    "Context",
    "asyncio",
    ".",
    "Task",
    "the",
    "Ö",
    "c++",
    "\n",
    "\n\n",
    "-",
    "  ",
]
FORMS = ["context manager", "manager", "asyncio.Task", "C++", "Ö"]


def found(text: str, forms: list[str]) -> dict[str, list[str]]:
    places = places_of(text, [(0, len(text))], known_among({form_key(form): form for form in forms}))
    return {form: [text[start:end] for start, end in spans] for form, spans in places.items()}


def test_case_number_hyphen_and_one_line_end_do_not_part_a_form() -> None:
    text = "A Context-manager, context\nmanagers; context\n\nmanager. An asynchronous context manager's manager. manageress"
    assert found(text, FORMS) == {
        "context manager": ["Context-manager", "context\nmanagers", "context manager"],
        "manager": ["manager", "managers", "manager", "manager", "manager"],
    }


PAIRS = (
    "invoice/invoices status/statuses bonus/bonuses radius/radiuses house/houses spouse/spouses clause/clauses use/uses excuse/excuses"
    " alias/aliases bias/biases lens/lenses series/series analysis/analyses policy/policies process/processes index/indices"
    " box/boxes database/databases license/licenses size/sizes prize/prizes quiz/quizzes potato/potatoes shoe/shoes leave/leaves"
    " shelf/shelves life/lives woman/women gas/gases api/apis uri/uris cpu/cpus wiki/wikis niche/niches branch/branches"
    " waltz/waltzes key/keys https/https"
)


@pytest.mark.parametrize("pair", PAIRS.split())
def test_one_and_many_are_one_form(pair: str) -> None:
    one, _, many = pair.partition("/")
    assert form_key(f"The old {many}") == form_key(f"the old {one}") == f"the old {one}"
    assert many in plurals(one)


def test_other_words_are_not_taken_for_many() -> None:
    for pair in ("https/http", "bus/bu", "axis/axi", "focus/focu", "class/clas", "us/u"):
        assert form_key(pair.partition("/")[0]) != pair.partition("/")[2]


@pytest.mark.parametrize(
    "typed", ["Zählerstand", "Za\u0308hlerstand", "Zähler\u00adstand", "Za\u0308h\u200bler\u200dstand", "zahlerstand"]
)
def test_a_word_is_one_however_it_was_typed(typed: str) -> None:
    assert forms_in(f"der {typed}, alt") == ["der", stem("zahlerstand"), "alt"]
    if "a\u0308" in typed or "ä" in typed:  # accents part names, as they part words of a language
        assert form_key(typed) == form_key("Zählerstand")
        assert found(f"Am {typed} lag es.", ["Zählerstand"]) == {"Zählerstand": [typed]}


def test_signs_belong_to_names() -> None:
    assert found("asyncio.Task, asyncio Task, C++ and C; Tasks of asyncio.tasks", FORMS) == {
        "asyncio.Task": ["asyncio.Task", "asyncio.tasks"],
        "C++": ["C++"],
    }


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.data())
def test_places_are_complete_and_within_the_spans(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    cut = data.draw(st.sampled_from([0, len(text), *(at for at, char in enumerate(text) if char == " ")]))
    spans = [(0, cut), (cut, len(text))] if data.draw(st.booleans()) else [(cut, len(text))]
    places = places_of(text, spans, known_among({form_key(form): form for form in FORMS}))
    for form, some in places.items():
        assert [*some] == sorted({*some})
        for start, end in some:
            assert form_key(text[start:end]) == form_key(form)
            assert any(first <= start and end <= last for first, last in spans)
    grepped = [m.span() for m in re.finditer(r"(?i)\bmanagers?\b", text)]
    whole = [span for span in grepped if any(first <= span[0] and span[1] <= last for first, last in spans)]
    assert [*places.get("manager", ())] == whole


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
