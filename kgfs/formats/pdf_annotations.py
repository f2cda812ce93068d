"""What stands on the pages of a PDF beside their text: comments, typed texts and filled-in fields of forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kgfs.formats.pdf_forms import Field, field_of
from kgfs.formats.pdf_strings import string_of

MOST = 5000
"""Annotations of one page that are read."""
_HIDDEN = 2


def annotations_of(page: Any, form: Any) -> Iterator[str | Field]:
    """Yield each annotation of a pypdfium2.PdfPage, without hidden ones: fields that are filled in; the words of typed
    texts as they are; those of comments behind ``Comment:``. ``form`` is the document's pypdfium2.PdfFormEnv, or None."""
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
                if (field := field_of(found, form)) is not None:
                    yield field
            elif words := string_of(found, "Contents"):
                if kind == pdfium.FPDF_ANNOT_FREETEXT:
                    yield words
                elif kind in comments:
                    author = string_of(found, "T")
                    yield f"Comment: {author}: {words}" if author else f"Comment: {words}"
        finally:
            pdfium.FPDFPage_CloseAnnot(found)
