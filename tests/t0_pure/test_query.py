"""What people type into a search, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.errors import BadInputError
from kgfs.knowledge.query import FILTERS, Query, parse

DAY = 86_400 * 10**9


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        ("what is a koan?", Query("what is a koan?")),
        ('zen "old  monks" -short', Query("zen old  monks", ("old monks",), ("short",))),
        ('-"two words" x', Query("x", without=("two words",))),
        ("path:documents/a/ type:.MD x", Query("x", paths=("a/",), types=("md",))),
        ('concept:"context manager" ontology:Zen', Query("", concepts=("context manager",), ontology="Zen")),
        ("after:1970-01-02 before:1971", Query("", after=DAY, before=365 * DAY)),
        ("std::vector http://a.b/c 10:30 note: x", Query("std::vector http://a.b/c 10:30 note: x")),
        ('koan" - "" x', Query("koan - x")),
        ("snake_case camelCase naïve", Query("snake_case camelCase naïve")),
        ("nai\u0308ve path:cafe\u0301/ foot\u00adnote", Query("naïve footnote", paths=("café/",))),
    ],
)
def test_the_parts_of_a_question(asked: str, query: Query) -> None:
    assert parse(asked) == query


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("colour:red", "'colour:' is no filter"),
        ("-path:a", "not possible"),
        ("after:soon", "is no date"),
        ("before:2024-02-30", "is no date"),
        ('type:""', "needs"),
        ("ontology:A ontology:B", "once"),
        ("koan \ud800-1", "lone surrogate"),
    ],
)
def test_what_is_wrong_is_told_with_the_remedy(asked: str, told: str) -> None:
    with pytest.raises(BadInputError, match=told):
        parse(asked)


@given(st.text(alphabet='ab:-" /\0path2') | st.text())
def test_any_words_are_a_question_or_told(asked: str) -> None:
    try:
        query = parse(asked)
    except BadInputError as error:
        assert ":" in asked and any(f"{key}:" in str(error) for key in [*FILTERS, "'"])
    else:
        assert all(phrase for phrase in query.phrases)
