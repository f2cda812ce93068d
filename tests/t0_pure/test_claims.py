"""What the words of two claims say about whether they are one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kgfs.domain.claims import actor_key, could_name, file_name, may_say_the_same, other_figure
from kgfs.domain.identity import claim_id_of


@dataclass
class Statement:
    claim: str
    actor: str
    timeframe: str


GREW = Statement("Acme's revenue grew by 5 % in 2024.", "Acme", "2024")


@pytest.mark.parametrize(
    ("claim", "actor", "timeframe", "same"),
    [
        ("Acme's revenue grew by 5 % in 2024.", "Acme", "2024", True),
        ("In 2024 Acme achieved 5 % growth of its sales.", "ACME", "2024", True),
        ("In the year 2024 Acme achieved 5 % growth of sales.", "Acme", "the year 2024", True),
        ("Acme's turnover grew by 5 % in 2024.", "Acme", "2024", False),  # one word is another
        ("Acme's revenue in 2024 grew by 5 %.", "Acme", "2024", False),  # the same words, told otherwise
        ("In 2024 Acme achieved 6 % growth of its sales.", "Acme", "2024", False),
        ("In 2024 Acme never achieved 5 % growth of its sales.", "Acme", "2024", False),
        ("In 2024 Acme suffered a 5 % loss of its sales.", "Acme", "2024", False),
        ("In 2024 Bolt achieved 5 % growth of its sales.", "Bolt", "2024", False),
        ("In 2024 Acme achieved 5 % growth of its sales.", "Acme", "unknown", False),
    ],
)
def test_who_may_say_the_same(claim: str, actor: str, timeframe: str, same: bool) -> None:
    other = Statement(claim, actor, timeframe)
    assert may_say_the_same(GREW, other) is may_say_the_same(other, GREW) is same


def test_another_figure_is_of_the_same_unit_and_time() -> None:
    assert other_figure(GREW, Statement("Acme grew 7 % in 2024.", "Acme", "2024"))
    assert not other_figure(GREW, Statement("Acme grew 7 % in 2023.", "Acme", "2023"))
    assert not other_figure(GREW, Statement("Acme grew by 7 people in 2024.", "Acme", "2024"))
    assert not other_figure(GREW, Statement("In 2024 it was 5 % for Acme.", "Acme", "2024"))


def test_ids_and_names_follow_from_words_alone() -> None:
    one = claim_id_of("o", "It  grew.", "ACME", "metric")
    assert one == claim_id_of("o", "“it grew”".strip("“”"), "Acme", "metric") and len(one) == 16
    assert (
        len(
            {
                one,
                *(claim_id_of(*words) for words in (("p", "It grew", "Acme", "metric"), ("o", "It grew", "Acme", "x"))),
            }
        )
        == 3
    )
    assert claim_id_of("o", "It grew.", "Acme", "metric", 1) != one
    name = file_name(one, 'Über\'s 5 % "growth" ' + "$(very) " * 30)
    assert name.startswith("über-s-5-growth-very") and name.endswith(f"~{one[:8]}.md") and len(name.encode()) <= 60 + 12
    assert actor_key("The Companies") in could_name(("of", "the", "compani", "said"))
