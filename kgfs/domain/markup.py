"""Inline markup of Markdown, wikis and reStructuredText, and the words that a reader sees of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINK = (
    r"!?\[\[(?P<target>[^\]\[|\n]+)(?:\|(?P<alias>[^\]\[\n]+))?\]\]"
    r"|!?\[(?P<text>(?:[^\]\[]|\[[^\]\[]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)"
)
_INLINE = re.compile(
    rf"{_LINK}"
    r"|:[A-Za-z][\w.+:-]{0,40}:`(?P<role>[^`<]+?)\s*(?:<[^`>]*>)?`"
    r"|`(?P<link>[^`<>]+?)\s*<[^`>]*>`__?"
    r"|(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)|__\w+__|<[a-z]+://[^\s>]+>)"
    r"|(?<![\w*])(?P<stars>\*{1,3})(?P<starred>[^\s*](?:[^*]*[^\s*])?)(?P=stars)(?![\w*])"
    r"|(?<!\w)(?P<bars>__?)(?P<barred>[^\W_](?:[^_]*[^\s_])?)(?P=bars)(?!\w)",
    re.DOTALL,
)
"""Code, addresses and names such as ``__init__`` are matched to stay as they are."""
_SHOWN = ("alias", "target", "text", "role", "link", "starred", "barred")
_LOOSE = re.compile(r"^\*{2,3}(?=[^\W\d_a-z])|(?<=[.!?:])\*{2,3}$")
"""A mark of emphasis that is closed, or was opened, outside of the quote."""
_LINE_MARK = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:#{1,6}[ \t]+)?", re.MULTILINE)
"""The marks before quoted lines and headings."""
_MARK = re.compile(r"[\[*_`>#]")


def links(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the links and pictures of Markdown and wikis in a text, in order."""
    if "](" in text or "[[" in text:
        yield from (found.span() for found in re.finditer(_LINK, text))


def words_shown(quote: str) -> str:
    """Return the words of a quote as a reader sees them: without marks of headings, emphasis and quoted lines, and of
    links their words alone. Code keeps its backticks.

    Homes store the size of what it returns (``instance.quote_size``): a change of that needs another format of the home."""
    if not _MARK.search(quote):
        return quote
    return _LOOSE.sub("", _INLINE.sub(_words, _LINE_MARK.sub("", quote)))


def _words(found: re.Match[str]) -> str:
    shown = next((found[name] for name in _SHOWN if found[name]), None)
    if shown is None:
        return found[0] if found["code"] else ""  # a picture without words
    return shown.strip() if found["role"] else _INLINE.sub(_words, shown)
