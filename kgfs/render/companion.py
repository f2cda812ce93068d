"""``<name>.md`` of an archived file: its Text to read, below what the file is and a link to it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from kgfs.domain.names import decode_name
from kgfs.render import text as text_md
from kgfs.render.words import counted, fold, rendered, time_of


@dataclass(frozen=True, slots=True)
class Companion:
    name: str
    """The name of the file beside which it stands, encoded as names are."""
    title: str
    media_type: str
    size: int
    """Of the file, in bytes."""
    pages: int
    """0 where there are none."""
    dimensions: str
    """Of a picture, in pixels: ``1920x1080``; empty for all else."""
    extracted_at: int
    """The time of the Reading (nanoseconds)."""
    guessed_encoding: str = ""
    """As ``Text.guessed_encoding``."""


def render(companion: Companion, text: str) -> bytes:
    """Return the bytes of the file."""
    return rendered(_header(companion)) + text_md.body(companion.media_type, text)


def size(companion: Companion, text_md_size: int) -> int:
    """Return the size of the file in bytes, from the :func:`kgfs.render.text.base_size` of the document."""
    about = companion.title, companion.media_type, companion.size, companion.guessed_encoding
    return len(rendered(_header(companion))) + text_md_size - text_md.header_size(*about)


def link_to(name: str) -> str:
    """Return the link to a file in the same folder: percent-encoded, ASCII."""
    return quote(decode_name(name))


def _header(companion: Companion) -> str:
    pages = f"**Pages:** {companion.pages:,}\n" if companion.pages else ""
    dimensions = f"**Dimensions:** {companion.dimensions}\n" if companion.dimensions else ""
    return (
        f"# {fold(decode_name(companion.name).decode('utf-8', 'replace'))}\n"
        "\n"
        f"**Type:** {text_md.type_of(companion.media_type)}\n"
        f"**Size:** {counted(companion.size, 'byte')}\n"
        f"{pages}{dimensions}{text_md.encoding_line(companion.guessed_encoding)}"
        f"**Extracted:** {time_of(companion.extracted_at)}\n"
        "\n"
        f"[Download Original]({link_to(companion.name)})\n"
        "\n"
        "---\n"
        "\n"
        "## Content\n"
        "\n"
    )
