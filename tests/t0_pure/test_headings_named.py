"""Which headings are names, by the function words of the document's language."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kgfs.domain.knowledge import FoundConcept
from kgfs.ingest.matching.candidates import headings_of


@dataclass(frozen=True)
class Said:
    sections: tuple[tuple[int, tuple[str, ...]], ...]
    language: str
    concepts: tuple[FoundConcept, ...] = ()
    title: str = ""


@pytest.mark.parametrize(
    ("language", "heading", "named"),
    [
        ("en", "Tide tables", True),
        ("", "Tide tables", True),
        ("en", "What the tide is", False),
        ("en", "Die Gezeiten", True),  # no function word of English
        ("de", "Die Gezeiten", False),
        ("de", "Gezeiten", True),
        ("de", "Beispiel", False),
        ("de", "Was", False),
        ("fr", "Annuaire de marées", True),
        ("fr", "Lire le niveau", False),
        ("es", "Ejemplo", False),
        ("und", "Pływy morskie", True),
    ],
)
def test_a_heading_is_a_name_where_it_is_one_run_of_words(language: str, heading: str, named: bool) -> None:
    assert bool(headings_of(Said(((0, (heading,)),), language))) == named
