"""Foreign documents inside Word documents (``altChunk``): web pages, archived ones, plain text, Word documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kgfs.formats.decoding import decode
from kgfs.formats.html import decoded, looks_like_html, pieces_of
from kgfs.formats.mail import header_fields, page_pieces
from kgfs.formats.pieces import Piece


def chunk_pieces(name: str, content: bytes, word: Callable[[bytes], Iterator[Piece]]) -> Iterator[Piece]:
    """Yield the blocks of a part that Word shows in its place. ``word`` reads a Word document.

    UnreadableTextError where it is in a form that is not read, such as RTF.
    """
    if content.startswith(b"PK\x03\x04"):
        pieces = word(content)
    elif b"mime-version" in header_fields(content):
        pieces = page_pieces(content)
    elif looks_like_html(content) or name.lower().endswith((".htm", ".html", ".xhtml")):
        pieces = pieces_of(decoded(content).text)
    else:
        text = decode(name, content).text
        pieces = (Piece("paragraph", words) for words in text.split("\n\n"))
    for piece in pieces:
        if piece.kind:  # title, pages and note are those of the document around it
            yield piece
