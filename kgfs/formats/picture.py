"""Pictures: their recognised text, page by page. The program that recognises decodes them; here only headers are read."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from kgfs.errors import UnreadableTextError
from kgfs.formats import recognition
from kgfs.formats.contract import Format
from kgfs.formats.pieces import Piece

PIXELS = 150_000_000
"""The largest picture that is decoded: A4 at 1200 dots per inch has 139 million."""
PAGES = 100_000
"""Pages of a TIFF at most."""

Sizes = list[tuple[int, int]]
"""Width and height of each page."""

_NO_SIZE = frozenset((0xC4, 0xC8, 0xCC))
"""Markers of JPEG among 0xC0 to 0xCF that begin no frame."""
_NUMBERS = {1: "B", 3: "H", 4: "I"}
"""Types of numbers in TIFF → their letter in ``struct``."""


def _pieces(kind: str, sizes: Callable[[bytes], Sizes]) -> Callable[[bytes], Iterator[Piece]]:
    def pieces(content: bytes) -> Iterator[Piece]:
        try:
            pages = sizes(content)
        except (struct.error, IndexError) as error:
            raise UnreadableTextError(f"damaged: this {kind} image ends before its size is told") from error
        if not recognition.tesseract():
            raise UnreadableTextError(recognition.MISSING)
        yield from _recognised(kind, content, pages)

    return pieces


def _recognised(kind: str, content: bytes, pages: Sizes) -> Iterator[Piece]:
    """Yield the text of each page. A page that cannot be read costs itself only, if there are others."""
    languages = recognition.languages()
    notes: list[str] = []
    empty: list[int] = []
    for number, (width, height) in enumerate(pages, 1):
        many = len(pages) > 1
        found: list[str] = []
        try:
            _check_size(kind, width, height)
            found = recognition.paragraphs(content, languages, number - 1)
            if not found:
                empty.append(number)
        except UnreadableTextError as error:
            if not many:
                raise
            notes.append(f"page {number}: {error}")
        yield Piece("", place={"page": number} if many else None)
        for words in found:
            yield Piece("paragraph", words)
    if len(empty) == len(pages):
        notes = [recognition.NOTHING]
    elif empty:
        notes.append(f"{recognition.NOTHING} on {len(empty)} of {len(pages)} pages")
    shown = [*notes[:20], *(["…"] if len(notes) > 20 else [])]
    about = {"dimensions": f"{pages[0][0]}x{pages[0][1]}"} if len(pages) == 1 else None
    yield Piece("", facts={"pages": len(pages) if len(pages) > 1 else 0, "note": "; ".join(shown)}, about=about)


def _check_size(kind: str, width: int, height: int) -> None:
    if width < 1 or height < 1:
        raise UnreadableTextError(f"damaged: this {kind} image has no pixels")
    if width * height > PIXELS:
        most = f"{PIXELS // 1_000_000} million"
        raise UnreadableTextError(f"too large: {width} × {height} pixels; {most} at most are read")


def _png_sizes(content: bytes) -> Sizes:
    return [struct.unpack_from(">II", content, 16)]


def _jpeg_sizes(content: bytes) -> Sizes:
    at = 2
    while True:
        while content[at] != 0xFF or content[at + 1] in (0x00, 0xFF):
            at += 1
        marker = content[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return [(width, height)]
        alone = marker == 0x01 or 0xD0 <= marker <= 0xD8
        at += 2 if alone else 2 + struct.unpack_from(">H", content, at + 2)[0]


def _webp_sizes(content: bytes) -> Sizes:
    kind = content[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(content[at : at + 3], "little") + 1 for at in (24, 27))
    elif kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    else:
        width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", content, 26))
    return [(width, height)]


def _tiff_sizes(content: bytes) -> Sizes:
    order = "<" if content.startswith(b"II") else ">"
    sizes: Sizes = []
    (at,) = struct.unpack_from(order + "I", content, 4)
    seen: set[int] = set()
    while at and at not in seen and len(sizes) < PAGES:
        seen.add(at)
        try:
            (count,) = struct.unpack_from(order + "H", content, at)
            sides = {256: 0, 257: 0}
            for place in range(at + 2, at + 2 + 12 * count, 12):
                tag, type_ = struct.unpack_from(order + "HH", content, place)
                if tag in sides and type_ in _NUMBERS:
                    (sides[tag],) = struct.unpack_from(order + _NUMBERS[type_], content, place + 8)
            (at,) = struct.unpack_from(order + "I", content, at + 2 + 12 * count)
        except struct.error:
            if not sizes:
                raise
            break  # the pages before are whole
        sizes.append((sides[256], sides[257]))
    if not sizes:
        raise UnreadableTextError("damaged: this TIFF image has no pages")
    return sizes


def _format(kind: str, sizes: Callable[[bytes], Sizes], signature: Callable[[bytes], bool]) -> Format:
    """Return a row. Its extensions tell nothing: pictures have firm signatures."""
    name = kind.lower()
    return Format(f"{name}/2", f"image/{name}", (), pieces=_pieces(kind, sizes), signature=signature)


PNG = _format("PNG", _png_sizes, lambda content: content.startswith(b"\x89PNG\r\n\x1a\n"))
JPEG = _format("JPEG", _jpeg_sizes, lambda content: content.startswith(b"\xff\xd8\xff"))
WEBP = _format("WebP", _webp_sizes, lambda content: content.startswith(b"RIFF") and content[8:12] == b"WEBP")
TIFF = _format("TIFF", _tiff_sizes, lambda content: content.startswith((b"II*\x00", b"MM\x00*")))
