"""The parts of a document that is a ZIP archive of XML files (Office, OpenDocument, EPUB). Used in the parsing process."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from typing import Any
from urllib.parse import unquote

from kgfs.errors import UnreadableTextError
from kgfs.formats.package_salvage import SalvagedPart, salvaged_parts, unpacked
from kgfs.formats.pieces import IN_PART

LARGEST_PART = 512 << 20
"""Bytes of one part when unpacked."""
_DIRECTORY = 1 << 18
"""Bytes at the end of an archive in which names of its parts are looked for."""

_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def holds_part(content: bytes, *names: bytes) -> bool:
    """Return whether the bytes are a ZIP archive whose directory names all of these parts. Unpacks nothing."""
    if not content.startswith(b"PK\x03\x04"):
        return False
    end = content.rfind(b"PK\x05\x06")
    start = int.from_bytes(content[end + 16 : end + 20], "little") if end >= 0 else len(content)
    directory = content[start:end] if start < end else content[-_DIRECTORY:]  # damaged, or too long for its fields
    return all(name in directory for name in names)


class Package:
    """The parts of one archive. Nothing is fetched, no entity is expanded. Of an archive whose end is missing the parts
    that are left are found."""

    def __init__(self, content: bytes) -> None:
        """Raise UnreadableTextError where the bytes are no archive that can be read, or an encrypted one."""
        self.lost: list[str] = []
        """The names of parts that could not be read."""
        self._content = content
        self._salvaged: dict[str, SalvagedPart] = {}
        self._left: dict[str, SalvagedPart] = {}
        """The parts as the headers before them tell, once one could not be read otherwise."""
        self._infos: dict[str, zipfile.ZipInfo] = {}
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
            self._infos = {info.filename.lstrip("/"): info for info in self._archive.infolist()}
        except (zipfile.BadZipFile, ValueError, EOFError, OSError) as error:
            self._salvaged = salvaged_parts(content)
            if not self._salvaged:
                raise UnreadableTextError(f"damaged: its archive cannot be read ({error})") from error
            self.lost.append("what its list of parts, which is missing, would name")

    def names(self) -> list[str]:
        return sorted(self._infos or self._salvaged)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a part, as far as they can be unpacked; None if it is not there, or nothing of it is left."""
        if self._salvaged:
            return self._read_salvaged(name)
        info = self._infos.get(name)
        if info is None:
            return None
        if info.flag_bits & 1:
            raise UnreadableTextError("encrypted: give the password to a copy")
        if info.file_size > LARGEST_PART:
            raise UnreadableTextError(f"{name} within it has {info.file_size:,} bytes when unpacked, as bombs do")
        try:
            with self._archive.open(info) as file:
                return file.read(LARGEST_PART)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError):
            self.lost.append(name)
            self._left = self._left or salvaged_parts(self._content)
            part = self._left.get(name)
            return unpacked(self._content, part, LARGEST_PART)[0] or None if part is not None else None

    def _read_salvaged(self, name: str) -> bytes | None:
        part = self._salvaged.get(name)
        if part is None:
            return None
        if part.encrypted:
            raise UnreadableTextError("encrypted: give the password to a copy")
        found, whole = unpacked(self._content, part, LARGEST_PART)
        if not whole:
            self.lost.append(name)
        return found or None

    def xml(self, name: str) -> Any | None:
        """Return the root element of an XML part (lxml); None if it is not there. A damaged part gives what could be
        read of it."""
        from lxml import etree

        content = self.read(name)
        if content is None:
            return None
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, remove_comments=True)
        try:
            root = etree.fromstring(content, parser)
        except etree.XMLSyntaxError:
            root = None
        if root is None or any(error.level >= 3 for error in parser.error_log):
            self.lost.append(name)
        return root

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Return the relations of an Office part: id → (the last word of its type, target)."""
        folder, _, last = name.rpartition("/")
        root = self.xml(f"{folder}/_rels/{last}.rels".lstrip("/"))
        if root is None:
            return {}
        found = {}
        for relation in root:
            if not isinstance(relation.tag, str):
                continue
            target = relation.get("Target", "")
            if relation.get("TargetMode") != "External":
                target = resolve(folder, target)
            found[relation.get("Id", "")] = relation.get("Type", "").rpartition("/")[2], target
        return found

    def title(self) -> str:
        """Return the title in an Office document's properties."""
        core = self.xml("docProps/core.xml")
        found = core.find("{http://purl.org/dc/elements/1.1/}title") if core is not None else None
        return found.text or "" if found is not None else ""

    def note(self) -> str:
        """Return what could not be read, for people."""
        return f"{IN_PART}: {', '.join(sorted(set(self.lost))[:10])}" if self.lost else ""


def resolve(folder: str, target: str) -> str:
    """Return the name of a part from a target that is relative to ``folder``."""
    target = unquote(target.partition("#")[0])
    return posixpath.normpath(target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target))


def local(element: Any) -> str:
    """Return an element's name without its namespace; '' for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """Return an attribute by its name without namespace; '' if there is none."""
    if element is None:
        return ""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def child(element: Any, name: str) -> Any | None:
    """Return the first child with a name; None if there is none, or no element."""
    if element is None:
        return None
    return next((found for found in element if local(found) == name), None)


def unescaped(words: str | None) -> str:
    """Return a string of Office with the characters that XML cannot hold, which it writes as ``_x000D_``."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), words) if words else ""


def chart_labels(root: Any) -> str:
    """Return titles, series and categories of a chart, in order, each once."""
    if root is None:
        return ""
    words = [found.text.strip() for found in root.iter() if local(found) in ("t", "v") and found.text]
    return " · ".join(dict.fromkeys(word for word in words if word))
