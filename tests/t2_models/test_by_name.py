from __future__ import annotations

import pytest

from kgfs.models.extractor.by_name import restricts
from kgfs.models.grammar import English


@pytest.mark.models
@pytest.mark.parametrize(
    ("phrase", "kind"),
    [
        ("an asynchronous context manager", True),
        ("a water wheel", True),
        ("the Python interpreter", True),
        ("a former president", False),
        ("the resulting process", False),
        ("a larger buffer", False),
        ("the first argument", False),
        ("the lower tract", False),
        ("a virtual machine", False),
        ("a non-blocking call", False),
        ("the type of the result", False),
        ("the koan", False),
    ],
)
def test_first_words_restrict_the_last_or_do_not(english: English, phrase: str, kind: bool) -> None:
    ((_, doc),) = english.read([f"We saw {phrase} there."])[0]
    first = 3 if doc[2].lower_ in ("a", "an", "the") else 2
    assert restricts(doc, first, len(doc) - 2) == kind
