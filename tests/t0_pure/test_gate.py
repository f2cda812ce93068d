"""Which Sources are let through, and the words with which others are refused."""

from __future__ import annotations

import pytest

from kgfs.domain.text import Chunk, Text, Verdict
from kgfs.formats.table import parse
from kgfs.ingest.reading.gate import furniture_of, judge, judge_all, without

KNOWLEDGE = "A koan is a question that has no answer by logic alone, and Zen uses it in practice."
ADDRESSES = "https://example.org/one/very/long/address and https://example.org/another/quite/long/address"


def whole(text: Text) -> Chunk:
    return Chunk(0, 0, len(text.text), 1, 1, 0, len(text.text.encode()), (), 0, 0)


def verdict(content: str, name: str = "a.md", **rules: object) -> Verdict:
    text = parse(name, content.encode())
    return judge(text, whole(text), **rules)  # type: ignore[arg-type]


def has_is(passage: str) -> bool:
    return " is " in passage


@pytest.mark.parametrize(
    "content",
    [
        KNOWLEDGE,
        f"# References\n\n{KNOWLEDGE} See {ADDRESSES[:40]}",
        f"{ADDRESSES}\n\n{KNOWLEDGE}",
        "```\nx = 1\n```\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "# Only\n\n## Headings\n",
        "Hi, how are you?\n\nFine, thanks, and you?\n\nAlso fine, what is Zen?\n\nI do not know.",
        "禅は仏教の一派であり、坐禅を通じて悟りを目指す。",
        "Ein Baum:\n\n├── eins\n│   └── zwei\n└── drei und noch acht Wörter mehr in diesem Baum hier",
        "👍 " * 3 + KNOWLEDGE,
    ],
)
def test_knowledge_passes(content: str) -> None:
    assert verdict(content).passed


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ADDRESSES, "% addresses or emoji, more than 50%"),
        (f"# Links\n\n- {ADDRESSES}\n", "% addresses or emoji"),
        (f"{ADDRESSES}\n\n{ADDRESSES}\n", "2 blocks, mostly 97% addresses"),
        ("🎉🎊👍🏽 " * 20 + "yes", "addresses or emoji"),
        ("Just a few words.", None),
        ("Twelve words stand right here and https://example.org is not counted at all, no.", None),
        (f"{ADDRESSES}\n\nSee above.", None),
        ("", None),
    ],
)
def test_noise_is_gated_with_a_reason(content: str, reason: str | None) -> None:
    given = verdict(content)
    assert given.passed == (reason is None), given
    assert (reason or "") in given.reason


def test_the_verb_rule_holds_only_with_a_grammar() -> None:
    names = (
        "Alan Watts, Daisetz Suzuki, Shunryu Suzuki, Philip Kapleau, Robert Aitken, Taizan Maezumi, John Daido Loori"
    )
    assert verdict(names).passed
    assert "no verb" in verdict(names, verbs=has_is).reason
    assert verdict(KNOWLEDGE, verbs=has_is).passed
    assert verdict(f"{names}\n\n{KNOWLEDGE}", verbs=has_is).passed
    assert verdict("```\n" + names + "\n```", verbs=has_is).passed


def test_the_domain_rule_holds_only_where_domains_are_set() -> None:
    assert verdict(KNOWLEDGE, domains={"Zen": ("ZEN", "tea")}).passed
    refused = verdict(KNOWLEDGE, domains={"seo": ("ranking",), "SaaS": ("churn",)})
    assert (refused.passed, refused.reason) == (False, "names none of the domains seo, SaaS")


def test_only_the_part_of_a_block_within_the_chunk_is_judged() -> None:
    text = parse("a.txt", f"{KNOWLEDGE} {ADDRESSES}".encode())
    at = len(KNOWLEDGE)
    end = len(text.text)
    assert judge(text, Chunk(0, 0, at, 1, 1, 0, at, (), 0, 0)).passed
    assert not judge(text, Chunk(1, at, end, 1, 1, at, end, (), 0, 0)).passed


def spans(text: Text, *cuts: int) -> list[Chunk]:
    ends = [*cuts, len(text.text)]
    return [Chunk(n, a, b, 1, 1, a, b, (), 0, a) for n, (a, b) in enumerate(zip([0, *cuts], ends, strict=True))]


def test_shortness_alone_gates_no_source_and_is_told() -> None:
    text = parse("note.txt", b"Buy milk.")
    assert judge_all(text, [whole(text)]) == [Verdict(True, only_short=True)]
    content = f"Three short words.\n\n{ADDRESSES}"
    text = parse("a.txt", content.encode())
    assert judge_all(text, spans(text, 20))[0] == Verdict(True, only_short=True)
    assert not judge_all(text, spans(text, 20))[1].passed
    assert judge_all(text, []) == []
    assert verdict(f"Hi.\n\n{KNOWLEDGE}") == verdict("# Hi\n") == Verdict(True)


def test_signatures_quoted_text_and_disclaimers_of_mails_give_no_concepts() -> None:
    mail = (
        "From: Ann <ann@example.org>\nSubject: Organ\n\nThe organ builder comes in March.\n\n"
        "This e-mail is intended solely for its recipient.\n\n-- \nAnn Brook\nParish office\n\nOpen on Mondays.\n\n"
        "On Monday, Ben wrote:\n> Who pays for the scaffolding?\n"
    )
    text = parse("organ.eml", mail.encode())
    words = without(text.text, furniture_of(text), 0, len(text.text))
    assert words.split() == ["#", "Organ", "The", "organ", "builder", "comes", "in", "March."]
