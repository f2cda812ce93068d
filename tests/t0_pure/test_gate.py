"""Which Sources are let through, and the words with which others are refused."""

from __future__ import annotations

import pytest

from kgfs.domain.text import FURNITURE, MANY_BLOCKS, Chunk, Text, Verdict, gated_for, judged_blocks
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
    ("content", "rules", "kind"),
    [
        (ADDRESSES, {}, "mostly links or emoji"),
        (f"{ADDRESSES}\n\n{ADDRESSES}", {}, "mostly links or emoji"),
        (KNOWLEDGE, {"verbs": lambda passage: False}, "no verb"),
        (KNOWLEDGE, {"domains": {"SEO": ("ranking",)}}, "no domain noun"),
    ],
)
def test_each_reason_has_its_kind(content: str, rules: dict[str, object], kind: str) -> None:
    """Counts by kind would lose a reason that is worded anew."""
    assert gated_for(verdict(content, **rules).reason) == kind


def test_furniture_is_a_kind_of_its_own() -> None:
    assert gated_for(f"3 blocks, mostly {FURNITURE}") == "menus and footers"


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
    assert verdict("Buy milk.\n\nCall Ann.") == Verdict(True, only_short=True, judged=((1, 1, 1), (3, 3, 1)))
    text = parse("a.txt", f"Three short words.\n\n{ADDRESSES}".encode())
    short, links = judge_all(text, spans(text, 20))
    assert short == Verdict(True, only_short=True, judged=((1, 1, 1),))
    assert not links.passed
    assert judge_all(text, []) == []
    assert verdict("# Hi\n") == Verdict(True)
    assert not verdict(f"Hi.\n\n{KNOWLEDGE}").only_short
    names = "Watts, Suzuki, Kapleau, Aitken, Maezumi, Loori, Sasaki, Senzaki, Okamura, Glassman, Katagiri, Beck"
    assert not verdict(f"Zen is a school.\n\n{names}", verbs=has_is).only_short


def test_each_judged_block_has_its_lines_and_its_verdict() -> None:
    content = f"# Zen\n\nShort.\n\n{KNOWLEDGE}\nIt goes on.\n\n```\nx = 1\n```\n\n{ADDRESSES} {'🎉 ' * 20}\n\nNo tea.\n"
    found = verdict(content, domains={"Zen": ("koan",)})
    assert found.judged == ((3, 3, 1), (5, 6, 0), (12, 12, 2), (14, 14, 1))
    assert judged_blocks([found, found]) == [*found.judged, *found.judged]
    assert verdict(
        "A river rises in the hills and runs to the sea, and nobody asks it why.", domains={"Zen": ("koan",)}
    ).judged == ((1, 1, 4),)


def test_neighbours_judged_alike_are_one_entry_in_a_long_document() -> None:
    asked: list[str] = []

    def has_verb(piece: str) -> bool:
        asked.append(piece)
        return True

    content = "\n\n".join(["Short.", *[KNOWLEDGE] * (MANY_BLOCKS + 1), "Short."])
    text = parse("a.md", content.encode())
    half = text.blocks[500].start
    verdicts = judge_all(text, spans(text, half), verbs=has_verb)
    assert [verdict.judged for verdict in verdicts] == [((1, 1, 1), (3, 999, 0)), ((1, 1003, 0), (1005, 1005, 1))]
    assert asked == [KNOWLEDGE, KNOWLEDGE], "a Source that passes is parsed no further"
    many = [Verdict(True, judged=((n, n, 0),)) for n in range(1, MANY_BLOCKS + 2)]
    assert judged_blocks(many) == [(1, MANY_BLOCKS + 1, 0)]


def test_signatures_quoted_text_and_disclaimers_of_mails_give_no_concepts() -> None:
    mail = (
        "From: Ann <ann@example.org>\nSubject: Organ\n\nThe organ builder comes in March.\n\n"
        "This e-mail is intended solely for its recipient.\n\n-- \nAnn Brook\nParish office\n\nOpen on Mondays.\n\n"
        "On Monday, Ben wrote:\n> Who pays for the scaffolding?\n"
    )
    text = parse("organ.eml", mail.encode())
    words = without(text.text, furniture_of(text), 0, len(text.text))
    assert words.split() == ["#", "Organ", "The", "organ", "builder", "comes", "in", "March."]
