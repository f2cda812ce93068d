"""The blocks of an HTML document, for web pages, e-books and mails. Used in the parsing process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kgfs.formats.grid import TO_THE_END, Grid
from kgfs.formats.numerals import whole_number
from kgfs.formats.pieces import Piece, heading, table

_SKIPPED = frozenset({"script", "style", "template", "noscript", "head", "iframe", "rp", "-comment"})
_FURNITURE = frozenset({"nav", "footer", "aside", "menu"})
_FURNITURE_OF_BOOKS = frozenset({"nav", "menu"})
"""In a book side bars and notes are part of its text."""
_FURNITURE_ROLES = frozenset({"navigation", "contentinfo", "complementary", "banner", "search", "menu", "menubar"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "blockquote",
        "body",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "menu",
        "nav",
        "aside",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tr",
        "td",
        "th",
        "ul",
        "caption",
    ]
)
_HIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!|;|$)", re.I)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
DEEPEST = 400
"""Levels of nesting that are followed; what is deeper is taken as text without structure."""


class Walk:
    """Walks one document. Links and furniture come last, so that the words of the page stay together.

    What the page hides by itself, rather than by a style sheet or a script, is left out.
    """

    def __init__(self, *, book: bool = False) -> None:
        self._book = book
        self.links: dict[str, str] = {}
        self._furniture: list[str] = []
        self._inline: list[str] = []
        self._grid = Grid()

    def pieces(self, root: Any, *, furniture: bool = True) -> Iterator[Piece]:
        """Yield the blocks below a node of selectolax's lexbor parser."""
        yield from self._children(root, 0)
        yield from self._flush()
        if furniture:
            yield from self.rest()

    def rest(self) -> Iterator[Piece]:
        """Yield menus, side bars and footers, and the targets of links."""
        for words in self._furniture:
            yield Piece("furniture", words)
        if self.links:
            lines = [f"- {words}: {target}" if words else f"- {target}" for target, words in self.links.items()]
            yield Piece("furniture", "\n".join(["Links:", *lines]))

    def _children(self, node: Any, depth: int) -> Iterator[Piece]:
        child = node.child
        while child is not None:
            yield from self._node(child, depth + 1)
            child = child.next

    def _node(self, node: Any, depth: int) -> Iterator[Piece]:
        tag = node.tag
        if tag == "-text":
            self._inline.append(node.text_content or "")
        elif tag in _SKIPPED or depth > DEEPEST:
            if depth > DEEPEST and tag not in _SKIPPED:
                self._inline.append(node.text(separator=" "))
        elif _hides(node):
            pass
        elif tag == "rt":  # the reading stands behind what it reads, where the page has marks around it or not
            self._inline.append(f"({''.join(_shown(node))})")
        elif tag == "svg":
            for label in node.css("text"):  # what a drawing shows as text; its titles name icons
                self._inline.append(f" {label.text(separator=' ')} ")
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "img":
            if words := (node.attributes.get("alt") or "").strip():
                self._inline.append(f" ![{words}] ")
        elif tag not in _BLOCKS:
            if tag == "a":
                self._link(node)
            if tag in ("input", "button", "select", "option", "textarea"):
                self._inline.append(" ")
            yield from self._children(node, depth)
        else:
            yield from self._flush()
            yield from self._block(node, tag, depth)

    def _block(self, node: Any, tag: str, depth: int) -> Iterator[Piece]:
        if self._is_furniture(node, tag):
            inner = Walk(book=self._book)
            inner._grid = self._grid
            words = "\n".join(piece.text.lstrip("# ") for piece in inner.pieces(node, furniture=False))
            self._furniture += [words, *inner._furniture] if words.strip() else inner._furniture
            self.links |= inner.links
        elif tag in _HEADINGS:
            yield from self._children(node, depth)
            if words := self._words():
                yield heading(words, _HEADINGS[tag])
        elif tag == "pre":
            if words := "".join(_shown(node)).strip("\n"):
                fence = "```" if "```" not in words else "~~~~"
                yield Piece("code", f"{fence}\n{words}\n{fence}")
        elif tag in ("ul", "ol"):
            lines = list(self._list(node, tag == "ol", 0, depth))
            if lines:
                yield Piece("list", "\n".join(lines))
        elif tag == "table":
            yield from self._table(node, depth)
        elif tag == "hr":
            yield Piece("rule", "---")
        elif tag in ("dt", "summary", "legend", "caption", "figcaption"):
            yield from self._children(node, depth)
            yield from self._flush()
        elif tag == "blockquote":
            for piece in self._inside(node, depth):
                lines = piece.text.split("\n")
                yield Piece("quote", "\n".join(f"> {line}" for line in lines)) if piece.kind == "paragraph" else piece
        else:
            yield from self._children(node, depth)
            yield from self._flush()

    def _is_furniture(self, node: Any, tag: str) -> bool:
        if self._book:
            return tag in _FURNITURE_OF_BOOKS
        return (
            tag in _FURNITURE or node.attributes.get("role") in _FURNITURE_ROLES or (tag == "header" and _opens(node))
        )

    def _inside(self, node: Any, depth: int) -> Iterator[Piece]:
        yield from self._children(node, depth)
        yield from self._flush()

    def _list(self, node: Any, numbered: bool, level: int, depth: int) -> Iterator[str]:
        start = node.attributes.get("start") or "1"
        number = whole_number(start, 1)
        child = node.child
        while child is not None:
            if _hides(child):
                pass
            elif child.tag == "li":
                mark = f"{number}." if numbered else "-"
                number += 1
                lines = [line for piece in self._inside(child, depth + 1) for line in piece.text.split("\n")]
                for n, line in enumerate(lines):
                    yield "  " * level + (f"{mark} {line}" if n == 0 else f"  {line}")
            elif child.tag in ("ul", "ol") and depth < DEEPEST:
                yield from self._list(child, child.tag == "ol", level + 1, depth + 1)
            elif child.tag not in ("-text", "-comment"):
                for piece in self._inside(child, depth + 1):
                    yield "  " * level + piece.text.replace("\n", " ")
            child = child.next

    def _table(self, node: Any, depth: int) -> Iterator[Piece]:
        """Yield a table of data as such, and one that only lays out the page as its blocks."""
        groups = list(_groups(node))
        rows = [row for group in groups for row in group]
        inner = any(cell.css_first("table, h1, h2, h3, h4, ul, ol, pre, form, nav") for row in rows for cell in row)
        if inner or max(map(len, rows), default=0) < 2:
            yield from self._children(node, depth)
            yield from self._flush()
            return
        lines: list[list[str]] = []
        for group in groups:
            self._grid.begin()
            for row in group:
                said = (" ".join(piece.text for piece in self._inside(cell, depth + 2)) for cell in row)
                cells = [(words, *_spans(cell)) for words, cell in zip(said, row, strict=True)]
                line = self._grid.row(cells)
                if cells:
                    lines.append(line)
        caption = node.css_first("caption")
        if caption is not None and (words := " ".join("".join(_shown(caption)).split())):
            yield Piece("paragraph", words)
        if words := table(lines):
            yield Piece("table", words)

    def _link(self, node: Any) -> None:
        target = (node.attributes.get("href") or "").strip()
        words = " ".join("".join(_shown(node)).split())
        if target and not target.startswith(("#", "javascript:", "data:")) and target != words:
            self.links.setdefault(target[:2000], words[:300])

    def _words(self) -> str:
        lines = "".join(self._inline).split("\n") if self._inline else []
        self._inline = []
        return " ".join(" ".join(lines).split())

    def _flush(self) -> Iterator[Piece]:
        if self._inline:
            words = self._words()
            if words:
                yield Piece("paragraph", words)


