"""Numbers and names of a statement that stand nowhere in what it may rest on."""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Iterator

import pytest

from kgfs.domain.invented import MONTHS, Grounds
from kgfs.models.extractor.background import is_known
from tests.support.annotated import Annotated, annotated

TEXT = (
    "On 4 July 2025 Mara's team moved TrailPantry to the north-east. Last year eight of 18,000 readers paid $3,757.11,"
    " i.e. 18 % less; two hundred and five wrote. In 2019 Acme's CPU ran v3.5.1 on may-flies. It told us a 3.9 ratio."
)
GROUNDS = Grounds(TEXT, "notes/report-07.md", labels=["Orbit"], domains=["SaaS"], date="2025-07-15")


@pytest.mark.parametrize(
    "statement",
    [
        *(
            "It cost 3757.11.",
            "It cost $3,757.",
            "It fell by 18 percent.",
            "Of 18k, 8 paid.",
            "The eighth of 18 thousand.",
        ),
        *("On 2025-07-04 it moved.", "In 07/2025 it moved.", "July 4, 2025 was a Friday.", "7/4/2025 and 4.7.2025"),
        *("In 2024 eight paid.", "By 15 July 2025", "In all, 205 wrote.", "Of 0.018 million, 205 wrote."),
        *("Pantry and Trail-Pantry of Mara", "the North-East", "Teams at Acme", "Orbit is SaaS.", "Moved in 2025."),
        *(
            "One of them and the second, both in a hundredth",
            "CPUs ran 3.5.1.",
            "They moved. Moving is less.",
            "Report 7",
        ),
        *("", "?!", "It is what we and I had.", "The Readers", "hundreds of them"),
    ],
)
def test_what_stands_somewhere_in_any_way_of_writing_is_not_invented(statement: str) -> None:
    assert GROUNDS.invented(statement) == ()


@pytest.mark.parametrize(
    ("statement", "invented"),
    [
        ("It cost $3,757.12 or 3,758 or 37.", ("3,758", "37", "3,757.12")),
        ("On July 5, 2025 and 2025-07-05, in 08/2025, in 2023.", ("5", "2025-07-05", "08/2025", "2023")),
        ("Of 19k, nine paid, twenty-five wrote, two hundred left.", ("19k", "nine", "twenty-five", "two hundred")),
        ("In May and on a Monday, Tobias told IT and US.", ("May", "Monday", "Tobias", "IT", "US")),
        ("Quillon moved. Acme's Zephyr-Pantry ran 3.5.2 on UTF-8.", ("Quillon", "Zephyr-Pantry", "3.5.2", "UTF-8")),
        ("It ran at 4, not 3.9, of 10, 20 and 18 %.", ("10", "20")),
        ("Paid in May 2025, Mara's.", ("May",)),
        ("Kilo kilo KILO, 1.8 million", ("Kilo", "KILO", "1.8 million")),
    ],
)
def test_what_stands_nowhere_is_named(statement: str, invented: tuple[str, ...]) -> None:
    assert set(GROUNDS.invented(statement)) == set(invented)


def test_relative_years_and_months_need_the_documents_date() -> None:
    text = "We lost it last year, found it last month and will sell it next year and tomorrow, 9 of 10."
    dated = Grounds(text, date="2025-01-10")
    assert dated.invented("Lost in 2024, found in December 2024, sold in 2026, on Saturday, 11 January") == ()
    assert dated.invented("In 2023 and February 2027") == ("2023", "February", "2027")
    assert Grounds(text).invented("Lost in 2024") == ("2024",)
    assert Grounds("a week ago and last week", date="9999-12-31").year == 9999


def test_what_its_source_lacks_is_added() -> None:
    source = "Last year eight of 18,000 readers paid $3,757.11"
    claim = "In 2024 eight of Mara's 18,000 readers paid $3,757.11 to TrailPantry in Atlantis."
    assert GROUNDS.added(claim, source) == ("Mara", "TrailPantry")
    assert GROUNDS.added(claim, TEXT) == ()


@pytest.mark.parametrize("one", annotated(), ids=lambda one: one.name)
def test_annotations_are_of_these_documents(one: Annotated) -> None:
    assert hashlib.sha256(one.text.encode()).hexdigest() == one.said["sha256"]


def statements(one: Annotated) -> Iterator[tuple[str, str]]:
    said = one.said
    yield from (("claim", claim["claim"]) for claim in said["claims"])
    yield from (("label", label) for label in one.labels)
    yield from (("description", concept["description"]) for concept in said["concepts"])
    yield from (("answer", part["sentence"]) for asked in said["questions"] for part in asked["answer"])


def test_annotations_have_next_to_nothing_invented() -> None:
    judged: dict[str, list[bool]] = {}
    for one in annotated():
        for own in (True, False):
            grounds = one.grounds(common=is_known, whole_ontology=not own)
            for kind, statement in statements(one):
                judged.setdefault(kind if own else f"{kind}, all labels", []).append(not grounds.invented(statement))
    shares = {kind: sum(held) / len(held) for kind, held in judged.items()}
    assert shares["claim, all labels"] >= 0.97
    assert shares["claim"] >= 0.96, "eight name a product or company that other documents alone name"
    assert min(shares.values()) >= 0.95, shares


def changed(claim: str, one: Annotated, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield a claim with another number, month, year or name, each of which its document has nowhere."""
    text = one.text.lower()
    digits = {*re.findall(r"\d+", text)}
    for found in re.finditer(r"\d[\d.,]*\d|\d", claim):
        last = f"{chance.randrange(10)}{chance.randrange(1, 10)}"
        other = f"{chance.randrange(3, 9)}{last}" if found[0].isdigit() else found[0][:-1] + last
        if not {other, *re.findall(r"\d+", other)} & digits:
            yield f"{claim[: found.start()]}{other}{claim[found.end() :]}", other
    relative = "next month" in text or "last month" in text
    for found in re.finditer(rf"\b(?:{'|'.join(month.title() for month in MONTHS if len(month) > 3)})\b", claim):
        for month, number in MONTHS.items():
            if len(month) > 4 and not relative and month[:3] not in text and not re.search(rf"-0?{number}\b", text):
                yield f"{claim[: found.start()]}{month.title()}{claim[found.end() :]}", month.title()
    for found in re.finditer(r"\b(?:[A-Z][a-z]{2,})+\b", claim):
        if found[0].lower() in text and found[0].lower() not in MONTHS:
            for name in ("Vexley", "BrindleWorks", "Quorin-Tal"):
                yield f"{claim[: found.start()]}{name}{claim[found.end() :]}", name


def test_each_changed_number_date_and_name_is_flagged() -> None:
    chance = random.Random(7)
    missed, counted = [], 0
    for one in annotated():
        grounds = one.grounds(common=is_known)
        for claim in chance.sample(one.said["claims"], 8):
            for statement, other in changed(claim["claim"], one, chance):
                counted += 1
                if not any(other in shown or shown in other for shown in grounds.invented(statement)):
                    missed.append((one.name, other, statement))
    assert counted >= 500
    assert not missed


def test_time_grows_with_length() -> None:
    long = "On 4 July 2025, A. B.'s 1,000 x-y-z two hundred and three 1 2 3.4.5.6 one-two " * 4000
    started = time.process_time()
    grounds = Grounds(long, date="2025-07-15")
    long += "1 000 " * 20_000 + "one " * 20_000 + "a-" * 20_000 + "9" * 4_000 + " " * 50_000
    assert grounds.invented(long) != ()
    assert time.process_time() - started < 20
