"""Which markup a text is written in, by its name's extension and, where that says nothing, by a light look."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kgfs.domain.names import extension_of
from kgfs.domain.text import Block
from kgfs.ingest.reading.structure.lines import Line
from kgfs.ingest.reading.structure.markdown import markdown_blocks
from kgfs.ingest.reading.structure.plain import plain_blocks, source_blocks, table_blocks
from kgfs.ingest.reading.structure.rst import rst_blocks


@dataclass(frozen=True, slots=True)
class Markup:
    parser: str
    """Name and version: a change of what a scanner finds needs a new one."""
    media_type: str
    blocks: Callable[[list[Line]], list[Block]]


MARKDOWN = Markup("markdown/1", "text/markdown", markdown_blocks)
RST = Markup("rst/1", "text/x-rst", rst_blocks)
PLAIN = Markup("plain/1", "text/plain", plain_blocks)
SOURCE = Markup("source/1", "text/plain", source_blocks)
TABLE = Markup("table/1", "text/csv", table_blocks)

_SOURCE_EXTENSIONS = (
    "py js ts tsx jsx c h cc cpp hpp cs java kt go rs rb php pl lua swift scala sh bash zsh fish ps1 bat sql r jl hs ml "
    "json jsonl ndjson toml yaml yml ini cfg conf xml svg css scss html htm xhtml tex bib diff patch log lock cmake mk"
)
_EXTENSIONS: Mapping[str, Markup] = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"), MARKDOWN),
    **dict.fromkeys(("rst", "rest"), RST),
    **dict.fromkeys(("csv", "tsv"), TABLE),
    **dict.fromkeys(_SOURCE_EXTENSIONS.split(), SOURCE),
}

_SNIFFED = 1 << 16
_MARKDOWN_SIGNS = re.compile(r"^(?:#{1,6} \S|```|~~~|\[[^\]\n]{1,80}\]: \S)|\]\(https?://", re.MULTILINE)
_RST_SIGNS = re.compile(r"^\.\. (?:[\w-]{1,40}::|_[^\n:]{1,80}:)|^:[A-Za-z-]{2,20}: |:[a-z]{2,10}:`", re.MULTILINE)
_PEP = re.compile(r"\ufeff?PEP: \d")


def markup_of(name: str, text: str) -> Markup:
    """By extension; ``.txt``, unknown extensions and none are looked at, and are plain unless they show two signs."""
    if known := _EXTENSIONS.get(extension_of(name)):
        return known
    start = text[:_SNIFFED]
    if _PEP.match(start):
        return RST
    markdown = sum(1 for _ in _MARKDOWN_SIGNS.finditer(start))
    rst = sum(1 for _ in _RST_SIGNS.finditer(start))
    if max(markdown, rst) < 2:
        return PLAIN
    return MARKDOWN if markdown > rst else RST
