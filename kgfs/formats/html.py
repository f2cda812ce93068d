"""Web pages: HTML and XHTML in any encoding that they declare. Nothing is fetched."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from kgfs.formats.contract import Format
from kgfs.formats.html_walk import Walk
from kgfs.formats.pieces import Piece

_OPENING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.{0,4000}?-->|<\?xml[^>]{0,200}\?>)*<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_UTF_16 = re.compile("(?:\ufeff|\\s)*<(?:!doctype\\s+html|html[\\s>])", re.I)
_CHARSET = re.compile(rb"<meta[^>]{0,300}charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.I)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.-]{2,40})", re.I)
_SAME = {"iso-8859-1": "windows-1252", "latin1": "windows-1252", "us-ascii": "windows-1252", "gb2312": "gb18030"}
"""What browsers read where a page says this."""
_SINGLE_BYTES = re.compile(r"cp\d+|iso8859-\d+|latin|koi8|mac|ascii|charmap|tis-620|hp-roman8|kz1048|ptcp154")
"""Python's names of encodings whose characters are single bytes."""
WRONG = 5
SAMPLE = 1 << 20
"""Bytes of a page by which an encoding is judged."""


def pieces(content: bytes) -> Iterator[Piece]:
    yield from pieces_of(decoded(content))


def pieces_of(page: str) -> Iterator[Piece]:
    """Yield the blocks of a page that is decoded already."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    title = tree.css_first("title")
    yield Piece("", facts={"title": title.text() if title is not None else ""})
    if tree.body is not None:
        yield from Walk().pieces(tree.body)


def decoded(content: bytes, declared: str = "") -> str:
    """Decode a page by its byte-order mark, as ``declared`` outside it, as it declares itself, else as UTF-8 or Windows-1252.

    What is declared may be wrong. Bytes that are valid UTF-8 are UTF-8 where an encoding of single bytes is declared,
    since words of such an encoding are hardly ever valid. An encoding of several bytes is taken in spite of a few bytes
    that are not valid in it: they cost themselves, not the page.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    head = content[:4096]
    found = _CHARSET.search(head) or _XML_ENCODING.search(head)
    names = [declared, found[1].decode() if found else ""]
    known = [encoding for name in names if (encoding := _encoding(name))]
    if not known or _single_bytes(known[0]):
        known.insert(0, "utf-8")
    for encoding in known:
        if (text := _strictly(content, encoding)) is not None:
            return text
    for encoding in [*known, "utf-8"]:
        if not _single_bytes(encoding) and _fits(content, encoding):
            return content.decode(encoding, "replace")
    return content.decode("windows-1252", "replace")


def _encoding(name: str) -> str:
    """Return Python's name of the encoding that browsers take for a declared one; '' for one that is not known."""
    name = name.strip().lower()
    if name.startswith(("utf-16", "utf16", "ucs-2")) or not name:
        return ""  # a page whose declaration can be read as ASCII is in no such encoding
    try:
        return codecs.lookup(_SAME.get(name, name)).name
    except (LookupError, ValueError):
        return ""


def _single_bytes(encoding: str) -> bool:
    return bool(_SINGLE_BYTES.match(encoding)) and encoding not in ("cp932", "cp936", "cp949", "cp950", "cp65001")


def _strictly(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (ValueError, LookupError):  # codecs that make no text of bytes are LookupErrors
        return None


def _fits(content: bytes, encoding: str) -> bool:
    """Return whether at most one of WRONG characters beyond ASCII is not valid in an encoding."""
    try:
        text = content[:SAMPLE].decode(encoding, "replace")
    except LookupError:
        return False
    wrong = text.count("\ufffd")
    return wrong * WRONG <= sum(1 for character in text if character > "\x7f")


def looks_like_html(content: bytes) -> bool:
    """Return whether the bytes begin as a page does, in any encoding."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return bool(_UTF_16.match(content[:2000].decode("utf-16", "replace")))
    return bool(_OPENING.match(content[:8192]))


FORMAT = Format("html/3", "text/html", frozenset({"html", "htm", "xhtml"}), pieces=pieces, signature=looks_like_html)
