"""The table of formats, and the function that parses a file in its format."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgfs.domain.names import extension_of
from kgfs.domain.text import Text
from kgfs.errors import UnreadableTextError
from kgfs.formats import (
    delimited,
    docx,
    epub,
    html,
    icalendar,
    log,
    mail,
    mailbox,
    markdown,
    notebook,
    odt,
    pdf,
    picture,
    plain,
    pptx,
    rst,
    source,
    transcript,
    xlsx,
)
from kgfs.formats.contract import Format, Pages
from kgfs.formats.decoding import decode, decode_start
from kgfs.formats.isolated import parse_apart
from kgfs.formats.magic import known_format
from kgfs.formats.pieces import Keep, put_together
from kgfs.formats.sandbox import Limits

FORMATS: tuple[Format, ...] = (
    pdf.FORMAT,
    docx.FORMAT,
    xlsx.FORMAT,
    pptx.FORMAT,
    odt.FORMAT,
    epub.FORMAT,
    html.FORMAT,
    mail.ARCHIVED_PAGE,
    mail.MESSAGE,
    mailbox.FORMAT,
    icalendar.FORMAT,
    transcript.FORMAT_CLAUDE,
    transcript.FORMAT_CODEX,
    picture.PNG,
    picture.JPEG,
    picture.WEBP,
    picture.TIFF,
    notebook.FORMAT,
    log.FORMAT,
    rst.FORMAT,
    markdown.FORMAT,
    delimited.FORMAT,
    source.FORMAT,
    plain.FORMAT,
)
"""Every format that is read. Among formats with equally many signs the first wins. The last format takes everything
else."""

STANDARD_LIMITS = Limits()
SNIFFED = 1 << 16
"""Characters at the beginning of a text that are inspected where its name tells nothing."""
ENOUGH_SIGNS = 2
"""The number of signs that decide for a format. One sign may be chance."""


def parse(
    name: str,
    content: bytes,
    limits: Limits = STANDARD_LIMITS,
    beat: Callable[[], None] = lambda: None,
    pages: Pages | None = None,
    keep: Keep | None = None,
    segments: Sequence[int] | None = None,
) -> Text:
    """Return the Text of a file. Isolated formats are parsed in a process of their own, within ``limits``; ``beat`` is
    called every second meanwhile, and what it raises ends that process. ``pages`` has the pages that were recognised
    before, and keeps each further one.

    ``name`` is its path or the last part of that; the extension helps to find the format. Byte-order
    mark and line ends of text formats stay as they are. Takes time linear in the size. ``keep`` stores the bytes of the parts that are documents of their own. With ``segments``, the sizes of
    those of an earlier content with which this one begins, a long transcript is read in segments. Raises UnreadableTextError, which names what the file seems to be and the remedy, and ParserFailedError
    where the process crashed.
    """
    found = format_of(name, content)
    if found.segments is not None and keep is not None and segments is not None:
        text = found.segments(name, content, segments, keep)
        if text is not None:
            return text
    if found.read is not None:
        handed = [content]
        del content  # so that nobody but its reader has it
        return found.read(name, handed.pop())
    pieces = parse_apart(name, found.parser, content, limits, beat, pages)
    return put_together(name, found.parser, found.media_type, pieces, keep)


def _is_text(content: bytes) -> bool:
    try:
        decode("", content)
    except UnreadableTextError:
        return False
    return bool(content.strip())


def format_of(name: str, content: bytes) -> Format:
    """Return the format of a file: by its signature, else by its extension, unless a text is named like a binary file,
    else by the signs in its beginning.

    ``.txt``, unknown extensions and a missing extension say nothing. Such a text is plain unless its beginning shows
    ENOUGH_SIGNS of one format.
    """
    for candidate in FORMATS:
        if candidate.signature(content):
            return candidate
    extension = extension_of(name)
    other = known_format(content) if not content.startswith(b"PK") else ""
    for candidate in FORMATS:
        if extension in candidate.extensions:
            if candidate.binary and _is_text(content):
                break
            return FORMATS[-1] if other and candidate.read is None else candidate  # which says what it seems to be
    start = decode_start(content, SNIFFED)
    counts = [candidate.signs(start) for candidate in FORMATS]
    most = max(counts)
    return FORMATS[counts.index(most)] if most >= ENOUGH_SIGNS else FORMATS[-1]
