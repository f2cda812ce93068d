"""Text → Sources: an exact partition whose boundaries stay where they are when something else is edited."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgfs.domain.text import Chunk, Text
from kgfs.formats.table import parse
from kgfs.ingest.reading.chunk import chunk
from kgfs.models.tokens import Estimate

PEP = (Path(__file__).parents[1] / "data" / "pep-3156.rst").read_text("utf-8")
TOKENS = Estimate()

PIECES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        (
            "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\f", "\t", "# Heading\n\n", "Title\n=====\n", "- item\n", "::\n\n  code\n\n",
            "A sentence. ", "word " * 40, "x" * 300, "a\u0301\u0323" * 20, "👨‍👩‍👧" * 10, "🇩🇪🇫🇷" * 8, "漢字。" * 30, "𝔘" * 50, "\ufeff", "\ud800",
        )
    ),
)  # fmt: skip
CONTENTS = st.lists(PIECES, max_size=30).map("".join)


class Bytes:
    """Counts bytes: the most a tokeniser can make of a text, and enough to tell chunks' true sizes."""

    name = "bytes"

    def count(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


def readable(content: str) -> str:
    """Without what the parser refuses."""
    return "".join(c for c in content if c in "\t\n\r\f" or unicodedata.category(c) not in ("Cc", "Cs"))


@settings(max_examples=150, deadline=None)
@given(CONTENTS, st.sampled_from((8, 20, 100, 400)), st.sampled_from((0, 5, 60)), st.sampled_from(("md", "rst", "txt")))
@example("", 400, 60, "md")
@example("\r\n" * 500, 8, 5, "txt")
@example("a\u0301" * 500, 8, 5, "txt")
def test_chunks_are_an_exact_partition(content: str, size: int, overlap: int, extension: str) -> None:
    content = readable(content)
    text = parse(f"x.{extension}", content.encode())
    check_partition(text.text, chunk(text, TOKENS, size, overlap))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400), st.sampled_from((1, 4, 20)))
@example("\ud800\udc00" * 50, 4)
@example("\ufeff", 4)
def test_any_string_is_partitioned(content: str, size: int) -> None:
    text = Text(content, "", "none/1", "text/plain", "", "", ())
    check_partition(content, chunk(text, TOKENS, size, 3))


def check_partition(content: str, chunks: list[Chunk]) -> None:
    assert "".join(content[one.start : one.end] for one in chunks) == content
    assert [one.index for one in chunks] == list(range(len(chunks)))
    if content:
        assert chunks[0].start == 0 and chunks[-1].end == len(content)
    for one, following in pairwise(chunks):
        assert one.end == following.start
    for one in chunks:
        assert one.start < one.end
        assert one.line_start == 1 + content.count("\n", 0, one.start)
        assert one.line_end == 1 + content.count("\n", 0, one.end - 1)
        assert one.byte_start == len(content[: one.start].encode("utf-8", "surrogatepass"))
        assert one.byte_end == len(content[: one.end].encode("utf-8", "surrogatepass"))
        assert 0 <= one.context_start <= one.start


@settings(max_examples=80, deadline=None)
@given(CONTENTS, st.sampled_from((40, 100, 400)))
def test_no_chunk_is_longer_than_allowed_and_no_cluster_is_parted(content: str, size: int) -> None:
    text = parse("x.txt", readable(content).encode())
    tokens = Bytes()
    for one in chunk(text, tokens, size, 10):
        assert tokens.count(text.text[one.start : one.end]) == one.tokens <= 1.5 * size or one.end - one.start <= 33
    for one in chunk(text, tokens, 100, 10)[1:]:
        around = text.text[one.start - 1 : one.start + 1]
        assert around != "\r\n"
        assert around[0] != "\u200d" or not around[1].isprintable()
        if unicodedata.combining(around[1]):
            assert len(text.text[max(0, one.start - 32) : one.start].rstrip("\u0301\u0323")) == 0


def boundaries(name: str, content: str, size: int) -> list[int]:
    return [one.start for one in chunk(parse(name, content.encode()), TOKENS, size)]


def moved(name: str, content: str, size: int, start: int, end: int, new: str) -> tuple[int, int]:
    """How many boundaries before and behind an edit stand up to the last one that is not where it was."""
    edited = content[:start] + new + content[end:]
    shift = len(new) - (end - start)
    before, after = boundaries(name, content, size), boundaries(name, edited, size)
    early = {at for at in before if at < start} ^ {at for at in after if at < start}
    late = {at + shift for at in before if at >= end} ^ {at for at in after if at >= start + len(new)}
    return (
        sum(1 for at in after if early and min(early) <= at < start),
        sum(1 for at in after if late and start + len(new) <= at <= max(late)),
    )


def paragraph(chance: random.Random, words: int) -> str:
    reported = [
        chance.choice(("zen", "koan", "mind", "so-called", "practice", f"w{chance.randrange(10_000)}"))
        for _ in range(words)
    ]
    return " ".join(word + "." * (n % 11 == 10) for n, word in enumerate(reported)) + ".\n\n"


