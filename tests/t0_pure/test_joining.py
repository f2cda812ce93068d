from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.ingest.reading import joining
from kgfs.ingest.reading.joining import acronyms, join, variants


def _found(label: str, score: float = 0.5, start: int = 0) -> FoundConcept:
    return FoundConcept(label, normalise_label(label), (label,), "term", score, "", (Quote(start, start + 4, 0),))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bug", "bugs"),
        ("split brain", "split-brain"),
        ("Type Hint", "type hints"),
        ("namespace", "name space"),
        ("asyncio.Task", "asyncio.Task object"),
        ("PEP", "Python Enhancement Proposal"),
    ],
)
def test_forms_of_one_thing_are_joined(one: str, other: str) -> None:
    text = "Read the Python Enhancement Proposal (PEP) first."
    (joined,), _ = join([_found(one, 0.6), _found(other, 0.5, 9)], [], text)
    assert joined.label == one
    assert joined.forms == (one, other)
    assert [quote.start for quote in joined.quotes] == [0, 9]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Python 2", "Python 3"),
        ("native coroutine", "coroutine"),
        ("garden object", "garden"),
        ("process", "proces"),
        ("API", "application interface"),
    ],
)
def test_what_a_reader_keeps_apart_stays_apart(one: str, other: str) -> None:
    assert len(join([_found(one), _found(other)], [], "The API has an application interface.")[0]) == 2


def test_relationships_follow_their_ends() -> None:
    reported = FoundRelationship("bugs", "USES", "feature", Quote(0, 4, 0), 0.8)
    within = FoundRelationship("bug", "RELATED_TO", "bugs", Quote(0, 4, 0), 0.5)
    _, kept = join([_found("bug", 0.6), _found("bugs"), _found("feature")], [reported, within], "")
    assert [(one.subject, one.object) for one in kept] == [("bug", "feature")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the Global Interpreter Lock (GIL) is", {"gil": "global interpreter lock"}),
        ("an *application programming interface* (**API**)", {"api": "application programming interface"}),
        ("many Active Project Contributors (APCs) vote", {"apc": "active project contributor"}),
        ("the directed acyclic graph (DAG)", {"dag": "directed acyclic graph"}),
        ("Hypertext Transfer Protocol (HTTP) servers", {"http": "hypertext transfer protocol"}),
        ("the old way (NOT the new one)", {}),
        ("he met his wife (JS)", {}),
        ("Message Passing (MP), also Member Protocol (MP)", {}),
    ],
)
def test_acronyms_are_taken_as_the_text_introduces_them(text: str, expected: dict[str, str]) -> None:
    assert acronyms(text) == expected


PIECES = [
    "Global Interpreter Lock",
    "(GIL)",
    "Message\nPassing",
    "(MP)",
    "\n\n",
    "\n",
    "\n*",
    " ",
    "_",
    "(",
    ")",
    ".",
    "x",
    " \n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_a_text_is_searched_for_acronyms_in_parts_as_if_at_once(text: str) -> None:
    at_once = acronyms(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "PART", 0)
        assert "".join(joining._parts(text)) == text
        assert acronyms(text) == at_once


def test_variants_of_a_label() -> None:
    assert set(variants("context-managers")) == {
        "context managers", "context manager", "context-manager", "contextmanager",
    }  # fmt: skip
    assert variants("class") == []
