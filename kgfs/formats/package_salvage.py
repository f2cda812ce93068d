"""Find the parts of a ZIP archive whose end, with the list of its parts, is missing."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

_HEADER = struct.Struct("<4sHHHHHIIIHH")
_SIGNATURE = b"PK\x03\x04"
_STORED, _DEFLATED = 0, 8
PARTS = 100_000
FED = 4096
"""Bytes that are unpacked at once: what is lost before a damaged one is less."""


class SalvagedPart(NamedTuple):
    start: int
    end: int
    method: int
    encrypted: bool


def salvaged_parts(content: bytes) -> dict[str, SalvagedPart]:
    """Return the parts by name, as the headers before them tell; empty if the bytes have none."""
    found: dict[str, SalvagedPart] = {}
    at = content.find(_SIGNATURE)
    while 0 <= at <= len(content) - _HEADER.size and len(found) < PARTS:
        _, _, flags, method, _, _, _, packed, _, name_size, extra_size = _HEADER.unpack_from(content, at)
        begin = at + _HEADER.size
        start = begin + name_size + extra_size
        behind = content.find(_SIGNATURE, begin)
        end = behind if behind >= 0 else len(content)
        if packed and not flags & 8:  # its size is told before it
            end = min(start + packed, len(content))
            behind = content.find(_SIGNATURE, end)
        name = content[begin : begin + name_size].decode("utf-8", "replace").lstrip("/")
        if name and start <= len(content) and method in (_STORED, _DEFLATED):
            found[name] = SalvagedPart(start, end, method, bool(flags & 1))
        at = behind
    return found


def unpacked(content: bytes, part: SalvagedPart, most: int) -> tuple[bytes, bool]:
    """Return (what is left of a part, whether it is whole): ``most`` bytes at most."""
    packed = content[part.start : part.end]
    if part.method == _STORED:
        return packed[:most], part.end < len(content)
    inflating = zlib.decompressobj(-zlib.MAX_WBITS)
    found = bytearray()
    try:
        for at in range(0, len(packed), FED):
            found += inflating.decompress(packed[at : at + FED], most - len(found))
            if inflating.eof or len(found) >= most:
                break
    except zlib.error:  # what came before the damage is kept
        return bytes(found), False
    return bytes(found), inflating.eof
