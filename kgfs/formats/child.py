"""The process that parses one file: forked with PARSER LIMITS KNOWN as its words, the bytes on standard input.

``python -m kgfs.formats.child DESCRIPTOR`` is the process that forks it (:mod:`.forking`). KNOWN is the descriptor of a file with the pages that were recognised before, as JSON.

It writes frames to standard output: a length (4 bytes, big-endian) and so much JSON. A frame is a list of pieces, or
``{"unreadable": reason}``, or ``{"done": how it was kept off the network}``, which is the last; or ``{"part": facts,
"size": bytes}``, behind which frames of raw bytes follow until the part is complete.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.forking import serve
from kgfs.formats.pieces import RECOGNISED, Piece, clean
from kgfs.formats.sandbox import Limits, allow_cpu, confine

FRAME = 1 << 16
"""Characters of pieces from which a frame is written."""
PIECE_OF_PART = 1 << 20
RECURSION = 20_000
"""Calls within calls; the nesting of documents is what takes them."""
HEADER = struct.Struct(">I")


def main(parser: str, limits: Limits, source: BinaryIO, target: BinaryIO, known: Mapping[int, str]) -> None:
    """Parse what ``source`` has with one of the isolated formats, and write the frames."""
    from kgfs.formats.table import FORMATS

    network = confine(limits)
    sys.setrecursionlimit(RECURSION)
    if parser == "probe":
        _write(target, {"done": network})
        return
    row = next(row for row in FORMATS if row.parser == parser)
    pending: list[list[Any]] = []
    size = 0
    try:
        for piece in _pieces(row, _mapped(source) if row.mapped else source.read(), known):
            if piece.content is not None:
                _write(target, pending)
                _write_part(target, piece)
                pending, size = [], 0
                allow_cpu(limits)
                continue
            pending.append(_plain(piece))
            size += len(piece.text)
            if piece.kind in ("", RECOGNISED) or size >= FRAME:
                _write(target, pending)
                pending, size = [], 0
                allow_cpu(limits)
        _write(target, pending)
        _write(target, {"done": network})
    except UnreadableTextError as error:
        _write(target, {"unreadable": str(error)})
    except MemoryError:
        pending.clear()
        _write(target, {"unreadable": f"it needs more than {limits.memory >> 20} MiB of memory to be read"})
    except RecursionError:
        _write(target, {"unreadable": "its parts are nested too deeply"})


def _pieces(row: Format, content: bytes, known: Mapping[int, str]) -> Iterator[Piece]:
    if row.pieces_of_scans is not None:
        return row.pieces_of_scans(content, known)
    assert row.pieces is not None, f"{row.parser} is parsed in the worker's process"
    return row.pieces(content)


def _mapped(source: BinaryIO) -> Any:
    """Return the file as mapped memory; an empty one as bytes."""
    size = os.fstat(source.fileno()).st_size
    return mmap.mmap(source.fileno(), size, access=mmap.ACCESS_READ) if size else b""


def _plain(piece: Piece) -> list[Any]:
    facts = {name: clean(value) if isinstance(value, str) else value for name, value in piece.facts.items()}
    return [piece.kind, clean(piece.text), piece.level, piece.place, facts, piece.about]


def _write_part(target: BinaryIO, piece: Piece) -> None:
    content = memoryview(piece.content or b"")
    _write(target, {"part": dict(piece.facts), "size": len(content)})
    for at in range(0, len(content), PIECE_OF_PART):
        some = content[at : at + PIECE_OF_PART]
        target.write(HEADER.pack(len(some)))
        target.write(some)
    target.flush()


def _write(target: BinaryIO, frame: Any) -> None:
    encoded = json.dumps(frame, ensure_ascii=True, separators=(",", ":")).encode()
    target.write(HEADER.pack(len(encoded)) + encoded)
    target.flush()


def _parse(words: list[str]) -> None:
    """Parse the file on standard input as PARSER LIMITS KNOWN say, and write to standard output."""
    name, memory, cpu, files, descriptor = words
    with os.fdopen(int(descriptor), "rb") as file:
        pages = {int(page): text for page, text in json.loads(file.read()).items()}
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no frame
    main(name, Limits(int(memory), float(cpu), int(files)), os.fdopen(0, "rb", closefd=False), out, pages)
    out.close()


def _warm(sample: bytes) -> None:
    """Load what most files need, by parsing a mail."""
    from kgfs.formats.table import FORMATS

    list(_pieces(next(row for row in FORMATS if row.media_type == "message/rfc822"), sample, {}))


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        serve(asked, _parse, _warm)
