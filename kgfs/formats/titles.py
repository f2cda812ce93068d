"""The title of a document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgfs.domain.text import Block
from kgfs.formats.headings import words_of
from kgfs.formats.lines import MARK

_TITLE_FIELD = re.compile(
    r"^:?title[ \t]{0,8}[:=][ \t]{1,8}([^\r\n]{1,500})((?:\r?\n[ \t]{1,40}[^\s:][^\r\n]{0,500}){0,3})", re.I | re.M
)
_HEAD = 1 << 14
_NOTE = re.compile(r"\.(?:md|markdown)$", re.I)
_WIKILINK = re.compile(r"\[\[[^\]\[\n]+\]\]")


def title_of(name: str, text: str, blocks: Sequence[Block]) -> str:
    """Return the title of a document, on one line. It is never empty for a file that has a name.

    The title is a ``title`` field of the front matter or header; else the first heading; else the first line if it is
    short; else the file's name without folders and extension. A note with wikilinks that does not begin with a heading
    has the name of its file, by which other notes link to it.
    """
    for block in blocks[:3]:
        if block.kind == "meta" and (
            found := _TITLE_FIELD.search(text[block.start : min(block.end, block.start + _HEAD)])
        ):
            title = words_of((found[1] + found[2]).strip().strip("\"'"))
            if title:
                return title
    if _NOTE.search(name) and _WIKILINK.search(text) and not _begins_with_heading(blocks):
        return stem_of(name)
    for block in blocks:
        if block.kind == "heading" and block.title:
            return block.title
    return _first_short_line(text) or stem_of(name)


def _begins_with_heading(blocks: Sequence[Block]) -> bool:
    first = next((block for block in blocks if block.kind not in ("meta", "rule")), None)
    return first is not None and first.kind == "heading" and first.level == 1


def _first_short_line(text: str) -> str:
    """Return the first line if it has at most 100 characters and letters in it, else ''."""
    head = text[:_HEAD].removeprefix(MARK).lstrip()
    first = re.split(r"[\r\n]", head, maxsplit=1)[0].strip()
    return words_of(first) if len(first) <= 100 and any(char.isalpha() for char in first) else ""


def stem_of(name: str) -> str:
    last = name.rpartition("/")[2]
    return last.rpartition(".")[0] or last
