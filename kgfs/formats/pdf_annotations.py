"""What stands on the pages of a PDF beside their text: comments, typed texts and filled-in fields of forms."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

MOST = 5000
"""Annotations of one page that are read."""
_HIDDEN = 2
_FIELDS_WITH_TEXT = ("Tx", "Ch")
_PASSWORD = 1 << 13
"""The flag of fields whose words are not to be seen."""


def words_beside(page: Any) -> Iterator[str]:
    """Yield the words of each annotation of a pypdfium2.PdfPage: those of a field, or of a typed text, as they are;
    those of a comment behind ``Comment:``. Hidden ones, and passwords, are left out."""
    import pypdfium2.raw as pdfium

    comments = {
        pdfium.FPDF_ANNOT_TEXT,
        pdfium.FPDF_ANNOT_HIGHLIGHT,
        pdfium.FPDF_ANNOT_UNDERLINE,
        pdfium.FPDF_ANNOT_SQUIGGLY,
        pdfium.FPDF_ANNOT_STRIKEOUT,
        pdfium.FPDF_ANNOT_STAMP,
        pdfium.FPDF_ANNOT_CARET,
        pdfium.FPDF_ANNOT_INK,
        pdfium.FPDF_ANNOT_LINE,
        pdfium.FPDF_ANNOT_SQUARE,
        pdfium.FPDF_ANNOT_CIRCLE,
        pdfium.FPDF_ANNOT_POLYGON,
        pdfium.FPDF_ANNOT_POLYLINE,
    }
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page), MOST)):
        found = pdfium.FPDFPage_GetAnnot(page, at)
        if not found:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(found)
            if pdfium.FPDFAnnot_GetFlags(found) & _HIDDEN:
                continue
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                flags = ctypes.c_float()
                pdfium.FPDFAnnot_GetNumberValue(found, b"Ff", flags)
                secret = int(flags.value) & _PASSWORD
                if not secret and _string(found, "FT") in _FIELDS_WITH_TEXT and (value := _string(found, "V")):
                    label = _string(found, "TU")
                    yield f"{label}: {value}" if label else value
            elif words := _string(found, "Contents"):
                if kind == pdfium.FPDF_ANNOT_FREETEXT:
                    yield words
                elif kind in comments:
                    author = _string(found, "T")
                    yield f"Comment: {author}: {words}" if author else f"Comment: {words}"
        finally:
            pdfium.FPDFPage_CloseAnnot(found)


def _string(annotation: Any, key: str) -> str:
    """Return a string of an annotation, its lines stripped; '' if it has none of that key."""
    import pypdfium2.raw as pdfium

    name = key.encode()
    size = pdfium.FPDFAnnot_GetStringValue(annotation, name, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAnnot_GetStringValue(annotation, name, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    words = buffer.raw[: size - 2].decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.strip() for line in words.split("\n") if line.strip())