def _groups(node: Any) -> Iterator[list[list[Any]]]:
    """Yield the cells of the rows of each group of rows of a table, which the parser makes where the page has none."""
    for group in _children_of(node, "thead", "tbody", "tfoot"):
        yield [list(_children_of(row, "td", "th")) for row in _children_of(group, "tr")]


def _children_of(node: Any, *tags: str) -> Iterator[Any]:
    child = node.child
    while child is not None:
        if child.tag in tags and not _hides(child):
            yield child
        child = child.next


def _spans(cell: Any) -> tuple[int, int]:
    """Return how many rows and columns a cell spans."""
    given = cell.attributes
    rows, columns = (whole_number(given.get(name) or "", 1) for name in ("rowspan", "colspan"))
    return rows or TO_THE_END, columns


def _hides(node: Any) -> bool:
    """Return whether an element says that a browser shows nothing of it. What opens when a reader searches is shown."""
    if node.tag in ("-text", "-comment", "body"):  # a body that hides waits for a script to show it
        return False
    given = node.attributes
    hidden = "hidden" in given and (given["hidden"] or "").strip().lower() != "until-found"
    return hidden or bool(_HIDING.search(given.get("style") or ""))


def _shown(node: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts below a node, without hidden ones."""
    child = node.child
    while child is not None:
        if child.tag == "-text":
            yield child.text_content or ""
        elif depth > DEEPEST:
            yield child.text()
        elif not _hides(child):
            yield from _shown(child, depth + 1)
        child = child.next


def _opens(node: Any) -> bool:
    """Return whether a ``header`` is that of the page, with its menus, rather than that of an article."""
    return node.css_first("nav") is not None and node.css_first("h1") is None
