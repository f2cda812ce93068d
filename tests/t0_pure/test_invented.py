"""Numbers and names of a statement that stand nowhere in what it may rest on."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator

import pytest

from kgfs.domain.invented import MONTHS, Grounds
from tests.support.annotated import Annotated, annotated

TEXT = (
    "On 4 July 2025 Mara's team moved TrailPantry to the north-east. Last year eight of 18,000 readers paid $3,757.11,"
    " i.e. 18 % less; two hundred and five wrote. In 2019 Acme's CPU ran v3.5.1 on may-flies. It told us a 3.9 ratio."
)
GROUNDS = Grounds(TEXT, "notes/report-07.md", labels=["Orbit"], domains=["SaaS"], date="2025-07-15")
TRUE = """It cost 3757.11 or $3,757. | It fell by 18 percent. | Of 18k, 8 paid. | The eighth of 18 thousand.
    In July, on 2025-07-04 and in 07/2025 | July 4, 2025 was a Friday. | 7/4/2025 and 4.7.2025 | By 15 July 2025
    In 2024 eight paid. | In all, 205 wrote. | Of 0.018 million, 205 wrote. | Report 7 | Pantry and Trail-Pantry of Mara
    the North-East | Teams at Acme | Orbit is SaaS. | CPUs ran 3.5.1, then 3.5. | They moved. Moving is less. | hundreds
    One of them and the second, both in a hundredth | It is what we and I had. I'm told it doesn't. Don't! | ?! | """
FALSE = """It cost $3,757.12 or 3,758 or 37. > 3,757.12 3,758 37
    On July 5, 2025 and 2025-07-05, in 08/2025, in 2023. > 5 2025-07-05 08/2025 2023
    Of 19k, nine paid, twenty-five wrote, two hundred left. > 19k nine twenty-five two_hundred
    In May and on a Monday, Tobias told IT and US. > May Monday Tobias IT US
    Quillon moved. Acme's Zephyr-Pantry ran 3.5.2 on UTF-8. > Quillon Zephyr-Pantry 3.5.2 UTF-8
    It ran at 4, not 3.9, of 10, 20 and 18 %. > 10 20
    Kilo kilo KILO, 1.8 million, It's May 2025. > Kilo KILO 1.8_million May"""


@pytest.mark.parametrize("statement", re.split(r"\s*[|\n]\s*", TRUE))
def test_what_stands_somewhere_in_any_way_of_writing_is_not_invented(statement: str) -> None:
    assert GROUNDS.invented(statement) == ()


@pytest.mark.parametrize("line", FALSE.splitlines())
def test_what_stands_nowhere_is_named(line: str) -> None:
    statement, _, named = line.strip().partition(" > ")
    assert GROUNDS.invented(statement) == tuple(one.replace("_", " ") for one in named.split())


def test_relative_years_and_months_need_the_documents_date() -> None:
    text = "We lost it last year, found it last month and will sell it next year and tomorrow, 9 of 10."
    dated = Grounds(text, date="2025-01-10")
    assert dated.invented("Lost in 2024, found in December 2024, sold in 2026, on Saturday, 11 January") == ()
    assert dated.invented("In 2023 and May 2027") + Grounds(text).invented("In 2024") == ("2023", "May", "2027", "2024")
    assert Grounds("next week", date="9999-12-31").invented("2025") == ("2025",)


def test_what_its_source_lacks_is_added() -> None:
    claim = "In 2024 eight of Mara's 18,000 readers paid $3,757.11 to TrailPantry in Atlantis."
    assert (GROUNDS.added(claim, TEXT[64:113]), GROUNDS.added(claim, TEXT)) == (("Mara", "TrailPantry"), ())


@pytest.mark.parametrize(("whole_ontology", "least"), [(True, 0.97), (False, 0.96)])
def test_annotations_have_next_to_nothing_invented(whole_ontology: bool, least: float) -> None:
    """Without the labels of other documents eight claims name products and companies that stand in those alone."""
    claims, others = list[bool](), list[bool]()
    for one in annotated():
        grounds, said = one.grounds(whole_ontology=whole_ontology), one.said
        claims += [not grounds.invented(claim["claim"]) for claim in said["claims"]]
        others += [not grounds.invented(concept["description"]) for concept in said["concepts"]]
        others += [not grounds.invented(part["sentence"]) for asked in said["questions"] for part in asked["answer"]]
    assert (len(claims), sum(claims) >= least * 200, sum(others) >= 0.97 * len(others)) == (200, True, True)


def changed(claim: str, one: Annotated, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield a claim with another number, month or name, each of which its document has nowhere."""
    digits = {*re.findall(r"\d+", text := one.text.lower())}
    months = [name for name in MONTHS if len(name) > 4 and name[:3] not in text and f"-{MONTHS[name]:02}" not in text]
    months = [] if re.search(r"(?:next|last) month", text) else months
    for found in re.finditer(r"\d[\d.,]*\d|\d|\b(?:[A-Z][a-z]{2,})+\b", claim):
        if found[0].lower() in MONTHS:
            others = [month.title() for month in months]
        elif found[0].isalpha():
            others = ["Vexley", "BrindleWorks", "Quorin-Tal"] if found[0].lower() in text else []
        else:
            last = f"{chance.randrange(10)}{chance.randrange(1, 10)}"
            other = f"{chance.randrange(3, 9)}{last}" if found[0].isdigit() else found[0][:-1] + last
            others = [] if {other, *re.findall(r"\d+", other)} & digits else [other]
        yield from ((f"{claim[: found.start()]}{other}{claim[found.end() :]}", other) for other in others)


def test_each_changed_number_month_and_name_is_flagged() -> None:
    chance, judged = random.Random(7), list[tuple[bool, str]]()
    for one in annotated():
        grounds = one.grounds()
        for claim in chance.sample(one.said["claims"], 8):
            for statement, other in changed(claim["claim"], one, chance):
                flagged = any(other in shown or shown in other for shown in grounds.invented(statement))
                judged.append((flagged, statement))
    assert len(judged) >= 600
    assert [statement for flagged, statement in judged if not flagged] == []


def test_a_name_that_a_sentence_begins_with_is_told_from_a_word() -> None:
    grounds = annotated()[0].grounds()
    for name in ("Peter", "Microsoft", "Paris", "Owen", "Shopify", "London", "Oracle", "James", "Berlin"):
        assert grounds.invented(f"{name} lost its visitors.") == (name,)
    for word in ("According", "Another", "Unlike", "Yes", "Founder", "Customers", "Rewriting", "Nobody", "Everyone"):
        assert grounds.invented(f"{word} lost its visitors.") == ()


def test_time_grows_with_length() -> None:
    long = "On 4 July 2025, A. B.'s 1,000 x-y-z two hundred and three 1 2 3.4.5.6 one-two " * 4000
    long += "1 000 " * 20_000 + "one " * 20_000 + "a-" * 20_000 + f"a{'9' * 50_000}" + "." * 50_000 + " " * 50_000
    started = time.process_time()
    assert Grounds(long, date="2025-07-15").invented(f"{long} Quillon") == ("Quillon",)
    assert time.process_time() - started < 20
