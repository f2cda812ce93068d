"""What the scanners see in texts as people write them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kgfs.domain.sentences import sentence_starts
from kgfs.formats.headings import section_paths, words_of
from kgfs.formats.table import parse


def shape(name: str, text: str) -> list[str]:
    """Each block as ``kind level: first line``, what an editor would show of it."""
    parsed = parse(name, text.encode())
    return [
        f"{block.kind}{block.level or ''}: {parsed.text[block.start : block.end].splitlines()[0].strip()}"
        for block in parsed.blocks
    ]


MARKDOWN = """\
---
title: On koans
---

# On *koans* #

A koan is a question
over two lines.

Setext title
------------

1. first

   still the first

   ```
   code in an item

   with a blank line
   ```
2. second

- other list
* * *
> quoted
lazily

| a | b |
|---|:-:|
| 1 | 2 |

    indented code

    more of it

~~~python
# no heading
- no item

~~~
Text right after.
### Deep `heading`
#hashtag is no heading
not | a table
"""


def test_markdown() -> None:
    assert shape("koans.md", MARKDOWN) == [
        "meta: ---",
        "heading1: # On *koans* #",
        "paragraph: A koan is a question",
        "heading2: Setext title",
        "list: 1. first",
        "rule: * * *",
        "quote: > quoted",
        "table: | a | b |",
        "code: indented code",
        "code: ~~~python",
        "paragraph: Text right after.",
        "heading3: ### Deep `heading`",
        "paragraph: #hashtag is no heading",
    ]


def test_line_ends_do_not_change_the_structure() -> None:
    expected = shape("koans.md", MARKDOWN)
    assert shape("koans.md", MARKDOWN.replace("\n", "\r\n")) == expected
    assert shape("koans.md", MARKDOWN.replace("\n", "\r")) == expected
    assert shape("koans.md", "\ufeff" + MARKDOWN)[1:] == expected[1:]


RST = """\
PEP: 9999
Title: A sample
Author: Somebody <a@example.org>,
        Somebody Else

Abstract
========

This is a paragraph.  It announces code::

    def f():

        return 1

- one
- two
  goes on

  and on

#. numbered

.. note::

   Something to note.

.. code-block:: python

   x = 1

   y = 2

.. _target: https://example.org
.. [1] A footnote
   over two lines

===== =====
a     b
===== =====
1     2

3     4
===== =====

+---+---+
| a | b |
+---+---+

>>> 1 + 1
2

:field: value
:other: value

Sub *section*
-------------
term
    its definition

    more

        A quoted passage.

***********
New top one
***********

Text with a
hanging line.

----

Another sub
-----------
"""


def test_restructured_text() -> None:
    assert shape("sample.rst", RST) == [
        "meta: PEP: 9999",
        "heading1: Abstract",
        "paragraph: This is a paragraph.  It announces code::",
        "code: def f():",
        "list: - one",
        "paragraph: .. note::",
        "code: .. code-block:: python",
        "meta: .. _target: https://example.org",
        "list: .. [1] A footnote",
        "table: ===== =====",
        "table: +---+---+",
        "code: >>> 1 + 1",
        "meta: :field: value",
        "heading2: Sub *section*",
        "list: term",
        "heading3: ***********",
        "paragraph: Text with a",
        "rule: ----",
        "heading2: Another sub",
    ]


def test_restructured_text_titles_and_levels() -> None:
    blocks = parse(
        "a.rst", b"Deep ``code`` of :pep:`8`\n~~~~~~~~~~~~~~~~~~~~~~~~~\n\nx\n\nNext\n====\n\nLast\n~~~~\n"
    ).blocks
    headings = [(block.level, block.title) for block in blocks if block.kind == "heading"]
    assert headings == [(1, "Deep code of 8"), (2, "Next"), (1, "Last")]


def test_literal_block_ends_where_the_indent_ends() -> None:
    parsed = parse("a.rst", b"See::\n\n  a\n\n    b\n\n c\n\nend\n")
    assert [parsed.text[block.start : block.end] for block in parsed.blocks] == ["See::", "  a\n\n    b", " c", "end"]


PLAIN = """\
THE GREAT REPORT

1. Introduction

This report says something. It has a
second line.

1.1 Scope of it

- an item

- another item

Results
=======

    total = 42

WHAT FOLLOWS:

(a) small things
(b) others
"""


def test_plain_text() -> None:
    assert shape("report.txt", PLAIN) == [
        "heading1: THE GREAT REPORT",
        "heading1: 1. Introduction",
        "paragraph: This report says something. It has a",
        "heading2: 1.1 Scope of it",
        "list: - an item",
        "heading1: Results",
        "code: total = 42",
        "paragraph: WHAT FOLLOWS:",
        "list: (a) small things",
    ]


def test_source_and_tables_are_code_and_tables() -> None:
    assert shape("a.sh", "cd /\n\n\nrun () {\n    ls\n}\n") == ["code: cd /", "code: run () {"]
    assert shape("a.py", "import os\n\n\ndef f():\n    pass\n") == [
        "code: import os",
        "heading1: def f():",
        "code: pass",
    ]
    assert shape("a.csv", "a,b\n1,2\n") == ["table: a,b"]


def test_section_paths() -> None:
    parsed = parse("a.md", b"# A\n\nx\n\n### B\n\nx\n\n## C\n\n# D\n")
    assert [path for _, path in section_paths(parsed.blocks)] == [("A",), ("A", "B"), ("A", "C"), ("D",)]


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("The ``yield from`` expression", "The yield from expression"),
        ("*Very* **strong** __under__ snake_case_name", "Very strong under snake_case_name"),
        ("A [link](http://x.org) and ![image](y.png)", "A link and image"),
        (":pep:`Style Guide <8>` again", "Style Guide again"),
        ("  spaced\tout ", "spaced out"),
        ("[[Arc length]] of [[Angle|angles]], list[[int]]", "Arc length of angles, list[[int]]"),
    ],
)
def test_words_of_headings(markup: str, words: str) -> None:
    assert words_of(markup) == words


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ('He said "No." Then he left.', ['He said "No." ', "Then he left."]),
        ("Dr. Watts wrote, e.g. This. Next", ["Dr. Watts wrote, e.g. This. ", "Next"]),
        ("Version 3.11 is out. it is not", ["Version 3.11 is out. it is not"]),
        ("禅は問い。答えは無い。", ["禅は問い。", "答えは無い。"]),
        ("Wrapped at\nthe end.\nNext line.", ["Wrapped at\nthe end.\n", "Next line."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    starts = [0, *sentence_starts(text, 0, len(text)), len(text)]
    assert [text[a:b] for a, b in pairwise(starts)] == sentences
