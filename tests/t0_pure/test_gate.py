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
    assert verdict(content) == Verdict(True)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ADDRESSES, "% addresses or emoji, more than 50%"),
        (f"# Links\n\n- {ADDRESSES}\n", "% addresses or emoji"),
        (f"{ADDRESSES}\n\n{ADDRESSES}\n", "2 blocks, mostly 97% addresses"),
        ("🎉🎊👍🏽 " * 20 + "yes", "addresses or emoji"),
        ("Just a few words.", "too short: 4 words besides addresses, at least 12 are needed"),
        ("Twelve words stand right here and https://example.org is not counted at all, no.", None),
        (f"{ADDRESSES}\n\nSee above.", "too short: 2 words besides addresses"),
        ("", None),
    ],
)
def test_noise_is_gated_with_a_reason(content: str, reason: str | None) -> None:
    given = verdict(content)
    assert given.passed == (reason is None)
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
    assert verdict(KNOWLEDGE, domains=("ZEN", "tea")).passed
    refused = verdict(KNOWLEDGE, domains=("seo", "SaaS"))
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


def test_a_document_is_never_gated_for_being_short() -> None:
    text = parse("note.txt", b"Buy milk.")
    assert not judge(text, whole(text)).passed
    assert judge_all(text, [whole(text)]) == [Verdict(True)]


def test_a_document_of_noise_and_short_words_keeps_the_words() -> None:
    content = f"Three short words.\n\n{ADDRESSES}"
    text = parse("a.txt", content.encode())
    assert [one.passed for one in judge_all(text, spans(text, 20))] == [True, False]


def test_short_sources_of_a_long_document_are_gated() -> None:
    long = " ".join([KNOWLEDGE] * 25)
    text = parse("a.txt", f"{long}\n\nThe end.".encode())
    verdicts = judge_all(text, spans(text, len(long) + 2))
    assert [one.passed for one in verdicts] == [True, False]
    assert verdicts[1].reason.startswith("too short")
    short = parse("a.txt", f"{KNOWLEDGE}\n\nThe end.".encode())
    assert all(one.passed for one in judge_all(short, spans(short, len(KNOWLEDGE) + 2)))
    assert judge_all(text, []) == []


def test_signatures_quoted_text_and_disclaimers_of_mails_give_no_concepts() -> None:
    mail = (
        "From: Ann <ann@example.org>\nSubject: Organ\n\nThe organ builder comes in March.\n\n"
        "This e-mail is intended solely for its recipient.\n\n-- \nAnn Brook\nParish office\n\nOpen on Mondays.\n\n"
        "On Monday, Ben wrote:\n> Who pays for the scaffolding?\n"
    )
    text = parse("organ.eml", mail.encode())
    words = without(text.text, furniture_of(text), 0, len(text.text))
    assert words.split() == ["#", "Organ", "The", "organ", "builder", "comes", "in", "March."]
