"""Relationships that headings and lists state."""

from __future__ import annotations

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, Quote
from kgfs.domain.text import Chunk
from kgfs.formats.table import parse
from kgfs.ingest.reading.by_headings import with_headings

TEXT = """# Handbook

## 1. Health Insurance (HI)

Every employee has health insurance from Oakline, see the list:

- **Glasses**: half of the price.
- Dentures: by agreement.

### Dental Insurance

The travel fund (not Oakline) pays for the dental insurance of retired people.

## Parking

Oakline owns the garage.
"""


def _related(*labels: str, odds: float = 2.0) -> list[tuple[str, str, str, str]]:
    text = parse("handbook.md", TEXT.encode())
    chunk = Chunk(0, 0, len(text.text), 1, 20, 0, len(TEXT), (), 100, 0)
    concepts = [
        FoundConcept(one, normalise_label(one), (one,), "term", 0.5, "", (Quote(0, 1, 0),), odds) for one in labels
    ]
    found = with_headings(text, [chunk], concepts, [])
    return [(one.subject, one.type, one.object, TEXT[one.quote.start : one.quote.end]) for one in found]


def test_a_lower_heading_and_the_leads_of_a_list_are_narrower() -> None:
    assert _related("Dental Insurance", "Health insurance", "glasses", "dentures") == [
        ("dental insurance", "BROADER", "health insurance", "### Dental Insurance"),
        ("glasses", "BROADER", "health insurance", "- **Glasses**: half of the price."),
        ("dentures", "BROADER", "health insurance", "- Dentures: by agreement."),
    ]


def test_the_first_sentence_below_a_heading_relates_what_it_names() -> None:
    [(first, type_, second, quote)] = _related("dental insurance", "travel fund", "oakline")
    assert (first, type_, second) == ("dental insurance", "RELATED_TO", "travel fund")
    assert quote.startswith("### Dental") and quote.endswith("retired people.")


def test_what_is_a_term_or_stands_everywhere_is_not_related() -> None:
    assert _related("Dental Insurance", "Health insurance", odds=-1.0) == []
    assert _related("parking", "oakline") == []  # Oakline stands in three of four sections
