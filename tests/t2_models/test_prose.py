from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.models.extractor.prose import prose_of

ALPHABET = st.sampled_from(
    [
        *"ab cd.:`*_[]<>-=#|~+1\n\n\r\t\\(",
        "é",
        "e\u0301",
        "𝔘",
        "👩‍👧",
        "字",
        "\x0c",
        "``",
        "::\n\n   ",
        ":pep:`8`",
        "\r\n",
        "http://a.b/c ",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(ALPHABET, max_size=80).map("".join))
def test_every_character_of_the_prose_knows_where_it_stands(passage: str) -> None:
    for block in prose_of(passage):
        assert len(block.text) == len(block.starts) == len(block.ends)
        assert all(0 <= start < end <= len(passage) for start, end in zip(block.starts, block.ends, strict=True))
        assert block.starts == sorted(block.starts)
        for at, char in enumerate(block.text):
            if block.ends[at] - block.starts[at] == 1 and not char.isspace():
                assert passage[block.starts[at]] == char or char in "it:"


@pytest.mark.parametrize(
    ("markup", "read"),
    [
        ("the ``yield`` statement", "the yield statement"),
        ("calls ``foo(a, b=1)`` twice", "calls it twice"),
        ("see :pep:`8` for style", "see PEP 8 for style"),
        ("use :func:`~asyncio.run` here", "use asyncio.run here"),
        ("use :ref:`the guide <guide>` here", "use the guide here"),
        ("read `the docs <https://example.org/x>`_ now", "read the docs now"),
        ("as said [1]_ before [#note]_ it", "as said before it"),
        ("an *important* and **strong** word", "an important and strong word"),
        ("a [link](https://example.org/a_(b)) text", "a link text"),
        ("at https://example.org/path today", "at today"),
        ("some <b>bold</b> words", "some bold words"),
        ("snake_case and __init__ stay", "snake_case and __init__ stay"),
        ("as follows::", "as follows:"),
        ("a   wide\ngap", "a wide gap"),
    ],
)
def test_markup_goes_and_words_stay(markup: str, read: str) -> None:
    (block,) = prose_of(markup)
    assert " ".join(block.text.split()) == read


@pytest.mark.parametrize(
    "passage",
    [
        "```python\nvalue = compute()\n\nmore text in the fence\n```",
        ">>> print(value)\nanswer",
        "    def run(self):\n        return self.value",
        "+------+------+\n| left | right |\n+------+------+",
        "=====  =====\nleft   right\n=====  =====",
        "| a | b |\n|---|---|\n| left | right |",
        "PEP: 8\nStatus: Active\nAuthor: Somebody",
        ".. code-block:: python\n\n   value = compute()",
        ".. a comment that nobody reads",
        "import os\nfrom sys import path",
    ],
)
def test_code_tables_and_fields_are_no_prose(passage: str) -> None:
    assert [block.text for block in prose_of(passage)] == []


def test_code_after_a_double_colon_is_left_out_and_what_follows_is_not() -> None:
    passage = "Consider this::\n\n    words that look like prose\n\n    more of them\n\nThen it goes on."
    assert [block.text for block in prose_of(passage)] == ["Consider this:", "Then it goes on."]


def test_headings_items_and_terms_are_told_apart() -> None:
    passage = "Heading\n=======\n\n# Another\n\n- first item\n- second item\n  goes on\n\n1. numbered\n\nterm\n    What it means.\n"
    assert [(block.kind, block.text) for block in prose_of(passage)] == [
        ("heading", "Heading"),
        ("heading", "Another"),
        ("item", "first item"),
        ("item", "second item goes on"),
        ("item", "numbered"),
        ("term", "term"),
        ("paragraph", "What it means."),
    ]


def test_a_number_at_the_start_of_a_line_ends_a_sentence() -> None:
    passage = "The syntax was introduced in PEP\n380. It has shortcomings:\n\nSteps\n1. one step\n2. another step\n"
    assert [(block.kind, block.text) for block in prose_of(passage)] == [
        ("paragraph", "The syntax was introduced in PEP 380. It has shortcomings:"),
        ("paragraph", "Steps"),
        ("item", "one step"),
        ("item", "another step"),
    ]


def test_callouts_and_quoted_lines_are_read_without_their_marks() -> None:
    passage = ">[!EBS]\n>A block storage service.\n> - One item of it.\n\n> [!note] Storage classes\n> Standard storage keeps three copies.\n"
    blocks = [(block.kind, block.text) for block in prose_of(passage)]
    assert blocks == [
        ("heading", "EBS"),
        ("paragraph", "A block storage service."),
        ("item", "One item of it."),
        ("heading", "Storage classes"),
        ("paragraph", "Standard storage keeps three copies."),
    ]
    for block in prose_of(passage):
        first, last = block.span(0, len(block.text))
        assert passage[first:last] == block.text


def test_short_turns_of_speakers_are_read_and_fields_are_not() -> None:
    turns = "Ada: The press is broken.\nÉmile: Print it as a PDF.\nAda: It needs a layout.\n"
    assert [(block.lead, block.text) for block in prose_of(turns)] == [
        ("Ada", "The press is broken."),
        ("Émile", "Print it as a PDF."),
        ("Ada", "It needs a layout."),
    ]
    assert prose_of("Author: Ada\nStatus: Active\nType: Process\n") == []


def test_comments_of_html_are_not_read() -> None:
    passage = "One sentence <!-- a note --> stands here.\n\n<!-- Another\n\nparagraph. -->\n\nThe last sentence."
    blocks = prose_of(passage)
    assert [" ".join(block.text.split()) for block in blocks] == ["One sentence stands here.", "The last sentence."]
    assert passage[slice(*blocks[1].span(0, len(blocks[1].text)))] == "The last sentence."
