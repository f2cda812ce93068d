"""Jupyter notebooks: text, code and printed results of each cell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.lines import lines_of
from kgfs.formats.markdown import markdown_blocks
from kgfs.formats.pieces import Piece, clean, heading

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def pieces(content: bytes) -> Iterator[Piece]:
    try:
        notebook = json.loads(content)
        sheets = notebook.get("worksheets") or [notebook]  # before version 4
        cells = [cell for sheet in sheets for cell in sheet["cells"] if isinstance(cell, dict)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableTextError(f"damaged: it is no notebook ({error})") from error
    title = (notebook.get("metadata") or {}).get("title", "")
    yield Piece("", facts={"title": title if isinstance(title, str) else "", "pages": len(cells)})
    for number, cell in enumerate(cells, 1):
        yield Piece("", place={"cell": number})
        words = clean(_joined(cell.get("source", cell.get("input", ""))))
        if cell.get("cell_type") == "heading" and words.strip():  # before version 4
            level = cell.get("level")
            yield heading(words, level if isinstance(level, int) else 1)
        elif cell.get("cell_type") == "markdown":
            for block in markdown_blocks(lines_of(words)):
                yield Piece(block.kind, words[block.start : block.end], block.level)
        elif words.strip():
            yield _code(words)
        for output in cell.get("outputs") or ():
            yield from _output(output)


def _output(output: Any) -> Iterator[Piece]:
    if not isinstance(output, dict):
        return
    data = output.get("data") or output
    words = _joined(output.get("text") or data.get("text/markdown") or data.get("text/plain") or "")
    if output.get("output_type") in ("error", "pyerr"):
        words = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    words = _ESCAPES.sub("", words).strip("\n")
    if words.strip():
        yield _code(words)


def _code(words: str) -> Piece:
    fence = "```" if "```" not in words else "~~~~"
    return Piece("code", f"{fence}\n{words}\n{fence}")


def _joined(words: Any) -> str:
    return "".join(map(str, words)) if isinstance(words, list) else str(words or "")


def _is_notebook(content: bytes) -> bool:
    return (
        content.lstrip()[:1] == b"{"
        and b'"nbformat"' in content
        and b'"cells"' in content
        and b'"cell_type"' in content
    )


FORMAT = Format("notebook/2", "application/x-ipynb+json", frozenset({"ipynb"}), pieces=pieces, signature=_is_notebook)
