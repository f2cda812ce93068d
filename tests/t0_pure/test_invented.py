"""What a language model states is checked against its document: numbers, names and dates that stand nowhere, and the claims' rules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kgfs.domain.dates import own_day
from kgfs.domain.invented import Grounds
from kgfs.domain.knowledge import Quote
from kgfs.ingest.reading.claims import found_claim
from kgfs.ingest.reading.stated import _is_common
from kgfs.models.contract import RawClaim, RawQuote
from tests.support.model_server import COMPANY

PAGES = [json.loads((path.parents[1] / "annotations" / f"{path.stem}.json").read_text()) for path in COMPANY]
NAMES = [name for page in PAGES for concept in page["concepts"] for name in (concept["label"], *concept["aliases"])]
DOMAINS = {
    name: tuple(words)
    for name, words in json.loads((Path(__file__).parents[1] / "data" / "gate.json").read_text())["domains"].items()
}
QUOTE = Quote(0, 1, 0, False, 0.0)


def grounds(text: str) -> Grounds:
    return Grounds(text, labels=NAMES, domains=DOMAINS, date=own_day(text), common=_is_common)


def raw(**fields: Any) -> RawClaim:
    known = {"role": "metric", "scope": "tactical", "authority": "high", "confidence": 0.9, "timeframe": "unknown"}
    return RawClaim(**{"quote": RawQuote("x"), "domain": "", "actor": "Acme", **known, **fields})


def test_annotated_claims_hold_and_changed_ones_do_not() -> None:
    held = changed = caught = 0
    reasons: list[str] = []
    for path, page in zip(COMPANY, PAGES, strict=True):
        text = path.read_text()
        ground = grounds(text)
        for one in page["claims"]:
            claim = RawClaim(**{**one, "quote": RawQuote(one["quote"])})
            found = found_claim(claim, QUOTE, text, ground, DOMAINS, 20)
            held += not found.rejected
            reasons += [found.rejected] * bool(found.rejected)
            number = re.search(r"\d+", one["claim"])
            if number is not None:
                changed += 1
                caught += bool(ground.invented(one["claim"].replace(number[0], f"7{number[0]}93", 1)))
    assert held >= 0.97 * sum(len(page["claims"]) for page in PAGES), reasons
    assert caught >= 0.98 * changed > 50


@pytest.mark.parametrize(
    ("text", "said", "invented"),
    [
        ("Revenue was $3,757.11.", "It was 3757.11 dollars, or 3,757.", ()),
        ("Revenue was $3,757.11.", "It was $3,758.", ("3,758",)),
        ("On 2025-07-04 it closed.", "In July 2025, on 4 July, it closed.", ()),
        ("On 2025-07-04 it closed.", "In August 2025 it closed.", ("August",)),
        ("Eight percent left.", "Of them 8 percent left.", ()),
        ("ten people came", "Twelve people came.", ("Twelve",)),
        ("the harbour crew met", "The crew of Wexford met.", ("Wexford",)),
    ],
)
def test_values_and_names_compare(text: str, said: str, invented: tuple[str, ...]) -> None:
    assert Grounds(text, common=_is_common).invented(said) == invented


def test_last_year_is_that_of_the_document() -> None:
    ground = Grounds("In June of last year it was less.", date="2025-07-04")
    assert ground.invented("In June 2024 it was less.") == ()
    assert ground.invented("In June 2023 it was less.") == ("2023",)


@pytest.mark.parametrize(
    ("fields", "quote", "reason"),
    [
        ({"claim": "Acme grew."}, None, "quote not found"),
        ({"claim": "Acme grew.", "role": "opinion"}, QUOTE, "wrong role"),
        ({"claim": "Acme grew.", "role": "quote"}, QUOTE, "role quote"),
        ({"claim": "It grew."}, QUOTE, "no actor"),
        ({"claim": "Acme grew by 12."}, QUOTE, "invented"),
        ({"claim": "Acme grew, as this document says."}, QUOTE, "not self-contained"),
        ({"claim": "Acme grew."}, QUOTE, "too short"),
        ({"claim": "Acme grew " + "and grew " * 10}, QUOTE, ""),
    ],
)
def test_claims_are_refused_for_the_first_reason(fields: dict[str, Any], quote: Quote | None, reason: str) -> None:
    text = "Acme grew and grew."
    assert found_claim(raw(**fields), quote, text, Grounds(text, common=_is_common), {}, 20).rejected == reason


def test_domains_are_asked_of_claims_where_they_are_set() -> None:
    text = "Acme grew and grew."
    for domain, reason in (("SEO", "no domain keyword"), ("Cooking", "wrong domain")):
        claim = raw(claim="Acme grew.", domain=domain)
        assert found_claim(claim, QUOTE, text, Grounds(text), {"SEO": ("ranking",)}, 0).rejected == reason
