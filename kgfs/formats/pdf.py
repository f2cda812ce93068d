"""PDF: the text layer, page by page, by pdfium (BSD and Apache licences); recognised text where a page has none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats import recognition
from kgfs.formats.contract import Format
from kgfs.formats.pdf_annotations import words_beside
from kgfs.formats.pdf_salvage import salvaged
from kgfs.formats.pieces import IN_PART, RECOGNISED, Piece

ENCRYPTED = "encrypted: give the password to a copy"
EDGE = 2
"""Lines at the top and at the foot of a page among which repeated ones are looked for."""
POINTS_PER_INCH = 72
DOTS_PER_INCH = 300
PIXELS = 40_000_000
"""Larger pages are drawn with fewer dots per inch."""

_SPREAD = re.compile(
    r"(?:[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef…—·] ){3,}[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef…—·]"
)
"""Chinese and Japanese characters that are set wide apart: pdfium takes the gaps for spaces."""
_DIGITS = re.compile(r"\d+")
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])(?:\ufffe|\xad|\x02)\n?(?=[^\W\d_])")


def pieces(content: bytes, known: Mapping[int, str]) -> Iterator[Piece]:
    """Yield the blocks of each page. ``known`` has the pages that were recognised before."""
    import pypdfium2

    notes: list[str] = []
    document = _opened(content, notes)
    count = len(document)
    lost: list[int] = []
    pages: list[list[list[str]]] = []
    beside: dict[int, list[str]] = {}
    scans: list[int] = []
    for number in range(count):
        try:
            page = document[number]
            pages.append(_paragraphs(page.get_textpage()))
            if not pages[-1] and next(page.get_objects(max_depth=1), None) is not None:
                scans.append(number + 1)
            if further := list(words_beside(page)):
                beside[number + 1] = further
            page.close()
        except pypdfium2.PdfiumError:
            pages.append([])
            lost.append(number + 1)
        yield Piece("")
    for number in _recognisable(scans, notes):
        text = known.get(number)
        if text is None:
            try:
                text = _recognised(document[number - 1])
            except (UnreadableTextError, pypdfium2.PdfiumError) as error:
                notes.append(f"page {number}: {error}")
                text = ""
            yield Piece(RECOGNISED, text, place={"page": number}, facts={"scans": len(scans)})
        pages[number - 1] = [paragraph.split("\n") for paragraph in text.split("\n\n") if paragraph]
    repeated = _repeated(pages)
    empty = [number for number, page in enumerate(pages, 1) if not page and number not in (*lost, *beside)]
    title = document.get_metadata_dict().get("Title", "")
    yield Piece("", facts={"title": title, "pages": count, "note": _note(count, lost, empty, notes)})
    for number, page in enumerate(pages, 1):
        yield Piece("", place={"page": number})
        yield from _page(page, repeated)
        for further_words in beside.get(number, ()):
            yield Piece("paragraph", further_words)


def _opened(content: bytes, notes: list[str]) -> Any:
    """Return the pypdfium2.PdfDocument; one whose end is missing is put in order as far as it is there, and noted."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        said = str(error)
        if "password" in said.lower():
            raise UnreadableTextError(ENCRYPTED) from error
        if "Success" in said:
            raise UnreadableTextError("it has no pages") from error
        try:
            document = pypdfium2.PdfDocument(salvaged(content) or b"")
        except pypdfium2.PdfiumError:
            raise UnreadableTextError(f"damaged: pdfium says '{said}'") from error
        notes.append(f"{IN_PART}: its end is missing")
        return document


def _page(page: list[list[str]], repeated: set[str]) -> Iterator[Piece]:
    count = sum(map(len, page))
    at = 0
    for paragraph in page:
        kinds = [at + n < EDGE or at + n >= count - EDGE for n in range(len(paragraph))]
        at += len(paragraph)
        body: list[str] = []
        for line, edge in zip(paragraph, kinds, strict=True):
            if edge and _DIGITS.sub("0", line) in repeated:
                if body:
                    yield Piece("paragraph", "\n".join(body))
                    body = []
                yield Piece("furniture", line)
            else:
                body.append(line)
        if body:
            yield Piece("paragraph", "\n".join(body))


