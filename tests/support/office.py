"""Small documents in formats of Office, made by hand, so that a test says exactly what is in them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

_TYPES = '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    f' xmlns:r="{_RELATED}"'
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive with these parts."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return made.getvalue()


def relations(**targets: tuple[str, str]) -> str:
    """Return a part with relations: id=(type, target). Targets with a scheme are external."""
    rows = "".join(
        f'<Relationship Id="{id_}" Type="{_RELATED}/{kind}" Target="{target}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if '://' in target else ''}/>"
        for id_, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}</Relationships>'


def docx(body: str, parts: Mapping[str, str | bytes] | None = None, **targets: tuple[str, str]) -> bytes:
    """Return a Word document with this body (WordprocessingML) and further parts below ``word/``."""
    return archive(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": relations(r1=("officeDocument", "word/document.xml")),
            "word/document.xml": f"<w:document {_NAMES}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(**targets),
            **{
                f"word/{name}": content.replace("NAMES", _NAMES) if isinstance(content, str) else content
                for name, content in (parts or {}).items()
            },
        }
    )


def pptx(*slides: str, strict: bool = False) -> bytes:
    """Return a presentation whose slides have these shapes (PresentationML); ``strict`` takes the ISO standard's names."""
    names = _NAMES.replace(_RELATED, "http://purl.oclc.org/ooxml/officeDocument/relationships") if strict else _NAMES
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="s{n}"/>' for n in range(1, len(slides) + 1))
    targets = {f"s{n}": ("slide", f"slides/slide{n}.xml") for n in range(1, len(slides) + 1)}
    return archive(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": relations(r1=("officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(**targets),
            **{
                f"ppt/slides/slide{n}.xml": f"<p:sld {_NAMES}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
                for n, shapes in enumerate(slides, 1)
            },
        }
    )


def shape(words: str, role: str = "") -> str:
    """Return a shape of a slide, its paragraphs separated by LF."""
    placeholder = f'<p:nvPr><p:ph type="{role}"/></p:nvPr>' if role else "<p:nvPr/>"
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in words.split("\n"))
    return f"<p:sp><p:nvSpPr>{placeholder}</p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def xlsx(rows: str, strings: str = "", styles: str = "", merged: str = "", codes: str = "") -> bytes:
    """Return a workbook with one sheet, ``Data``, of these rows (SpreadsheetML), shared strings, cell formats, merged
    cells and codes of number formats."""
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    return archive(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": relations(r1=("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook {main} xmlns:r="{_RELATED}"><sheets><sheet name="Data" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                r1=("worksheet", "worksheets/sheet1.xml"),
                r2=("sharedStrings", "strings.xml"),
                r3=("styles", "styles.xml"),
            ),
            "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{rows}</sheetData>"
            f"<mergeCells>{merged}</mergeCells></worksheet>",
            "xl/strings.xml": f"<sst {main}>{strings}</sst>",
            "xl/styles.xml": f"<styleSheet {main}><numFmts>{codes}</numFmts><cellXfs>{styles}</cellXfs></styleSheet>",
        }
    )


def pdf(*pages: str, annotations: str = "") -> bytes:
    """Return a PDF whose pages show these lines (Latin letters), as Helvetica, each with these annotations."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{4 + 2 * n} 0 R' for n in range(len(pages)))}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, words in enumerate(pages):
        shown = " ".join(f"({line}) Tj T*" for line in words.split("\n")) if words else ""
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R"
            f" /Annots [{annotations}] /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    return _pdf_of(objects)


def scan(*pages: tuple[int, int, bytes]) -> bytes:
    """Return a PDF whose pages are pictures only: width, height and grey pixels, 200 for each inch."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{3 + 3 * n} 0 R' for n in range(len(pages)))}] /Count {len(pages)} >>",
    ]
    for n, (width, height, pixels) in enumerate(pages):
        wide, high = width * 72 / 200, height * 72 / 200
        packed = zlib.compress(pixels).decode("latin-1")
        stream = f"{wide} 0 0 {high} 0 0 cm /I Do"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {wide} {high}] /Contents {4 + 3 * n} 0 R"
            f" /Resources << /XObject << /I {5 + 3 * n} 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
            f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceGray"
            f" /BitsPerComponent 8 /Filter /FlateDecode /Length {len(packed)} >>\nstream\n{packed}\nendstream",
        ]
    return _pdf_of(objects)


def _pdf_of(objects: list[str]) -> bytes:
    made, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    return made + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def page_image(content: bytes) -> tuple[int, int, bytes]:
    """Return width, height and grey pixels of the first page of a PDF, at 200 dots per inch."""
    import pypdfium2

    shown = pypdfium2.PdfDocument(content)[0].render(scale=200 / 72, grayscale=True)
    raw = bytes(shown.buffer)
    rows = (raw[at : at + shown.width] for at in range(0, shown.height * shown.stride, shown.stride))
    return shown.width, shown.height, b"".join(rows)


def png(width: int, height: int, pixels: bytes) -> bytes:
    """Return a PNG of grey pixels; fewer of them than width and height tell make a damaged one."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, len(pixels), width))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff(*pages: tuple[int, int, bytes]) -> bytes:
    """Return a TIFF of these pages: width, height and grey pixels, not compressed."""
    made = bytearray(b"II*\0" + bytes(4))
    link = 4
    for width, height, pixels in pages:
        place = len(made)
        made += pixels + bytes(len(pixels) % 2)
        struct.pack_into("<I", made, link, len(made))
        tags = ((256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, place), (277, 1), (278, height))
        rows = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in (*tags, (279, len(pixels)))]
        made += struct.pack("<H", len(rows)) + b"".join(rows)
        link = len(made)
        made += bytes(4)
    return bytes(made)
