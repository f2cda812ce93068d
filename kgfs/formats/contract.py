"""The declaration of a format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgfs.domain.places import Place
from kgfs.domain.text import Block, Text
from kgfs.formats.decoding import decode
from kgfs.formats.lines import Line, lines_of
from kgfs.formats.pieces import Keep, Piece
from kgfs.formats.titles import title_of

_ENCODED = 1 << 20
"""Characters that are encoded at once."""


def _no_signature(content: bytes) -> bool:
    return False


def _no_places(name: str, text: str) -> list[Place]:
    return []


def _no_signs(start: str) -> int:
    return 0


class Pages(Protocol):
    """The recognised pages of one document, kept from one attempt to parse it to the next."""

    def known(self) -> Mapping[int, str]:
        """Return the texts of the pages (from 1) that were recognised before."""
        ...

    def keep(self, page: int, text: str, scans: int) -> None:
        """Keep the text of a page, of ``scans`` pages that are recognised. Durable when this returns. What it raises
        ends the parsing."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """One row of ``FORMATS``."""

    parser: str
    """Name and version, such as ``markdown/2``. A change of what the parser finds needs a new version."""
    media_type: str
    extensions: Collection[str]
    """The extensions of files in this format: lower case, without the dot."""
    read: Callable[[str, bytes], Text] | None = None
    """Parses a file in the caller's process, given its name and its bytes. Takes time linear in the size. Raises
    UnreadableTextError. None for an isolated format."""
    pieces: Callable[[bytes], Iterator[Piece]] | None = None
    """Parses a file of an isolated format: called in a process of its own only, where it imports its libraries."""
    pieces_of_scans: Callable[[bytes, Mapping[int, str]], Iterator[Piece]] | None = None
    """In place of ``pieces`` for a format whose pages are recognised one by one; takes the pages that were recognised
    before, too."""
    segments: Callable[[str, bytes, Sequence[int], Keep], Text | None] | None = None
    """Reads a long file in segments, which become its parts: takes its name, its bytes, the sizes of the segments with
    which an earlier content began, and what stores a part. Returns None for a file that is not long."""
    binary: bool = False
    """Whether no file in this format is text: a text that is named like one has a wrong name."""
    mapped: bool = False
    """Whether ``pieces`` gets the file as mapped memory, which allows slices and searches, in place of its bytes."""
    signature: Callable[[bytes], bool] = _no_signature
    """Tells whether the bytes are in this format, whatever the file's name. Signatures are checked first, in the
    order of FORMATS."""
    signs: Callable[[str], int] = _no_signs
    """Counts the signs of this format in the beginning of a text whose name tells nothing."""


def named_by_file(name: str, text: str, blocks: Sequence[Block]) -> str:
    """Return the name of the file without folders as the title of what has none of its own."""
    return name.rpartition("/")[2]


def _digest(text: str) -> str:
    """Return the SHA-256 of a text as UTF-8, which is encoded in pieces."""
    found = hashlib.sha256()
    for at in range(0, len(text), _ENCODED):
        found.update(text[at : at + _ENCODED].encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def text_format(
    parser: str,
    media_type: str,
    extensions: Collection[str],
    blocks: Callable[[Sequence[Line]], list[Block]],
    signs: Callable[[str], int] = _no_signs,
    places: Callable[[str, str], list[Place]] = _no_places,
    title: Callable[[str, str, Sequence[Block]], str] = title_of,
) -> Format:
    """Return a format whose Text is the decoded bytes (:mod:`.decoding`).

    The Text has the structure that ``blocks`` finds in its lines, and the places that ``places`` finds, given name and
    text; ``title`` is given these and the blocks.
    """

    def read(name: str, content: bytes) -> Text:
        decoded = decode(name, content)
        text = decoded.text
        digest = hashlib.sha256(content).hexdigest() if decoded.encoding == "utf-8" else _digest(text)
        del content  # the text's bytes are not needed beside its structure
        found = tuple(blocks(lines_of(text)))
        return Text(
            text,
            digest,
            parser,
            media_type,
            decoded.encoding,
            title(name, text, found),
            found,
            tuple(places(name, text)),
            note=decoded.note,
            guessed_encoding=decoded.guessed,
        )

    return Format(parser, media_type, extensions, read, signs=signs)
