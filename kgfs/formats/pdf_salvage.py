"""Make a PDF whose end is missing readable: its objects are found one by one, and get a list of pages again."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

_OBJECT = re.compile(rb"(?<![0-9])(\d{1,7})\s+\d{1,5}\s+obj\b")
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_CATALOG = re.compile(rb"/Type\s*/Catalog\b")
_ROOT = re.compile(rb"/Pages\s+(\d{1,9})\s+\d{1,5}\s+R")
_STREAM = re.compile(rb"stream\r?\n")
_NUMBER = re.compile(rb"/(N|First)\s+(\d{1,9})")
_HEAD = 1 << 16
"""Bytes of an object in which it is told what the object is."""
UNPACKED = 256 << 20
"""Bytes of packed objects that are unpacked at most."""


def salvaged(content: bytes) -> bytes | None:
    """Return the PDF with the objects that were packed, a list of pages and an end behind it; None where no page is
    left, or where it is encrypted, since the key is at the end."""
    if b"/Encrypt" in content:
        return None
    heads = dict(_heads(content))
    packed: dict[int, bytes] = {}
    for number, body in _packed(content, heads):
        if number not in heads:
            packed[number] = body
    bodies = heads | packed
    pages = [number for number, head in bodies.items() if _PAGE.search(head)]
    if not pages:
        return None
    added = [b"\n%d 0 obj\n%s\nendobj\n" % (number, body) for number, body in packed.items()]
    free = max(bodies) + 1
    root = next((number for number, head in bodies.items() if _CATALOG.search(head) and _whole(head, bodies)), 0)
    if not root:
        root = free
        kids = b" ".join(b"%d 0 R" % number for number in pages)
        added.append(b"\n%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\n" % (root, root + 1))
        added.append(b"%d 0 obj\n<< /Type /Pages /Count %d /Kids [%s] >>\nendobj\n" % (root + 1, len(pages), kids))
    end = b"trailer\n<< /Root %d 0 R /Size %d >>\nstartxref\n0\n%%%%EOF\n" % (root, free + 2)
    return b"".join([content, b"\nendstream\nendobj\n", *added, end])


def _whole(catalog: bytes, bodies: dict[int, bytes]) -> bool:
    """Return whether the root of the list of pages that a catalog names is there."""
    found = _ROOT.search(catalog)
    return found is not None and int(found[1]) in bodies


def _heads(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, dictionary) of the objects that stand in the file as they are."""
    found = list(_OBJECT.finditer(content))
    for n, match in enumerate(found):
        behind = found[n + 1].start() if n + 1 < len(found) else len(content)
        head = content[match.end() : min(behind, match.end() + _HEAD)]
        yield int(match[1]), head.partition(b"stream")[0].partition(b"endobj")[0]


def _packed(content: bytes, heads: dict[int, bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (number, content) of the objects in streams of objects."""
    left = UNPACKED
    for match in _OBJECT.finditer(content):
        head = heads[int(match[1])]
        if b"/ObjStm" not in head or b"/Predictor" in head:
            continue
        begin = _STREAM.search(content, match.end(), match.end() + _HEAD)
        facts = {key: int(value) for key, value in _NUMBER.findall(head)}
        if begin is None or {b"N", b"First"} - facts.keys():
            continue
        stream = content[begin.end() : begin.end() + max(0, content.find(b"endstream", begin.end()) - begin.end())]
        stream = stream or content[begin.end() :]
        try:
            raw = zlib.decompressobj().decompress(stream, left) if b"/FlateDecode" in head else stream
        except zlib.error:
            continue
        left -= len(raw)
        numbers = [int(word) for word in raw[: facts[b"First"]].split() if word.isdigit()][: 2 * facts[b"N"]]
        starts = [facts[b"First"] + at for at in numbers[1::2]]
        for number, start, end in zip(numbers[::2], starts, [*starts[1:], len(raw)], strict=False):
            yield number, raw[start:end]
        if left <= 0:
            return
