"""The pieces that a parser in a process of its own streams, and the Text that is put together from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgfs.domain.parts import Part, PartKind, PartNames, printable
from kgfs.domain.places import Place
from kgfs.domain.text import Block, Text
from kgfs.errors import UnreadableTextError
from kgfs.formats.headings import words_of
from kgfs.formats.titles import title_of

RECOGNISED = "recognised"
"""The kind of a piece that is the recognised text of a page, of ``facts["scans"]`` such pages."""

Keep = Callable[[str, str, bytes], str]
"""Store the bytes of a part: called with its name, its SHA-256 and its bytes; returns their garage key."""

IN_PART = "damaged, and read in part"
"""What the note of a damaged document begins with."""
NO_TEXT = "no text was found. The original is kept."

_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]|[\ud800-\udfff]")
_NO_TITLE = re.compile(r"(?i)^(microsoft \w+ - |untitled|title|document\d*$|slide \d+$|presentation\d*$)|\.\w{2,5}$")


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of a document, in the order of reading."""

    kind: str
    """As ``Block.kind``. ``""`` adds no block: a sign of life, or facts only. RECOGNISED adds none either: the text of
    the page ``place``, to be kept in case the parser is interrupted."""
    text: str = ""
    """Markdown, without blank lines around it."""
    level: int = 0
    place: Mapping[str, str | int] | None = None
    """The locator that holds from this piece on, if it is another one."""
    facts: Mapping[str, str | int] = field(default_factory=dict)
    """``title``, ``pages``, ``note``, ``guessed_encoding``: of the document as a whole. Of a part ``given``, ``kind``, ``media_type``."""
    content: bytes | None = None
    """The bytes of a part of the document (kind ``part``), which is a document of its own."""
    about: Mapping[str, Any] | None = None
    """As ``Text.about``: added to what other pieces say."""


def heading(text: str, level: int, place: Mapping[str, str | int] | None = None) -> Piece:
    """Return a heading in Markdown; deeper ones than Markdown has are of the deepest level."""
    level = min(max(level, 1), 6)
    return Piece("heading", f"{'#' * level} {' '.join(text.split())}", level, place)


def table(rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table, its first row as header; '' without any text."""
    lines = [[cell_of(cell) for cell in row] for row in rows]
    lines = [row for row in lines if any(row)]
    if not lines:
        return ""
    width = max(map(len, lines))
    shown = [line_of(row + [""] * (width - len(row))) for row in lines]
    return "\n".join([shown[0], "|" + " --- |" * width, *shown[1:]])


def cell_of(text: str) -> str:
    """Return the words of a cell on one line, with its bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def line_of(cells: Iterable[str]) -> str:
    """Return one line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def clean(text: str) -> str:
    """Remove what no text has: control characters, halves of surrogate pairs, carriage returns."""
    return _NOT_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def put_together(name: str, parser: str, media_type: str, pieces: Iterable[Piece], keep: Keep | None = None) -> Text:
    """Return the Text of a document from its pieces, a blank line between two of them.

    Hand the bytes of each part to ``keep``, without which parts are left out. UnreadableTextError if the pieces have
    neither text nor parts.
    """
    names = PartNames()
    found: list[Part] = []
    about: dict[str, Any] = {}
    parts: list[str] = []
    blocks: list[Block] = []
    places: list[Place] = []
    facts: dict[str, str | int] = {}
    at = 0
    for piece in pieces:
        if piece.content is not None:
            if keep is not None:
                found.append(_part(names, piece, keep))
            continue
        facts |= piece.facts
        about |= piece.about or {}
        text = piece.text.strip("\n")
        if text.strip():
            if parts:
                parts.append("\n\n")
                at += 2
            title = words_of(text.lstrip("# ")) if piece.kind == "heading" else ""
            blocks.append(Block(piece.kind, at, at + len(text), piece.level, title))
        if piece.place is not None:
            if places and places[-1][0] == at:
                places.pop()  # a page without text
            places.append((at, dict(piece.place)))
        if text.strip():
            parts.append(text)
            at += len(text)
    if not found and not any(block.kind != "rule" for block in blocks):
        reason = str(facts.get("note") or NO_TEXT)
        raise UnreadableTextError(f"{name}: {reason.replace(IN_PART, 'damaged, and nothing of it could be read')}")
    text = "".join([*parts, "\n"]) if parts else ""
    title = " ".join(str(facts.get("title", "")).split())[:300]
    if len(title) < 3 or _NO_TITLE.search(title):
        title = title_of(name, text, blocks)
    digest = hashlib.sha256(text.encode()).hexdigest()
    pages, note = int(facts.get("pages", 0)), str(facts.get("note", ""))
    made_of = tuple(blocks), tuple(places), pages, note, tuple(found), about
    return Text(
        text, digest, parser, media_type, "", title, *made_of, guessed_encoding=str(facts.get("guessed_encoding", ""))
    )


def _part(names: PartNames, piece: Piece, keep: Keep) -> Part:
    content, facts = piece.content or b"", {key: str(value) for key, value in piece.facts.items()}
    given, media_type = facts.get("given", ""), clean(facts.get("media_type", ""))
    name = names.take(given, media_type)
    sha256 = hashlib.sha256(content).hexdigest() if content else ""
    key = keep(name, sha256, content) if content else ""
    kind = facts.get("kind", PartKind.ATTACHMENT.value)
    return Part(name, printable(given), kind, media_type, sha256, len(content), key)
