from __future__ import annotations

import pytest

from kgfs.models.extractor import junk


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("", "empty"),
        ("--", "empty"),
        ("42", "number"),
        ("3.14", "number"),
        ("1,000", "number"),
        ("x", "letter"),
        ("é", "letter"),
        ("the", "stop words"),
        ("of the", "stop words"),
        ("i 2", "stop words"),
        ("https://example.org", "address"),
        ("guido@python.org", "address"),
        ("``yield``", "markup"),
        ("<div>", "markup"),
        ("a | b", "markup"),
        ("[1]", "number"),
        ("foo(bar)", "code"),
        ("x == y", "code"),
        ("x += 1", "code"),
        ("__slots__", ""),
        ("12 May 2001", "date"),
        ("March 2025", "date"),
        ("way", "hollow"),
        ("examples", "hollow"),
        ("one two three four five six seven eight", "long"),
        ("generator", ""),
        ("decorator", ""),
        ("marshalling", ""),
        ("Mayan calendar", ""),
        ("C++", ""),
        ("PEP 8", ""),
        ("NOK 900,000", "number"),
        ("ticket #12", "number"),
        ("31st", "number"),
        ("5k", "number"),
        ("Fri", "date"),
        ("Day 1", "hollow"),
        ("Python 3", ""),
        ("state-of-the-art system", ""),
        ("example program", ""),
        ("Übersetzer", ""),
        ("字典", ""),
    ],
)
def test_what_is_junk_and_why(label: str, why: str) -> None:
    assert junk.reason(label) == why


@pytest.mark.parametrize(
    ("norm", "folded"),
    [
        ("decorators", "decorator"),
        ("class bodies", "class body"),
        ("classes", "class"),
        ("boxes", "box"),
        ("caches", "cache"),
        ("types", "type"),
        ("process", "process"),
        ("analysis", "analysis"),
        ("status", "status"),
        ("gas", "gas"),
        ("generators expression", "generators expression"),
    ],
)
def test_plurals_fold(norm: str, folded: str) -> None:
    assert junk.fold(norm) == folded
    assert junk.fold(folded) == folded
