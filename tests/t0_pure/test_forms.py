"""Where a text has a form: complete, exact, and the same for each way to write it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.forms import form_key, known_among, places_of

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
