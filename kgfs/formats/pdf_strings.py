"""Strings that pdfium hands over."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


def string_of(annotation: Any, key: str) -> str:
    """Return a string or name of an annotation, its lines stripped; '' if it has none of that key."""
    import pypdfium2.raw as pdfium

    name = key.encode()
    return decoded_string(lambda *to: pdfium.FPDFAnnot_GetStringValue(annotation, name, *to))


def decoded_string(get: Callable[..., int]) -> str:
    """Return the string that ``get`` writes to a buffer, given with its size, its lines stripped. It returns the size
    that it needs."""
    import pypdfium2.raw as pdfium

    size = get(None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    get(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    words = buffer.raw[: size - 2].decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.strip() for line in words.split("\n") if line.strip())
