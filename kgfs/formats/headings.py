"""The words of headings, and the path of headings above a place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kgfs.domain.text import Block

_ROLE = re.compile(r":[A-Za-z][\w.+-]{0,40}:`([^`]*)`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_WIKILINK = re.compile(r"(?<!\w)!?\[\[(?:[^\]\[|\n]+\|)?([^\]\[|\n]+)\]\]")
_TARGET = re.compile(r"\s*<[^<>]*>`?_{0,2}$")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")
_SPACE = re.compile(r"\s+")


def words_of(markup: str) -> str:
    """Return a heading's words without the inline markup of Markdown, wikis or reStructuredText.

    ``markup`` is a short string.
    """
    plain = _ROLE.sub(lambda found: _TARGET.sub("", found[1]), markup)
    plain = _LINK.sub(r"\1", _WIKILINK.sub(r"\1", plain))
    plain = _EMPHASIS.sub("", plain.replace("`", ""))
    return _SPACE.sub(" ", plain).strip()


def is_adornment(body: str, at_least: int = 3) -> bool:
    """Return whether a line is one punctuation character repeated, as under a heading."""
    return len(body) >= at_least and body[0] in "=-~^\"'`*+#<>:._!$%&,/;?@\\|" and body.count(body[0]) == len(body)


def section_paths(blocks: Iterable[Block]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (start, path of titles) for each heading in order: the section that begins there."""
    stack: list[Block] = []
    for block in blocks:
        if block.kind == "heading":
            while stack and stack[-1].level >= block.level:
                stack.pop()
            stack.append(block)
            yield block.start, tuple(heading.title for heading in stack)
