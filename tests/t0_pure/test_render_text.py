"""text/<path>.md: sizes, links, and reStructuredText as Markdown."""

from __future__ import annotations

import re
import time
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.names import encode_name
from kgfs.render import text
from kgfs.render.rst import to_markdown
from kgfs.render.words import visible

NAMES = st.binary(min_size=1, max_size=40).filter(lambda raw: b"/" not in raw and b"\0" not in raw)
PATHS = st.lists(NAMES, min_size=1, max_size=4)
TYPES = st.sampled_from(["text/plain", "text/markdown", "text/x-rst", "application/pdf"])


@settings(max_examples=300, deadline=None)
@given(st.text(), TYPES, st.integers(0, 10**12), st.text(), PATHS, st.sampled_from(("", "windows-1251")))
def test_sizes_are_exact_and_the_link_leads_to_the_original(
    title: str, media_type: str, size: int, body: str, raw_path: list[bytes], guessed: str
) -> None:
    path = "/".join(encode_name(name) for name in raw_path)
    shown = text.render(title, media_type, size, body, path, guessed)
    assert len(shown) == text.size(text.base_size(title, media_type, size, body, guessed), media_type, path)
    if media_type == "text/markdown":
        head = "**Encoding:** windows-1251, guessed\n\n---\n\n" if guessed else ""
        assert shown == f"{head}{visible(body)}".encode()
        return
    found = re.search(rb"^\[Original\]\(([!-~]*)\)$", shown, re.MULTILINE)
    assert found
    goal = unquote_to_bytes(found[1])
    assert goal == b"../" * len(raw_path) + b"documents/" + b"/".join(raw_path)


def test_plain_text_stands_below_its_header_as_it_is() -> None:
    body = "# not a heading\r\n  indented ==\f\n\nno newline at the end"
    assert text.render("Notes of\na day", "text/plain", 1234, body, "a/b.txt").decode() == (
        "# Notes of a day\n\n**Type:** Plain text\n**Size:** 1,234 bytes\n\n"
        "[Original](../../documents/a/b.txt)\n\n---\n\n" + body.replace("\f", "␌")
    )


@pytest.mark.parametrize(
    ("rst", "markdown"),
    [
        pytest.param("Title\n=====\n\nSub\n---\n\nwords\n", "# Title\n\n## Sub\n\nwords\n", id="headings"),
        pytest.param("====\nBook\n====\nA\n=\nx\n\nPart\n====\n", None, id="overline"),
        pytest.param("One::\n\n    a\n      b\n\n    c\n\nTwo\n", "One:\n\n```\na\n  b\n\nc\n```\n\nTwo\n", id="literal"),
        pytest.param("One ::\n\n  a\n", "One\n\n```\na\n```\n", id="expanded"),
        pytest.param("One\n\n::\n\n  a\n", "One\n\n```\na\n```\n", id="standing alone"),
        pytest.param("x::\n\n  ```\n", "x:\n\n````\n```\n````\n", id="fences inside"),
        pytest.param(
            ".. code-block:: python\n   :linenos:\n\n   def f():\n       pass\n\nend\n",
            "```python\ndef f():\n    pass\n```\n\nend\n",
            id="code block",
        ),
        pytest.param("He said\n\n   so\n   it is\n\nand left\n", "He said\n\n> so\n> it is\n\nand left\n", id="quote"),
        pytest.param("- one\n\n  more of one\n", "- one\n\n  more of one\n", id="list items stay"),
        pytest.param("+--+\n|a |\n+--+\n\nx\n", "```\n+--+\n|a |\n+--+\n```\n\nx\n", id="grid table"),
        pytest.param("== ==\na  b\n== ==\n1  2\n== ==\n\nx\n", "```\n== ==\na  b\n== ==\n1  2\n== ==\n```\n\nx\n", id="simple table"),
        pytest.param("a\n\n----\n\nb\n", "a\n\n----\n\nb\n", id="rule"),
        pytest.param("crlf\r\n====\r\n", "# crlf\n", id="crlf"),
        pytest.param("ends with ::\n", "ends with ::\n", id="no block follows"),
        pytest.param("", "", id="empty"),
    ],
)  # fmt: skip
def test_restructured_text_becomes_markdown(rst: str, markdown: str | None) -> None:
    if markdown is not None:
        assert to_markdown(rst) == markdown
    else:
        assert to_markdown(rst) == "# Book\n\nA\n=\nx\n\n## Part\n"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["", "word", "=====", "a::", "::", "  in", "    deep", "- item", "+---+", "== ==", ".. code:: x", "\tt"]
        )
        | st.text(st.characters(exclude_characters="\n\r"), max_size=12),
        max_size=25,
    )
)
def test_no_word_is_lost(lines: list[str]) -> None:
    words = re.findall(r"\w+", "\n".join(line for line in lines if not line.lstrip().startswith("..")))
    shown = to_markdown("\n".join(lines))
    kept = iter(re.findall(r"\w+", shown))
    assert all(any(word == other for other in kept) for word in words if word != "_")


def test_long_documents_do_not_take_quadratic_time() -> None:
    for unit in ("  indented\n\n", "a::\n\n", "== ==\n\n", "\n", "x" * 100, "=" * 100):
        before = time.process_time()
        to_markdown(unit * 30_000)
        assert time.process_time() - before < 5, unit