def _paragraphs(textpage: Any) -> list[list[str]]:
    """Return the lines of a page by paragraph: a gap between lines that is wider than usual begins a new one.

    ``textpage`` is a pypdfium2.PdfTextPage.
    """
    from pypdfium2 import PdfiumError

    text = textpage.get_text_range()
    lines: list[tuple[str, float, float]] = []
    at = 0
    for raw in text.split("\n"):
        words = _SPREAD.sub(_close, raw.strip())
        if words:
            start = at + len(raw) - len(raw.lstrip())
            try:
                _, bottom, _, top = textpage.get_charbox(start, loose=True)
            except PdfiumError:  # a character without a box
                bottom = top = 0.0
            lines.append((words, bottom, top))
        at += len(raw) + 1
    paragraphs: list[list[str]] = []
    before = 0.0
    for words, bottom, top in lines:
        gap, height = before - top, top - bottom
        if not paragraphs or gap > 0.6 * height or gap < -3 * height:
            paragraphs.append([])
        paragraphs[-1].append(words)
        before = bottom
    return [_BROKEN_WORD.sub("", "\n".join(lines)).split("\n") for lines in paragraphs]


def _close(found: re.Match[str]) -> str:
    return found[0].replace(" ", "")


def _recognisable(scans: list[int], notes: list[str]) -> list[int]:
    """Return the pages to recognise, and note why none is."""
    if scans and not recognition.tesseract():
        notes.append(recognition.MISSING)
        return []
    return scans


def _recognised(page: Any) -> str:
    """Return the paragraphs that are recognised in what a page shows, a blank line between two. It is a
    pypdfium2.PdfPage."""
    width, height = page.get_size()
    scale = min(DOTS_PER_INCH / POINTS_PER_INCH, (PIXELS / max(1.0, width * height)) ** 0.5)
    drawn = page.render(scale=scale, grayscale=True)
    raw = memoryview(drawn.buffer).cast("B")
    rows = (raw[at : at + drawn.width] for at in range(0, drawn.height * drawn.stride, drawn.stride))
    picture = b"P5 %d %d 255\n" % (drawn.width, drawn.height) + b"".join(rows)
    return "\n\n".join(recognition.paragraphs(picture, recognition.languages()))


def _repeated(pages: list[list[list[str]]]) -> set[str]:
    """Return the lines, their numbers as 0, that stand at the edge of at least three pages and of a third of all."""
    counts: Counter[str] = Counter()
    for page in pages:
        lines = [line for paragraph in page for line in paragraph]
        counts.update({_DIGITS.sub("0", line) for line in (*lines[:EDGE], *lines[-EDGE:])})
    least = max(3, len(pages) // 3)
    return {line for line, count in counts.items() if count >= least}


def _note(count: int, lost: list[int], empty: list[int], others: list[str]) -> str:
    notes = []
    if lost:
        notes.append(f"{len(lost)} of {count} pages are damaged: {_numbers(lost)}")
    if empty:
        notes.append(f"no text was found on {len(empty)} of {count} pages: {_numbers(empty)}")
    notes += [*others[:20], *(["…"] if len(others) > 20 else [])]
    return "; ".join(notes) or ("" if count else "it has no pages")


def _numbers(pages: list[int]) -> str:
    return ", ".join(map(str, pages[:20])) + (" …" if len(pages) > 20 else "")


def _is_pdf(content: bytes) -> bool:
    return b"%PDF-" in content[:1024]


FORMAT = Format("pdf/3", "application/pdf", frozenset({"pdf"}), pieces_of_scans=pieces, signature=_is_pdf, binary=True)
