"""Parse a file in a process of its own, so that a hostile or broken one costs that process only."""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, BinaryIO

from kgfs.errors import ParserFailedError, UnreadableTextError
from kgfs.formats.child import HEADER
from kgfs.formats.contract import Pages
from kgfs.formats.forking import ForkedProcess
from kgfs.formats.pieces import RECOGNISED, Piece
from kgfs.formats.sandbox import Limits

BEAT = 1.0
"""Seconds after which the caller is called while the process is silent."""
SLEEPING = 10.0
"""The process is ended after so many times its seconds of CPU without a frame: then it waits for something."""
LONGEST_FRAME = 1 << 30
STDERR_TAIL = 4096
"""Bytes of the process's messages that are kept for the reason."""


def parse_apart(
    name: str,
    parser: str,
    content: bytes,
    limits: Limits,
    beat: Callable[[], None] = lambda: None,
    pages: Pages | None = None,
) -> Iterator[Piece]:
    """Yield the pieces that a parser finds, as they come. ``pages`` has what was recognised before, and keeps more.

    ``beat`` is called at least every BEAT seconds; what it raises ends the process. UnreadableTextError if the file
    cannot be parsed or breaks a limit; ParserFailedError if the process crashed.
    """
    known = pages.known() if pages is not None else {}
    for frame in _frames(name, parser, content, limits, beat, known):
        if isinstance(frame, Piece):
            yield frame
        elif isinstance(frame, list):
            for kind, text, level, place, facts, about in frame:
                if kind != RECOGNISED:
                    yield Piece(kind, text, level, place, facts, about=about)
                elif pages is not None:
                    pages.keep(place["page"], text, facts["scans"])
        elif "unreadable" in frame:
            raise UnreadableTextError(f"{name}: {frame['unreadable'].removesuffix('.')}. The original is kept.")


def network_barrier(limits: Limits) -> str:
    """Return how parsing processes of this machine are kept off the network: ``namespace``, ``filter`` or ``''``."""
    return next((frame["done"] for frame in _frames("probe", "probe", b"", limits) if "done" in frame), "")


def _frames(
    name: str,
    parser: str,
    content: bytes,
    limits: Limits,
    beat: Callable[[], None] = lambda: None,
    known: Mapping[int, str] | None = None,
) -> Iterator[Any]:
    with (
        _memory_file(content) as source,
        _memory_file(b"") as stderr,
        _memory_file(json.dumps(known or {}).encode()) as pages,
    ):
        words = [parser, str(limits.memory), str(limits.cpu), str(limits.files)]
        ours, theirs = os.pipe()
        with os.fdopen(ours, "rb", buffering=0) as pipe:
            try:
                descriptors = [source.fileno(), theirs, stderr.fileno(), pages.fileno()]
                process = ForkedProcess(words, descriptors, beat)
            finally:
                os.close(theirs)
            complete = False
            try:
                raw_frames = _raw_frames(pipe, name, limits, beat)
                for raw in raw_frames:
                    frame = json.loads(raw)
                    if isinstance(frame, dict) and "part" in frame:
                        if (part := _whole_part(frame, raw_frames)) is not None:
                            yield part
                        continue
                    complete = isinstance(frame, dict)
                    yield frame
                if not complete:
                    raise _reason(name, process.wait(timeout=60), limits, stderr)
            finally:
                process.close()


def _whole_part(frame: dict[str, Any], raw_frames: Iterator[bytes]) -> Piece | None:
    """Return the part whose bytes follow; None if the process ended before the last of them."""
    content = bytearray()
    while len(content) < frame["size"]:
        more = next(raw_frames, None)
        if more is None:
            return None
        content += more
    return Piece("part", facts=frame["part"], content=bytes(content))


def _raw_frames(pipe: IO[bytes], name: str, limits: Limits, beat: Callable[[], None]) -> Iterator[bytes]:
    """Yield the frames until the pipe ends; one that is incomplete at the end is dropped."""
    os.set_blocking(pipe.fileno(), False)
    pending = bytearray()
    heard = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            beat()
            if not selector.select(BEAT):
                if time.monotonic() - heard > SLEEPING * limits.cpu:
                    raise UnreadableTextError(f"{name}: the parser stood still. The original is kept.")
                continue
            part = os.read(pipe.fileno(), 1 << 20)
            if not part:
                return
            heard = time.monotonic()
            pending += part
            at = 0
            while len(pending) - at >= HEADER.size:
                (length,) = HEADER.unpack_from(pending, at)
                if length > LONGEST_FRAME:
                    raise ParserFailedError(f"{name}: the parser's answer has no known form.")
                if len(pending) - at < HEADER.size + length:
                    break
                yield bytes(pending[at + HEADER.size : at + HEADER.size + length])
                at += HEADER.size + length
            del pending[:at]


def _reason(name: str, code: int, limits: Limits, stderr: BinaryIO) -> Exception:
    """Return why a process ended before its last frame."""
    if code == -signal.SIGXCPU:
        return UnreadableTextError(
            f"{name}: the parser took {limits.cpu:.0f} s of CPU without a page done. The original is kept."
        )
    stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, stderr.tell() - STDERR_TAIL))
    words = stderr.read().decode("utf-8", "replace").strip()
    if "MemoryError" in words or "bad_alloc" in words:
        return UnreadableTextError(f"{name}: it needs more than {limits.memory >> 20} MiB of memory to be read.")
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
    last = words.rpartition("\n")[2][:300]
    return ParserFailedError(f"{name}: the parser {how}{f' ({last})' if last else ''}. The original is kept.")


def _memory_file(content: bytes) -> BinaryIO:
    """Return an anonymous file in memory with this content, at its beginning."""
    file = os.fdopen(os.memfd_create("kgfs-parse"), "r+b")
    file.write(content)
    file.flush()
    file.seek(0)
    return file
