"""Web pages: HTML and XHTML in any encoding that they declare. Nothing is fetched."""

from __future__ import annotations

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
    """Decode a page as browsers do: by its byte-order mark, as ``declared`` outside it, by what it declares itself, as
    UTF-8 if it is valid, else as Windows-1252."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    head = content[:4096]
    found = _CHARSET.search(head) or _XML_ENCODING.search(head)
    for name in (declared, found[1].decode() if found else "", "utf-8"):
        try:
            return content.decode(_SAME.get(name.lower(), name), "strict") if name else content.decode("utf-8")
        except (LookupError, ValueError):
            continue
    return content.decode("windows-1252", "replace")


def _is_html(content: bytes) -> bool:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return bool(_UTF_16.match(content[:2000].decode("utf-16", "replace")))
    return bool(_OPENING.match(content[:8192]))


FORMAT = Format("html/1", "text/html", frozenset({"html", "htm", "xhtml"}), pieces=pieces, signature=_is_html)
