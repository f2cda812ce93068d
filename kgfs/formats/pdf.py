"""PDF: the text layer, page by page, by pdfium (BSD and Apache licences); recognised text where a page has none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats import recognition
from kgfs.formats.contract import Format
from kgfs.formats.pdf_annotations import annotations_of
from kgfs.formats.pdf_columns import by_columns
from kgfs.formats.pdf_forms import Box, Field, Fields
from kgfs.formats.pdf_salvage import salvaged
from kgfs.formats.pieces import IN_PART, RECOGNISED, Piece

ENCRYPTED = "encrypted: give the password to a copy"
EDGE = 2
"""Lines at the top and at the foot of a page among which repeated ones are looked for."""
POINTS_PER_INCH = 72
DOTS_PER_INCH = 300
SAMPLE = 200
"""Characters of a page by which it is judged whether its fonts say what they are."""
PIXELS = 40_000_000
"""Larger pages are drawn with fewer dots per inch."""

_SPREAD = re.compile(
    r"(?:[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef…—·] ){3,}[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef…—·]"
)
"""Chinese and Japanese characters that are set wide apart: pdfium takes the gaps for spaces."""
_HYPHEN = re.compile(r"[\ufffe\x02]$")
_DIGITS = re.compile(r"\d+")
_BROKEN_AT_END = re.compile(r"[^\W\d_][-\u2010\xad\ufffe\x02]$")
_LINE = re.compile(r"[^\n\ufffe\x02]*(?:[\ufffe\x02]|\n|$)")
"""A line: pdfium has a mark of its own in place of a hyphen at the end of one, without a line feed."""
_BROKEN_WORD = re.compile(r"([^\W\d_])(?:\ufffe|\xad|\x02)\n?([^\W\d_])")


def pieces(content: bytes, known: Mapping[int, str]) -> Iterator[Piece]:
    """Yield the blocks of each page. ``known`` has the pages that were recognised before."""
    import pypdfium2

    notes: list[str] = []
    document = _opened(content, notes)
    document.init_forms()
    count = len(document)
    lost: list[int] = []
    pages: list[list[list[str]]] = []
    beside: dict[int, list[str]] = {}
    scans: list[int] = []
    codes: list[int] = []
    for number in range(count):
        try:
            page = document[number]
            textpage, found = page.get_textpage(), list(annotations_of(page, document.formenv))
            placed: list[Field] = []
            if _is_unreadable(textpage):
                codes.append(number + 1)
                pages.append([])
            else:
                fields = Fields((each for each in found if isinstance(each, Field)), _boxes(textpage))
                pages.append(_paragraphs(textpage, fields))
                placed = fields.placed
            if not pages[-1] and next(page.get_objects(max_depth=1), None) is not None:
                scans.append(number + 1)
            if further := [each if isinstance(each, str) else each.alone() for each in found if each not in placed]:
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
    _join_over_borders(pages, repeated)
    if unread := [number for number in codes if not pages[number - 1]]:
        notes.insert(
            0, f"the fonts of {len(unread)} of {count} pages do not say what their characters are: {_numbers(unread)}"
        )
    empty = [number for number, page in enumerate(pages, 1) if not page and number not in (*lost, *beside, *unread)]
    title = document.get_metadata_dict().get("Title", "")
    yield Piece("", facts={"title": title, "pages": count, "note": _note(count, lost, empty, notes)})
    for number, page in enumerate(pages, 1):
        yield Piece("", place={"page": number})
        page = [[_HYPHEN.sub("-", line) for line in paragraph] for paragraph in page]
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


def _boxes(textpage: Any) -> Callable[[int], Box | None]:
    """Return what finds the box of a character by its index in a pypdfium2.PdfTextPage."""
    from pypdfium2 import PdfiumError

    def box_of(index: int) -> Box | None:
        try:
            left, bottom, right, top = textpage.get_charbox(index, loose=True)
        except PdfiumError:  # a character without a box
            return None
        return left, bottom, right, top

    return box_of


def _is_unreadable(textpage: Any) -> bool:
    """Return whether most characters of a page are codes of fonts that do not say what they stand for."""
    import pypdfium2.raw as pdfium

    count = textpage.count_chars()
    sample = [at for at in range(0, count, count // SAMPLE + 1) if not pdfium.FPDFText_IsGenerated(textpage, at)]
    wrong = sum(1 for at in sample if pdfium.FPDFText_HasUnicodeMapError(textpage, at) == 1)
    return wrong * 2 > len(sample)


def _paragraphs(textpage: Any, fields: Fields) -> list[list[str]]:
    """Return the lines of a page by paragraph: a gap between lines that is wider than usual begins a new one.

    ``textpage`` is a pypdfium2.PdfTextPage.
    """
    text = textpage.get_text_range()
    box_of = _boxes(textpage)
    read = [(found[0], found.start()) for found in _LINE.finditer(text)]
    placed: dict[int, str] = {}
    for above in (False, True):
        for raw, start in read:
            if start not in placed and (words := fields.in_line(raw, start, above=above)) != raw:
                placed[start] = words
    lines: list[tuple[str, float, float]] = []
    for raw, start in read if placed else by_columns(read, box_of):
        if words := _SPREAD.sub(_close, placed.get(start, raw).strip()):
            _, bottom, _, top = box_of(start + len(raw) - len(raw.lstrip())) or (0.0, 0.0, 0.0, 0.0)
            lines.append((words, bottom, top))
    paragraphs: list[list[str]] = []
    before = 0.0
    for words, bottom, top in lines:
        gap, height = before - top, top - bottom
        if not paragraphs or ((gap > 0.6 * height or gap < -3 * height) and not _goes_on(paragraphs[-1][-1], words)):
            paragraphs.append([])
        paragraphs[-1].append(words)
        before = bottom
    return [_BROKEN_WORD.sub(_whole, "\n".join(lines)).split("\n") for lines in paragraphs]


def _goes_on(line: str, following: str) -> bool:
    """Return whether the last word of a line goes on in the following one, which may be in the next column."""
    found = _BROKEN_WORD.fullmatch(f"{line[-2:]}\n{following[:1]}")
    return found is not None and "\n" not in _whole(found)


def _whole(found: re.Match[str]) -> str:
    """Return the letters on both sides of a hyphen at the end of a line, in one word unless the second begins another."""
    first, second = found[1], found[2]
    return f"{first}-\n{second}" if second.isupper() and not first.isupper() else first + second


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


def _join_over_borders(pages: list[list[list[str]]], repeated: set[str]) -> None:
    """Put each word that is hyphenated over a border of pages together, on the first of them."""
    for page, following in pairwise(pages):
        before, behind = _edge_of_body(page[::-1], repeated, -1), _edge_of_body(following, repeated, 1)
        if before is None or behind is None:
            continue
        (lines, n), (others, k) = before, behind
        rest = others[k].split(maxsplit=1)
        if _BROKEN_AT_END.search(lines[n]) and rest[0][:1].islower():
            lines[n] = lines[n][:-1] + rest[0]
            others[k] = rest[1] if len(rest) > 1 else ""
            if not others[k]:
                del others[k]


def _edge_of_body(page: list[list[str]], repeated: set[str], step: int) -> tuple[list[str], int] | None:
    """Return the first line of a page's text as its paragraph and index; from its end, whose paragraphs come first, with
    a ``step`` of -1. Repeated lines and numbers of pages are not its text."""
    for lines in page:
        for n in range(len(lines))[::step]:
            if _DIGITS.sub("0", lines[n]) not in repeated and any(map(str.isalpha, lines[n])):
                return lines, n
    return None


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


FORMAT = Format("pdf/4", "application/pdf", frozenset({"pdf"}), pieces_of_scans=pieces, signature=_is_pdf, binary=True)
