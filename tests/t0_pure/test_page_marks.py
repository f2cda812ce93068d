"""Marks of pages in readable Markdown: their size, where they stand, and the links that lead to them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.places import in_words, pages_of
from kgfs.formats.table import parse
from kgfs.render import page_marks
from kgfs.render.text import base_size, render
from tests.support.office import pdf, pptx, shape

PDF = "application/pdf"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


@given(st.text(max_size=60), st.integers(0, 120), st.lists(st.tuples(st.integers(0, 70), st.integers(-1, 130))))
def test_each_page_has_one_mark_in_order_and_their_size_follows_from_their_number(
    text: str, pages: int, at: list[tuple[int, int]]
) -> None:
    places = [(min(start, len(text)), {"page": number}) for start, number in at]
    shown = page_marks.with_marks(text, PDF, pages, places)
    assert re.findall(r'<a id="page-(\d+)"></a>\n\n', shown) == [str(n) for n in range(1, pages + 1)]
    assert re.sub(r'<a id="page-\d+"></a>\n\n', "", shown) == text
    about = "Report", PDF, 1234
    size = base_size(*about, text) + len("../documents/a") + page_marks.size(PDF, pages)
    assert len(render(*about, shown, "a")) == size


def test_a_mark_stands_before_its_page_and_one_without_text_before_the_next() -> None:
    text = parse("a.pdf", pdf("The ship sailed.", "", "It came back.", ""))
    assert page_marks.with_marks(text.text, text.media_type, text.pages, text.places) == (
        '<a id="page-1"></a>\n\nThe ship sailed.\n\n<a id="page-2"></a>\n\n<a id="page-3"></a>\n\n'
        '<a id="page-4"></a>\n\nIt came back.\n'
    )


def test_slides_are_marked_and_headings_stay_headings() -> None:
    text = parse("a.pptx", pptx(shape("Harbour", "title"), shape("Ships", "title") + shape("They sail.")))
    assert page_marks.with_marks(text.text, text.media_type, text.pages, text.places) == (
        '<a id="slide-1"></a>\n\n## Harbour\n\n<a id="slide-2"></a>\n\n## Ships\n\nThey sail.\n'
    )


@pytest.mark.parametrize("media_type", ["text/plain", "message/rfc822", "text/markdown"])
def test_what_has_no_pages_has_no_marks(media_type: str) -> None:
    assert page_marks.size(media_type, 3) == 0 and not page_marks.has_marks(PDF, 0)
    assert page_marks.with_marks("words", media_type, 3, [(0, {"page": 1})]) == "words"


def test_links_lead_to_pages_slides_and_messages() -> None:
    assert page_marks.fragment({"page": 7}) == "#page-7"
    assert page_marks.fragment({"slide": 2}) == "#slide-2"
    assert page_marks.fragment({"message": 3}) == "#message-3"
    assert page_marks.fragment({"sheet": "Budget", "row": 4}) == page_marks.fragment({}) == ""


@pytest.mark.parametrize(
    ("first", "last", "pages"),
    [({"page": 3}, {"page": 3}, "3"), ({"page": 3}, {"page": 5}, "3-5"), ({"page": 3}, None, "3"),
     ({"page": 3}, {}, "3"), ({"slide": 3}, {"slide": 4}, ""), ({}, {}, "")],
)  # fmt: skip
def test_pages_of_a_locator(first: dict[str, str | int], last: dict[str, str | int] | None, pages: str) -> None:
    assert pages_of(first, last) == pages
    assert not pages or in_words(first, last).endswith(f" {pages}")
