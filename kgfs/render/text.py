"""``text/<path>.md``: a document as readable Markdown.

A Markdown document is shown as its Text, below a line that tells of an encoding that it was guessed. Any other document gets a header with its title, type and size and a link to
the original in ``documents/``. Below the header, reStructuredText has its headings, literal blocks, quotes and tables
converted to Markdown, and plain text is unchanged. Control characters are made visible everywhere. Marks at pages stand
in the Text that is given (:mod:`kgfs.render.page_marks`), and count apart.

The link is the only part that depends on the path, so the size is stored without it (:func:`base_size`).
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from kgfs.domain.names import decode_name
from kgfs.render.rst import to_markdown
from kgfs.render.words import as_guessed, counted, fold, rendered

MARKDOWN = "text/markdown"
RESTRUCTURED = "text/x-rst"

NOTES_GATE = 13
"""The ingest version from which on a Text has such a note."""
NOTED = 20
"""Gated Sources that a Text notes one by one."""
_PIECE = 1 << 20
"""Characters whose size is counted at the same time."""
_OFFICE = "application/vnd.openxmlformats-officedocument."
_TYPES = {
    "text/plain": "Plain text",
    "text/x-log": "Log",
    "text/x-python": "Python source",
    "text/x-c": "C source",
    "text/x-c++": "C++ source",
    "text/x-java": "Java source",
    "text/javascript": "JavaScript source",
    "text/x-typescript": "TypeScript source",
    "text/x-go": "Go source",
    "text/x-rust": "Rust source",
    RESTRUCTURED: "reStructuredText",
    "application/pdf": "PDF Document",
    f"{_OFFICE}wordprocessingml.document": "Word Document",
    f"{_OFFICE}spreadsheetml.sheet": "Excel Workbook",
    f"{_OFFICE}presentationml.presentation": "PowerPoint Presentation",
    "application/vnd.oasis.opendocument.text": "OpenDocument Text",
    "application/epub+zip": "EPUB e-book",
    "text/html": "Web page",
    "multipart/related": "Web page",
    "message/rfc822": "Email",
    "application/mbox": "Mailbox",
    "text/calendar": "Calendar",
    "application/x-ipynb+json": "Jupyter notebook",
}


def is_markdown(media_type: str) -> bool:
    """Return whether the document is shown unchanged, under its own name."""
    return media_type == MARKDOWN


def render(title: str, media_type: str, size: int, text: str, path: str, guessed_encoding: str = "") -> bytes:
    """Return the bytes of the file.

    ``size`` is that of the original in bytes; ``path`` is below documents/, encoded as names are.
    """
    return rendered(_header(title, media_type, size, guessed_encoding, link_to(path)) + _body(media_type, text))


def base_size(title: str, media_type: str, size: int, text: str, guessed_encoding: str = "") -> int:
    """Return the size of the file in bytes without the link's target, as it is stored at commit."""
    words = _body(media_type, text)
    # In pieces, since each character is shown by itself: a rendered copy of a long text would take several times its memory.
    pieces = (words[at : at + _PIECE] for at in range(0, len(words), _PIECE))
    return header_size(title, media_type, size, guessed_encoding) + sum(len(rendered(piece)) for piece in pieces)


def type_of(media_type: str) -> str:
    """Return the words for a media type."""
    return "Markdown" if is_markdown(media_type) else _TYPES.get(media_type, media_type)


def encoding_line(guessed_encoding: str) -> str:
    """Return the line of a header that tells of an encoding that it was guessed; '' for a known one."""
    return f"**Encoding:** {as_guessed(guessed_encoding)}\n" if guessed_encoding else ""


def gate_note(gated: Sequence[tuple[int, int, str]], ingest_version: int) -> str:
    """Return the comment at the end of a Text whose gated Sources give no knowledge: their lines and reasons. Return '' without
    any, and for a Text that was read before such notes were made."""
    if not gated or ingest_version < NOTES_GATE:
        return ""
    rows = [f"{first}-{last}: {reason.replace('--', '- -')}" for first, last, reason in gated[:NOTED]]
    if len(gated) > NOTED:
        rows.append(f"and {len(gated) - NOTED:,} more, which metadata.json lists")
    return "\n\n<!-- No knowledge is drawn from these lines:\n" + "\n".join(rows) + "\n-->\n"


def body(media_type: str, text: str) -> bytes:
    """Return what the file shows below its header; of a Markdown document, all of it."""
    return rendered(_body(media_type, text))


def header_size(title: str, media_type: str, size: int, guessed_encoding: str = "") -> int:
    """Return the part of :func:`base_size` that is the header's."""
    return len(rendered(_header(title, media_type, size, guessed_encoding, "")))


def size(base: int, media_type: str, path: str) -> int:
    """Return the size of the file in bytes, from its :func:`base_size`."""
    return base if is_markdown(media_type) else base + len(link_to(path))


def link_to(path: str) -> str:
    """Return the link from ``text/<path>.md`` to the original: relative, percent-encoded, ASCII."""
    return "../" * (path.count("/") + 1) + "documents/" + quote(decode_name(path), safe="/")


def _header(title: str, media_type: str, size: int, guessed_encoding: str, link: str) -> str:
    encoding = encoding_line(guessed_encoding)
    if is_markdown(media_type):
        return f"{encoding}\n---\n\n" if encoding else ""
    return (
        f"# {fold(title)}\n"
        "\n"
        f"**Type:** {_TYPES.get(media_type, media_type)}\n"
        f"**Size:** {counted(size, 'byte')}\n"
        f"{encoding}"
        "\n"
        f"[Original]({link})\n"
        "\n"
        "---\n"
        "\n"
    )


def _body(media_type: str, text: str) -> str:
    if is_markdown(media_type):
        return text
    words = text.removeprefix("\ufeff")
    return to_markdown(words) if media_type == RESTRUCTURED else words
