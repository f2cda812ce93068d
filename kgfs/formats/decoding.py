"""The exact decoding of bytes that are text: ``text.encode(encoding) == content`` holds for what is accepted."""

from __future__ import annotations

import codecs
import re

from kgfs.errors import UnreadableTextError
from kgfs.formats.magic import advice, known_format

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
"""Byte-order marks. The longer mark stands first: the mark of UTF-32-LE starts with that of UTF-16-LE."""

_NOT_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
"""NUL and the other control characters except tab, LF, CR and FF."""

_C1 = re.compile(rb"[\x80-\x9f]")
"""The second row of control characters in Latin-1. In real files these bytes are letters and quotes of another
encoding."""


def decode(name: str, content: bytes) -> tuple[str, str]:
    """Return (text, encoding). The byte-order mark is kept as the text's first character, and line ends as they are.

    The order is: known binary formats are refused; a byte-order mark decides; else strict UTF-8; else Latin-1 as the
    last resort, if no byte contradicts it. Raises UnreadableTextError, which says what the file seems to be.
    """
    if found := known_format(content):
        raise UnreadableTextError(f"{name}: {advice(found, content)}. The original is kept.")
    for mark, encoding, shown in _MARKS:
        if content.startswith(mark):
            return _marked(name, content, encoding, shown), encoding
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return _latin_1(name, content, error.start), "latin-1"
    if b"\x00" in content:
        raise _binary(name, content, content.index(b"\x00"))
    if found_control := _NOT_TEXT.search(content):
        _refuse_binary(name, content, found_control.start())
    return text, "utf-8"


def decode_start(content: bytes, length: int) -> str:
    """Return about ``length`` characters at the beginning, for inspection only: what cannot be decoded is replaced."""
    encoding = next((encoding for mark, encoding, _ in _MARKS if content.startswith(mark)), "utf-8")
    return content[: 4 * length].decode(encoding, "replace")[:length]


def _marked(name: str, content: bytes, encoding: str, shown: str) -> str:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableTextError(
            f"{name}: it starts with the mark of {shown} but is not valid {shown} at byte {error.start}. "
            "Save it again as UTF-8."
        ) from error
    if "\x00" in text:
        raise _binary(name, content, text.index("\x00"))
    return text


def _latin_1(name: str, content: bytes, utf8_stops: int) -> str:
    if found := _NOT_TEXT.search(content):
        raise _binary(name, content, found.start())
    if found := _C1.search(content):
        raise UnreadableTextError(
            f"{name}: not UTF-8 (byte {utf8_stops}), and byte 0x{content[found.start()]:02x} at {found.start()} is a "
            "control in Latin-1. It may be Windows-1252 or another old encoding; save it again as UTF-8."
        )
    return content.decode("latin-1")


def _refuse_binary(name: str, content: bytes, at: int) -> None:
    """Raise UnreadableTextError for valid UTF-8 of which more than a tenth is control characters.

    Terminal logs with escapes and the like are text. At most the first 64 KiB are counted.
    """
    sample = content[: 1 << 16]
    controls = sum(len(found) for found in _NOT_TEXT.findall(sample))
    if controls * 10 > len(sample):
        raise _binary(name, content, at)


def _binary(name: str, content: bytes, at: int) -> UnreadableTextError:
    return UnreadableTextError(
        f"{name}: binary data, not text (byte 0x{content[at]:02x} at {at}). The original is kept; "
        "if it should be text, save it as UTF-8."
    )
