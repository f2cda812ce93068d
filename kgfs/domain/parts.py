"""Parts of a document that are documents of their own: attachments, mails of a mailbox, segments of a transcript."""

from __future__ import annotations

import mimetypes
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name, extension_of

LONGEST = 180
"""Bytes of a part's name, so that a suffix and a number fit behind it."""
MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
"""Endings of files that are Markdown already and get no readable companion."""


class PartKind(StrEnum):
    ATTACHMENT = "attachment"  # shown in attachments/ of its parent
    MAIL = "mail"  # of a mailbox
    SEGMENT = "segment"  # whole lines of a transcript


@dataclass(frozen=True, slots=True)
class Part:
    """A part as one Reading of its parent has it."""

    name: str
    """Safe, unique among the parts of its parent, encoded as names are."""
    given: str
    """The name that the parent gives it; '' if none."""
    kind: str
    media_type: str
    """As the parent says, for people."""
    sha256: str
    """'' for an empty part, which is no Document."""
    size: int
    key: str
    """Garage key of its bytes; '' for an empty part."""


class PartNames:
    """Give the parts of one document safe and unique names, in order."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, given: str, media_type: str = "") -> str:
        """Return the name of the next part: the last part of the given path without control characters, at most
        LONGEST bytes and a number. Neither it nor its readable companion (``.md``) clashes with an earlier one,
        whatever the case of the letters."""
        plain = PurePosixPath(_plain(given) or ".")
        stem, extension = plain.stem, plain.suffix
        if not stem:
            stem, extension = "unnamed", extension or mimetypes.guess_extension(media_type) or ""
        extension = extension if len(extension.encode()) <= 20 else ""
        stem = _cut(stem, LONGEST - len(extension.encode()))
        number = 1
        while True:
            name = f"{stem}{'' if number == 1 else f'~{number}'}{extension}"
            mine = {name.casefold()} | ({companion(name).casefold()} if companion(name) else set())
            if not mine & self._taken:
                self._taken |= mine
                return encode_name(name.encode("utf-8", "surrogateescape"))
            number += 1


RESERVED = ("original", "text.txt", "metadata.json", "concepts", "attachments")
"""Names that a document's folder in the archive has for itself."""


def archived_name(source_id: str, doc_id: str) -> str:
    """Return the name under which the archive has an original: that of its first deposit, behind an underscore where
    the folder has a file of that name, and its id where it would be too long."""
    name = source_id.rpartition("/")[2]
    if name in RESERVED or name.removesuffix(".md") in RESERVED:
        name = f"_{name}"
    if len(decode_name(name)) > MAX_NAME_BYTES - len(".md"):
        name = f"{doc_id}.{extension_of(name)}"
    return name


def companion(name: str) -> str:
    """Return the name of a part's readable form; '' where the part is Markdown itself."""
    return "" if name.casefold().endswith(MARKDOWN) else f"{name}.md"


def printable(given: str) -> str:
    """Return a given name for people, what cannot be shown as an escape."""
    shown = (char if unicodedata.category(char)[0] != "C" else char.encode("unicode_escape").decode() for char in given)
    return "".join(shown)


def _plain(given: str) -> str:
    last = given.replace("\\", "/").rpartition("/")[2]
    kept = "".join(char for char in unicodedata.normalize("NFC", last) if unicodedata.category(char)[0] != "C")
    return " ".join(kept.split()).strip(". ") if set(kept) <= {".", " "} else " ".join(kept.split()).lstrip(".")


def _cut(words: str, length: int) -> str:
    return words.encode()[:length].decode("utf-8", "ignore").rstrip()
