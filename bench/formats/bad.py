"""Print what a person is told about bad files: encrypted, truncated, empty and hostile ones, and ones of a lying suffix.

    python -m bench.formats.bad

Real files are those of tests/data/formats; the others are made here. Each is parsed as a home's worker parses it.
"""

from __future__ import annotations

import io
import re
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from kgfs.errors import KgfsError
from kgfs.formats.table import parse

REAL = Path(__file__).parents[2] / "tests/data/formats"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _zip(parts: dict[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def _office(kind: str, main: str, content: str | bytes, extra: dict[str, str | bytes] | None = None) -> bytes:
    relation = f'<Relationship Id="r1" Type="{_RELATED}/officeDocument" Target="{main}"/>'
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": f"<Types kind='{kind}'/>",
        "_rels/.rels": f"<Relationships>{relation}</Relationships>",
        main: content,
    }
    return _zip(parts | (extra or {}))


def _word(body: str) -> bytes:
    return _office("word", "word/document.xml", f"<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>")


def _pdf(*objects: str) -> bytes:
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{content}\nendobj\n".encode()
    start = len(made)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return made + end.encode()


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def _paragraph(words: str) -> str:
    return f"<w:p><w:r><w:t>{words}</w:t></w:r></w:p>"


def files() -> Iterator[tuple[str, str, bytes]]:
    """Yield (what it is, name, bytes)."""

    def real(name: str) -> bytes:
        return (REAL / name).read_bytes()

    yield "PDF with a password", "letter.pdf", real("libreoffice-writer-password.pdf")
    yield "Word document with a password", "letter.docx", real("testWORD_protected_passtika.docx")
    yield "OpenDocument text with a password", "letter.odt", real("testODTEncrypted.odt")
    book = {
        "META-INF/container.xml": "<c><rootfile full-path='b.opf'/></c>",
        "b.opf": "<p/>",
        "META-INF/rights.xml": "<r/>",
    }
    yield "e-book with rights management", "book.epub", _zip({**book, "META-INF/encryption.xml": "<e/>"})
    for name in ("pdflatex-outline.pdf", "testWORD_various.docx", "testEXCEL_big_numbers.xlsx", "testPPT_various.pptx"):
        whole = real(name)
        yield f"{name[-4:].strip('.').upper()}, its second half missing", name, whole[: len(whole) // 2]
    yield "OpenDocument text that is no archive", "notes.odt", real("testODTnotaZipFile.odt")
    yield "PDF with a damaged page among others", "report.pdf", real("testPDF_bad_page_303226.pdf")
    yield "PNG, its second half missing", "scan.png", real("testOCR_spacing.png")[:900]
    yield (
        "PDF without pages",
        "none.pdf",
        _pdf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>"),
    )
    loop = "<< /Type /Pages /Kids [2 0 R] /Count 1000 /Parent 2 0 R >>"
    yield "PDF whose list of pages holds itself", "loop.pdf", _pdf("<< /Type /Catalog /Pages 2 0 R >>", loop)
    yield (
        "presentation without slides",
        "none.pptx",
        _office("ppt", "ppt/presentation.xml", "<p:presentation xmlns:p='p'/>"),
    )
    yield "workbook without sheets", "none.xlsx", _office("xl", "xl/workbook.xml", "<workbook/>")
    yield "Word document without words", "none.docx", _word("<w:p/>")
    yield "mailbox without a mail", "none.mbox", real("simple.mbox")
    yield "empty archive named as a Word document", "empty.docx", _zip({})
    yield "Word document of 3 GB of spaces", "bomb.docx", _bomb()
    entities = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10 if n else 'ha'}'>" for n in range(10))
    laughs = f"<!DOCTYPE w [{entities}]><w:document xmlns:w='w'><w:body><w:p><w:r><w:t>&e9; tail</w:t></w:r></w:p></w:body></w:document>"
    yield "Word document with a billion laughs", "laughs.docx", _office("word", "word/document.xml", laughs)
    yield (
        "Word document with 50,000 tables in each other",
        "deep.docx",
        _word("<w:tbl><w:tr><w:tc>" * 50_000 + _paragraph("deep") + "</w:tc></w:tr></w:tbl>" * 50_000),
    )
    yield (
        "web page with a million boxes in each other",
        "deep.html",
        b"<!doctype html>" + b"<div>" * 1_000_000 + b"The tide.",
    )
    sheet = "".join(f"<row r='{n}'><c r='XFD{n}'><v>1</v></c></row>" for n in (1, 1048576))
    parts: dict[str, str | bytes] = {
        "xl/_rels/workbook.xml.rels": f"<Relationships><Relationship Id='s' Type='{_RELATED}/worksheet' Target='s.xml'/></Relationships>",
        "xl/s.xml": f"<worksheet><sheetData>{sheet}</sheetData></worksheet>",
    }
    book_xml = f"<workbook xmlns:r='{_RELATED}'><sheets><sheet name='Far' r:id='s'/></sheets></workbook>"
    yield "sheet with cells at its farthest corners", "far.xlsx", _office("xl", "xl/workbook.xml", book_xml, parts)
    yield "PNG of 100,000 by 100,000 pixels", "huge.png", _png(100_000, 100_000)
    yield "PNG without pixels", "none.png", _png(0, 10)
    yield "PDF named .txt", "survey.txt", real("pdflatex-outline.pdf")
    yield "Word document named .pdf", "memo.pdf", _word(_paragraph("The tide turns."))
    yield "text named .docx", "note.docx", b"The tide turns at noon.\n"
    yield "text named .pdf", "note.pdf", b"The tide turns at noon.\n"
    yield "JPEG named .csv", "photo.csv", real("testOCR.jpg")
    yield "web page named .docx", "page.docx", b"<!doctype html><title>Tides</title><p>The tide turns."
    yield "random bytes named .pdf", "noise.pdf", zlib.compress(bytes(range(256)) * 40)
    yield "old Word document", "old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    yield "Rich Text named .docx", "rich.docx", b"{\\rtf1\\ansi The tide turns.}"
    yield "ZIP archive", "all.zip", _zip({"a.txt": "The tide turns."})


def _bomb() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "_rels/.rels", f"<R><r Id='r' Type='{_RELATED}/officeDocument' Target='word/document.xml'/></R>"
        )
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            part.write(b"<w:document xmlns:w='w'><w:body>")
            for _ in range(3 << 10):
                part.write(b" " * (1 << 20))
    return target.getvalue()


def main() -> None:
    print("| file | size | seconds | what a person is told |")
    print("| --- | --- | --- | --- |")
    for what, name, content in files():
        begin = time.perf_counter()
        try:
            text = parse(name, content)
            words = len(re.findall(r"\w+", text.text))
            told = f"read by `{text.parser.partition('/')[0]}`, {words:,} words" + (
                f"; not read: {text.note}" if text.note else ""
            )
        except KgfsError as error:
            told = str(error).removeprefix(f"{name}: ")
        seconds = time.perf_counter() - begin
        print(f"| {what} | {len(content):,} | {seconds:.1f} | {told.replace('|', '/')} |", flush=True)


if __name__ == "__main__":
    main()
