"""Claims of a language model: what is refused and why, and the fields that rules fill."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import date
from math import inf, nan
from typing import Any

import pytest

from kgfs.domain.domains import Domains, checked
from kgfs.domain.invented import Grounds
from kgfs.domain.knowledge import FoundClaim, Quote
from kgfs.ingest.reading.claims import class_of, found_claim, horizon_of
from kgfs.models.contract import RawClaim, RawQuote
from tests.support.annotated import annotated
from tests.support.model_server import DATA

DOMAINS: Domains = {"SEO": ("ranking", "organic traffic"), "SaaS": ("churn",)}
TEXT = "In June 2025 Acme Ltd lost 38 percent of its organic traffic, I/O and World War I in the US aside. We saw it."
GROUNDS = Grounds(TEXT, domains=DOMAINS, date="2025-07-01")
QUOTE = Quote(13, 60, 0)
CLAIM = RawClaim(
    "In June 2025 Acme Ltd lost 38 percent of its organic traffic.",
    RawQuote("lost 38 percent of its organic traffic"),
    *("Acme Ltd", "June 2025", "metric", "seo", "tactical", "high", 0.9),
)
MENDED: list[tuple[str, dict[str, Any]]] = [
    *(("quote not found", {"quote": QUOTE}), ("role quote", {"role": "metric"})),
    *(("wrong scope", {"scope": "tactical"}), ("wrong authority", {"authority": "low"}), ("no actor", {"actor": "we"})),
    *(("wrong domain", {"domain": "SaaS"}), ("no domain keyword", {"domain": "SEO"})),
    ("invented", {"claim": "We lost 38 rankings."}),
    *(("not self-contained", {"claim": "Acme lost 38 rankings.", "actor": "Acme"}), ("too short", {"min_tokens": 4})),
]
WHOLE = """Acme Ltd ran I/O and lived through World War I. | Acme Ltd says “we lost our traffic”. | US: Acme Ltd lost.
    Acme Ltd reads the header and the text. | 'I' is what Acme Ltd writes"""
POINTING = """Acme Ltd, I saw, lost traffic. | If I may, Acme Ltd lost. | I'm of Acme Ltd. | As the passage has, Acme Ltd lost.
    In the traffic section of it Acme Ltd lost. | This document is of Acme Ltd. | Acme Ltd lost it, the document says.
    Acme Ltd saw us. | We of Acme Ltd lost. | Acme Ltd lost our traffic."""
ACTORS = """author: the author, We, authors of PEP 8 | company: Acme Inc., Northwind GmbH, the company
    standard: PEP 8, ISO 8601, RFC-2119 | platform: ad network, a search engine | product: the free plan, scheduling app
    person: Ada Lovelace, Vincent van Gogh, J. Doe | other: content decay, Ada, ?"""
HORIZONS = """It rose. / metric / June 2025 / past | It rises. / metric / June 2025 / present | It rose. / metric / / past
    It sells. / metric / 2026 / future | It begins. / instruction / August 2025 / future | It is. / metric / inferred / present
    It will rise. / metric / June 2025 / future | It will be kept. / definition / unknown / timeless
    Call them. / instruction / / timeless | It was accepted. / strategic_claim / 2026 / past
    It planned to. / metric / 2019 / past | It decided to. / instruction / 2025-09-01 / future"""


def judged(domains: Domains = DOMAINS, min_tokens: int = 5, quote: Quote | None = QUOTE, **fields: Any) -> FoundClaim:
    return found_claim(replace(CLAIM, **fields), quote, CLAIM.quote.text, GROUNDS, domains, min_tokens)


def test_all_fields_are_filled() -> None:
    found = judged(claim=" In June\n2025  Acme Ltd lost 38 percent of its organic traffic. ")
    assert (found.claim, found.domain, found.rejected, judged(domains={}).domain) == (CLAIM.claim, "SEO", "", "")
    assert (found.actor_class, found.timeframe_class, found.time_horizon) == ("company", "explicit", "past")
    assert found.added == ("June", "2025", "Acme", "Ltd")
    kept = {given: judged(confidence=given).confidence for given in (inf, -1.0, 0.4)}
    assert (kept, judged(confidence=nan).confidence) == ({inf: 1.0, -1.0: 0.0, 0.4: 0.4}, 0.0)
    classes = {given: judged(timeframe=given).timeframe_class for given in ("", "Inferred", "unknown", "spring")}
    assert classes == {"": "unknown", "Inferred": "inferred", "unknown": "unknown", "spring": "explicit"}


def test_the_first_reason_wins() -> None:
    fields: dict[str, Any] = {"claim": "We lost 39 rankings.", "actor": "Umbrella", "domain": "Gardening"}
    fields |= {"role": "quote", "scope": "wide", "authority": "", "quote": None}
    for reason, mended in MENDED:
        assert judged(**fields).rejected == reason
        fields |= mended
    said = [judged(**fields), judged(role="other"), judged(role="rumour")]
    assert [one.rejected for one in said] == ["", "role other", "wrong role"]


@pytest.mark.parametrize(("claims", "reason"), [(WHOLE, ""), (POINTING, "not self-contained")])
def test_a_claim_that_needs_its_text_or_its_writer_is_refused(claims: str, reason: str) -> None:
    each = [claim.strip() for line in claims.splitlines() for claim in line.split(" | ")]
    assert {claim: judged({}, 1, claim=claim).rejected for claim in each} == dict.fromkeys(each, reason)


def test_a_claim_names_its_actor_by_words_or_by_class() -> None:
    claim = "The company Acme Ltd lost other organic traffic."
    said = {one: judged(claim=claim, actor=one).rejected for one in ("An ACME", "Umbrella Ltd", "", "Acmes in London")}
    assert said == {"An ACME": "", "Umbrella Ltd": "", "": "no actor", "Acmes in London": "no actor"}


def test_actors_have_a_class() -> None:
    for kind, _, actors in (line.strip().partition(": ") for line in ACTORS.replace("\n", " | ").split(" | ")):
        assert [class_of(actor) for actor in actors.split(", ")] == [kind] * len(actors.split(", "))


@pytest.mark.parametrize("line", HORIZONS.replace("\n", " | ").split(" | "))
def test_horizons_are_told_by_timeframe_and_tense(line: str) -> None:
    claim, role, timeframe, horizon = (part.strip() for part in line.split("/"))
    assert horizon_of(claim, role, timeframe, date(2025, 7, 15)) == horizon


def test_nine_of_ten_annotated_claims_are_valid() -> None:
    domains = checked(json.loads((DATA.parent / "gate.json").read_text())["domains"])
    reasons = Counter[str]()
    for one in annotated():
        grounds, text = one.grounds(), " ".join(one.text.split())
        for said in one.said["claims"]:
            quote = " ".join(said["quote"].split())
            raw, span = RawClaim(**{**said, "quote": RawQuote(quote)}), QUOTE if quote in text else None
            reasons[found_claim(raw, span, quote, grounds, {} if one.is_pep else domains, 20).rejected] += 1
    assert (reasons.total(), reasons[""] >= 180) == (200, True), reasons
