"""Contents are cut to the windows of models by structure, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kgfs.knowledge.windows import (
    Content,
    paragraphs,
    prepare_for_contradiction_check,
    prepare_for_reranking,
    segments,
)


def count(text: str) -> int:
    return len(text.split())


def none(words: str, texts: Sequence[str]) -> None:
    return None


@given(st.text(alphabet="ab \n#-|`"), st.integers(1, 9))
def test_segments_cover_the_content_and_fit(text: str, most: int) -> None:
    for spans in (paragraphs(text), segments(text, count, most)):
        assert "".join(text[start:end] for start, end in spans) == text
        assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert all(count(text[start:end]) <= most for start, end in segments(text, count, most))


def test_a_heading_stays_with_its_paragraph() -> None:
    text = "# One\n\nfirst words\n\n# Two\n\nsecond words\n"
    assert [text[start:end] for start, end in segments(text, count, 5)] == [
        "# One\n\nfirst words\n\n",
        "# Two\n\nsecond words\n",
    ]


SHORT, LONG = (
    Content("s", "Tea is a drink."),
    Content("l", "Rice grows.\n\n" * 40 + "Monks drink tea.\n\n" + "Rice grows.\n\n" * 40),
)


def test_what_fits_is_whole_and_of_more_the_best_segment_stands_for_it() -> None:
    whole, cut = prepare_for_reranking("monks drinking tea", [SHORT, LONG], count, none, 20)
    assert (whole.text, whole.is_truncated, whole.full_token_count) == (SHORT.content, False, 4)
    assert cut.is_truncated and cut.full_content_available and cut.full_token_count == 163
    assert "Monks drink tea." in cut.text and cut.text == LONG.content[cut.start : cut.end] and count(cut.text) <= 20


def test_meaning_decides_between_segments_with_the_same_words() -> None:
    text = "Rice one.\n\nRice two.\n\nRice three.\n\n"
    liked: list[Sequence[str]] = []

    def alike(words: str, texts: Sequence[str]) -> list[float]:
        liked.append(texts)
        return [0.9 if "two" in one else 0.1 for one in texts]

    (found,) = prepare_for_reranking("rice", [Content("r", text)], count, alike, 2)
    assert found.text == "Rice two.\n\n" and len(liked) == 1


def test_five_sections_in_order_and_never_more_than_the_window() -> None:
    text = "".join(f"Tea number {n} is good.\n\nRice.\n\n" for n in range(9))
    (found,) = prepare_for_contradiction_check("tea is good", [Content("t", text)], count, none)
    assert found.section_count == len(found.relevant_sections) == 5 and found.full_content_id == "t"
    assert all("Tea" in one.text and one.text == text[one.start : one.end] for one in found.relevant_sections)
    assert [one.start for one in found.relevant_sections] == sorted(one.start for one in found.relevant_sections)
    (few,) = prepare_for_contradiction_check("tea is good", [Content("t", text)], count, none, 5, 11)
    assert sum(count(one.text) for one in few.relevant_sections) <= 11
    (nothing,) = prepare_for_contradiction_check("tea", [Content("e", "")], count, none)
    assert nothing.relevant_sections == ()