def document(chance: random.Random, paragraphs: int, extension: str) -> list[str]:
    parts: list[str] = []
    for _ in range(paragraphs):
        if chance.random() < 0.12:
            title = f"Heading {chance.randrange(10_000)}"
            parts.append(f"## {title}\n\n" if extension == "md" else f"{title}\n{'=' * len(title)}\n\n")
        parts.append(paragraph(chance, chance.choice((3, 20, 60, 60, 120, 400))))
    return parts


def edit(chance: random.Random, part: str) -> tuple[str, bool]:
    """What a paragraph becomes, and whether it stays as well (an insertion before it)."""
    new = paragraph(chance, chance.choice((5, 50, 300)))
    return chance.choice(((new, True), (new, False), ("", False)))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from(("md", "rst", "txt")), st.sampled_from((100, 400)))
def test_boundaries_agree_again_within_three_chunks(seed: int, extension: str, size: int) -> None:
    chance = random.Random(seed)
    parts = document(chance, chance.randrange(3, 80), extension)
    n = chance.choice([n for n, part in enumerate(parts) if not part.startswith(("#", "Heading"))])
    start = sum(map(len, parts[:n]))
    new, stays = edit(chance, parts[n])
    before, behind = moved(
        f"x.{extension}", "".join(parts), size, start, start if stays else start + len(parts[n]), new
    )
    assert max(before, behind) <= 3


def test_boundaries_agree_again_in_a_real_document() -> None:
    chance = random.Random(3)
    blocks = parse("pep.rst", PEP.encode()).blocks
    for _ in range(40):
        block = chance.choice([block for block in blocks if block.kind == "paragraph"])
        new, stays = edit(chance, PEP[block.start : block.end])
        before, behind = moved(
            "pep.rst", PEP, 400, block.start, block.start if stays else block.end, new.rstrip("\n") + "\n\n" * stays
        )
        assert max(before, behind) <= 3


def test_most_boundaries_never_move() -> None:
    content = PEP[:40_000]
    cut = content.index("\n\n", 20_000) + 2
    assert sum(moved("pep.rst", content, 400, cut, cut, "One more remark.\n\n")) <= 1


def test_sizes_on_a_real_document() -> None:
    sizes = sorted(one.tokens for one in chunk(parse("pep.rst", PEP.encode()), TOKENS))
    assert sizes[-1] <= 600
    assert 300 <= sum(sizes) / len(sizes) <= 450
    assert sizes[len(sizes) // 20] >= 150


def test_sections_begin_chunks_and_name_them() -> None:
    words = "Some words that stand here to fill the section with a text of its own. " * 12
    content = f"# One\n\n{words}\n\n## Two\n\n{words}\n\nshort\n\n# Three\n\n{words}\n"
    text = parse("a.md", content.encode())
    chunks = chunk(text, TOKENS, 200)
    assert [one.section_path for one in chunks] == [("One",), ("One", "Two"), ("Three",)]
    assert [content[one.start :].split("\n")[0] for one in chunks] == ["# One", "## Two", "# Three"]


def test_a_header_counts_to_the_section_behind_it() -> None:
    words = "Some words of the abstract. " * 30
    text = parse("a.rst", f"PEP: 1\nTitle: One\n\nAbstract\n========\n\n{words}\n".encode())
    assert [one.section_path for one in chunk(text, TOKENS)] == [("Abstract",)]


def test_headings_stay_with_what_they_head() -> None:
    for one in chunk(parse("pep.rst", PEP.encode()), TOKENS, 120):
        last = PEP[one.start : one.end].rstrip().splitlines()[-1]
        assert not (len(last) > 3 and set(last) <= set("=-'~")), one


def test_long_paragraphs_are_cut_at_sentences() -> None:
    content = " ".join(f"Sentence number {n} says one more thing about the matter." for n in range(200))
    for one in chunk(parse("a.txt", content.encode()), TOKENS, 100)[1:]:
        assert content[one.start :].startswith("Sentence number")


def test_context_is_about_the_overlap_and_starts_at_a_word() -> None:
    chunks = chunk(parse("pep.rst", PEP.encode()), TOKENS, 400, 60)
    assert chunks[0].context_start == 0
    for one in chunks[1:]:
        assert PEP[one.context_start - 1].isspace() and not PEP[one.context_start].isspace()
        assert 10 <= TOKENS.count(PEP[one.context_start : one.start]) <= 150
    assert all(one.context_start == one.start for one in chunk(parse("pep.rst", PEP.encode()), TOKENS, 400, 0))


@pytest.mark.parametrize("unit", ["word ", "x", "One. ", "漢字", "- item\n", "\n"])
def test_monotonous_texts_are_cut_evenly_and_quickly(unit: str) -> None:
    content = unit * (1_000_000 // len(unit))
    text = parse("a.txt", content.encode())
    chunks = chunk(text, Bytes(), 400)
    sizes = [one.tokens for one in chunks]
    assert "".join(content[one.start : one.end] for one in chunks) == content
    assert max(sizes) <= 600 and min(sizes) >= 100
