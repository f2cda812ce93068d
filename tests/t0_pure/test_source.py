"""Program source: its comments are read, and the names that it defines are concepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.text import Chunk, Text
from kgfs.formats.headings import section_paths
from kgfs.formats.source import PROGRAMS, outline
from kgfs.formats.table import parse
from kgfs.ingest.reading.as_prose import prose_only
from kgfs.ingest.reading.defined import with_definitions

PYTHON = '''#!/usr/bin/env python3
# Copyright 2026 Somebody. Licensed under the MIT licence.
"""Keep track of tides.

The tables come from the harbour office.
"""
import math

HIGH_WATER = 4.2
"""Metres above the chart's zero at spring tide."""


@dataclass
class TideTable(Table):
    """A list of the times of high water, by day.

    Args:
        harbour: its name
    """

    def height_at(self, when):
        # A cosine is close enough for small boats,
        # and is what the office prints.
        return "# not a comment"  # a trailing remark is not read


def next_tide(now):
    """Return the next high water.

    :param now: the time to begin at
    """
    def inner(): ...


async def run(): ...
'''
GO = """// Copyright 2026 Somebody.

// Package tide keeps track of tides.
package tide

// Table is a list of the times of high water.
// It is sorted.
type Table struct { days int }

// HeightAt returns the height at a time.
func (t *Table) HeightAt(when int) int { return 1 }
"""
OTHERS = {
    "tide.c": "/* A tide table. */\nstruct tide_table { int n; };\n\n/* Opens the table. */\nint open_table(const char *s)\n{\n  return 1;\n}\n",
    "tide.cpp": "namespace a {\n/// A tide table.\ntemplate <class T>\nclass TIDE_EXPORT tide_table : Base {\n public:\n  int n;\n};\n}\n"
    "/// Opens the table.\nint open_table() { return 1; }\n",
    "Tide.java": "/** A tide table. */\n@Foo(1)\npublic final class tide_table<T> extends B {\n  /** Opens the table. */\n  @Override\n"
    "  public List<String> open_table(int x) throws E { return foo(x); }\n}\n",
    "tide.js": "/** A tide table. */\nexport class tide_table extends B {\n  n() { return /\\/*'/.test(`a${1}`); }\n}\n\n/**\n * Opens the table.\n */\n\n"
    "app.open_table = function (x) {};\n",
    "tide.ts": "/** A tide table. */\nexport interface tide_table<T> { n: string; }\n// Opens the table.\nexport const open_table = (a: number) => a;\n",
    "tide.rs": "//! Tides.\n/// A tide table.\n#[derive(Debug)]\npub struct tide_table<'a> { n: &'a str }\nimpl<'a> tide_table<'a> {\n"
    '    /// Opens the table.\n    #[cfg(feature = "x")]\n    pub fn open_table(&self) -> usize { 1 }\n}\n',
}


def _blocks(text: Text) -> list[tuple[str, str]]:
    return [(block.kind, block.title or text.text[block.start : block.end]) for block in text.blocks]


def _chunk(text: Text) -> Chunk:
    size = len(text.text.encode())
    return Chunk(0, 0, len(text.text), 1, text.text.count("\n") + 1, 0, size, (), 100, 0)


def test_of_python_comments_and_docstrings_are_read_and_nothing_else() -> None:
    text = parse("lib/tides.py", PYTHON.encode())
    assert (text.media_type, text.title) == ("text/x-python", "tides.py")
    words = prose_only(text.media_type, text.text)
    assert len(words) == len(text.text)
    assert words.count("\n") == text.text.count("\n")
    assert " ".join(words.split()) == (
        "Keep track of tides. The tables come from the harbour office. Metres above the chart's zero at spring tide. A list of the times "
        "of high water, by day. A cosine is close enough for small boats, and is what the office prints. Return the next high water."
    )
    assert list(section_paths(text.blocks))[-1][1] == ("run",)
    assert ("TideTable", "height_at") in [path for _, path in section_paths(text.blocks)]


def test_of_python_what_is_documented_is_a_concept_with_its_first_sentence() -> None:
    text = parse("lib/tides.py", PYTHON.encode())
    found = {one.label: one for one in with_definitions(text, [_chunk(text)], ())}
    said = {label: [text.text[quote.start : quote.end] for quote in one.quotes] for label, one in found.items()}
    assert said == {
        "tides.py": ["Keep track of tides."],
        "HIGH_WATER": ["Metres above the chart's zero at spring tide."],
        "TideTable": ["A list of the times of high water, by day."],
        "next_tide": ["Return the next high water."],
    }
    assert found["TideTable"].kind == "class"
    assert found["TideTable"].definition == "A list of the times of high water, by day"
    assert found["next_tide"].definition == ""


def test_a_comment_over_lines_is_quoted_with_its_marks() -> None:
    text = parse("tide.go", GO.replace("times of high", "times\n// of high").encode())
    found = {one.label: one for one in with_definitions(text, [_chunk(text)], ())}
    quote = found["Table"].quotes[0]
    assert text.text[quote.start : quote.end] == "Table is a list of the times\n// of high water."
    assert text.text[found["tide.go"].quotes[0].start :].startswith("Package tide keeps track")
    assert [one.name for one in (outline(text.media_type, text.text) or pytest.fail()).defined] == ["Table", "HeightAt"]


@pytest.mark.parametrize("name", OTHERS)
def test_of_other_languages_documentation_belongs_to_what_it_documents(name: str) -> None:
    text = parse(name, OTHERS[name].encode())
    found = outline(text.media_type, text.text)
    assert found is not None
    said = {
        one.name: " ".join(text.text[one.doc.marker : one.doc.end].strip("/* \n").split())
        for one in found.defined
        if one.doc is not None
    }
    assert said == {"tide_table": "A tide table.", "open_table": "Opens the table."}
    assert [title for kind, title in _blocks(text) if kind == "heading" and "_" in title] == [
        "tide_table",
        "open_table",
    ]


def test_what_is_no_python_3_is_code_without_comments() -> None:
    text = parse("old.py", b"print 'x'\n\n# words\n")
    assert _blocks(text) == [("code", "print 'x'"), ("code", "# words")]
    assert prose_only(text.media_type, text.text) == text.text


_PIECES = st.lists(
    st.sampled_from(
        [
            "def f():\n",
            "    '''Doc é.'''\n",
            "# a b\n",
            "\n",
            "\t",
            "class A:\n",
            "/** d */\n",
            "// l\n",
            "fn x() {",
            "}",
            "\r\n",
            "`",
            "${",
            "'",
            '"',
            "x = 1;",
        ]
    )
).map("".join)


@given(source=_PIECES, extension=st.sampled_from([end for one in PROGRAMS for end in one.extensions]))
def test_whatever_the_source_its_blocks_cover_it_in_order(source: str, extension: str) -> None:
    text = parse(f"x.{extension}", source.encode())
    at = 0
    for block in text.blocks:
        assert at <= block.start < block.end
        assert not source[at : block.start].strip()
        at = block.end
    assert not source[at:].strip()
    words = prose_only(text.media_type, source)
    assert len(words) == len(source)
    assert all(word in (char, " ") for word, char in zip(words, source, strict=True))
