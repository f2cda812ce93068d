"""Web pages: HTML and XHTML in any encoding that they declare. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgfs.formats.contract import Format
from kgfs.formats.decoding import (
    SAMPLE,
    Decoded,
    codec_of,
    declared_codec,
    guess,
    is_mostly_utf_8,
    makes_words,
    read_as,
    utf_16_by_nuls,
)
from kgfs.formats.html_walk import Walk
from kgfs.formats.pieces import Piece

_OPENING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.{0,4000}?-->|<\?xml[^>]{0,200}\?>)*<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_UTF_16 = re.compile("(?:\ufeff|\\s)*<(?:!doctype\\s+html|html[\\s>])", re.I)
_SINGLE_BYTES = re.compile(r"cp\d+|iso8859-\d+|latin|koi8|mac|ascii|charmap|tis-620|hp-roman8|kz1048|ptcp154")
"""Python's names of encodings whose characters are single bytes."""
WRONG = 5


def pieces(content: bytes) -> Iterator[Piece]:
    found = decoded(content)
    yield from pieces_of(found.text)
    yield from told(found)


def told(found: Decoded) -> Iterator[Piece]:
    """Yield what is to be told of the decoding of a document or of its text."""
    if found.guessed or found.note:
        facts = {"guessed_encoding": found.guessed, "note": found.note}
        yield Piece("", facts={name: value for name, value in facts.items() if value})


def pieces_of(page: str) -> Iterator[Piece]:
    """Yield the blocks of a page that is decoded already."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    title = tree.css_first("title")
    yield Piece("", facts={"title": title.text() if title is not None else ""})
    if tree.body is not None:
        yield from Walk().pieces(tree.body)


def decoded(content: bytes, declared: str = "") -> Decoded:
    """Decode a page by its byte-order mark, as ``declared`` outside it, as it declares itself, else as UTF-8, else by a guess.

    What is declared may be wrong. Bytes that are valid UTF-8 are UTF-8 where an encoding of single bytes is declared,
    since words of such an encoding are hardly ever valid. An encoding of several bytes is taken in spite of a few bytes
    that are not valid in it: they cost themselves, not the page. What makes no words as declared is guessed; where no
    guess makes words either, all beyond ASCII is wrong.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return read_as(content[len(mark) :], encoding)
    if (wide := utf_16_by_nuls(content)) is not None:
        return wide
    content = content.replace(b"\x00", b"")
    known = [encoding for encoding in (codec_of(declared), declared_codec(content)) if encoding]
    if not known or _single_bytes(known[0]):
        known.insert(0, "utf-8")
    for encoding in known:
        strict = read_as(content, encoding)
        if not strict.wrong and (encoding == "utf-8" or makes_words(strict.text)):
            return strict
    for encoding in [*known, "utf-8"]:
        if not _single_bytes(encoding) and _fits(content, encoding):
            return read_as(content, encoding)
    return guess(content) or read_as(content, "ascii")


def _single_bytes(encoding: str) -> bool:
    return bool(_SINGLE_BYTES.match(encoding)) and encoding not in ("cp932", "cp936", "cp949", "cp950", "cp65001")


def _fits(content: bytes, encoding: str) -> bool:
    """Return whether at most one of WRONG characters beyond ASCII is not valid in an encoding; of UTF-8 more may be wrong."""
    if encoding == "utf-8":
        return is_mostly_utf_8(content)
    text = content[:SAMPLE].decode(encoding, "replace")
    wrong = text.count("\ufffd")
    return wrong * WRONG <= sum(1 for character in text if character > "\x7f")


def looks_like_html(content: bytes) -> bool:
    """Return whether the bytes begin as a page does, in any encoding."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return bool(_UTF_16.match(content[:2000].decode("utf-16", "replace")))
    wide = utf_16_by_nuls(content[:2000])
    return bool(_UTF_16.match(wide.text) if wide else _OPENING.match(content[:8192]))


FORMAT = Format("html/3", "text/html", frozenset({"html", "htm", "xhtml"}), pieces=pieces, signature=looks_like_html)
