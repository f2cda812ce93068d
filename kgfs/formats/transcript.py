"""Transcripts of Claude Code and Codex (JSONL): each line is an entry. A long one is read in segments of whole lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from kgfs.domain.branches import folds_of
from kgfs.domain.parts import PartKind
from kgfs.domain.text import Text
from kgfs.domain.transcripts import (
    CALL,
    CLAUDE,
    CODEX,
    IMAGE,
    MEDIA_TYPES,
    NOT_TOLD,
    RESULT,
    TEXT,
    THINKING,
    Entry,
    EntryKind,
    entries_of,
    entry_of,
    heading_of,
    kinds_of,
    lines_of,
    without_repeats,
)
from kgfs.formats.contract import Format
from kgfs.formats.lines import lines_of as text_lines
from kgfs.formats.markdown import markdown_blocks
from kgfs.formats.pieces import Keep, Piece, clean, put_together
from kgfs.render.session import conversation, entry_page, fenced

OPEN = 64 << 10
"""Bytes from which a segment is closed while the transcript grows: entries that come later are of another one."""
WHOLE = 1 << 20
"""Bytes from which a segment is closed where as much is read at once."""
SAMPLED = 20
"""Lines from which a transcript is recognised."""
TITLE = 120
NAMED = re.compile(r"entries-(\d+)\.jsonl$")


def segment_name(first: int) -> str:
    """Return the name of the segment that begins with this entry."""
    return f"entries-{first:06}.jsonl"


def read_entries(interface: str, name: str, content: bytes) -> Text:
    """Return the Text of a transcript, or of a segment, whose name has the number of its first entry."""
    found = NAMED.search(name)
    first = int(found[1]) if found else 1
    pieces = map(_cleaned, _pieces(interface, name, content, first))
    return put_together(name, PARSERS[interface], MEDIA_TYPES[interface], pieces)


def read_segments(interface: str, name: str, content: bytes, known: Sequence[int], keep: Keep) -> Text | None:
    """Return the Text of a long transcript, which has no text of its own: its parts are its segments. None for one that
    is a single segment.

    ``known`` are the sizes of the segments of an earlier content, as far as this one begins with them. Those that are
    closed stay as they are.
    """
    spans = list(segments(content, known))
    if len(spans) < 2:
        return None

    def pieces() -> Iterator[Piece]:
        first, borders = 1, list[int]()
        for start, end in spans:
            borders.append(first)
            part = content[start:end]
            count = part.count(b"\n") + (not part.endswith(b"\n"))
            facts: dict[str, str | int] = {"given": segment_name(first), "kind": PartKind.SEGMENT.value}
            yield Piece("part", facts={**facts, "media_type": MEDIA_TYPES[interface]}, content=part)
            first += count
        about = _about(interface, name, content, first - 1)
        yield Piece("", facts={"title": title_of(content)}, about=about | _whole(entries_of(content), borders))

    return put_together(name, PARSERS[interface], MEDIA_TYPES[interface], pieces(), keep)


def segments(content: bytes, known: Sequence[int] = ()) -> Iterator[tuple[int, int]]:
    """Yield where each segment of whole lines begins and ends. ``known`` are the sizes of those with which an earlier
    content began; the last of them goes on while it is shorter than OPEN."""
    closed = [size for at, size in enumerate(known) if at + 1 < len(known) or size >= OPEN]
    at = 0
    for size in closed:
        yield at, at + size
        at += size
    while at < len(content):
        limit = WHOLE if len(content) - at > WHOLE else OPEN
        end = content.find(b"\n", min(at + limit, len(content)) - 1)
        end = len(content) if end < 0 else end + 1
        yield at, end
        at = end


def session_id_of(content: bytes, name: str) -> str:
    """Return the id that the transcript gives its session; without one, that in its file's name."""
    for line in _first_lines(content):
        body = _parsed(line)
        payload = body.get("payload")
        inner = payload if isinstance(payload, dict) else {}
        for found in (body.get("sessionId"), inner.get("id"), inner.get("session_id"), body.get("session_id")):
            if isinstance(found, str) and found:
                return clean(found)
    return PurePosixPath(name).stem.removeprefix("rollout-")


def title_of(content: bytes) -> str:
    """Return the beginning of what the user said first."""
    for entry in (entry_of(1, line) for line in _first_lines(content, 200)):
        for part in entry.parts:
            words = " ".join(part.words.split())
            if entry.who == "user" and part.kind == TEXT and words and not words.startswith("<"):
                return clean(words[:TITLE])
    return ""


def _cleaned(piece: Piece) -> Piece:
    return replace(piece, text=clean(piece.text)) if piece.text else piece


def _pieces(interface: str, name: str, content: bytes, first: int) -> Iterator[Piece]:
    found = list(entries_of(content, first))
    about = _about(interface, name, content, len(found)) | _whole(found, [first])
    kinds = kinds_of(found)
    for kind, begin, end in about["entry_sizes"]["folds"]:
        kinds |= {n: EntryKind(kind) for n in range(begin, end + 1)}
    told = {entry.n for entry in without_repeats(found)}
    for entry in found:
        kind = kinds.get(entry.n, EntryKind.TURN)
        heading = heading_of(entry.n, kind or entry.who)
        place = {"entry": entry.n}
        if not entry.parts:
            yield Piece("furniture", heading, place=place)
            continue
        if entry.n not in told or kind in NOT_TOLD:
            yield Piece("furniture", "\n\n".join([heading, *(fenced(part.words) for part in entry.parts)]), place=place)
            continue
        yield Piece("furniture", heading, place=place)
        for part in entry.parts:
            if part.kind in (CALL, RESULT):
                yield Piece("code", fenced(f"{part.name} {part.words}" if part.name else part.words))
            elif part.kind == IMAGE:
                yield Piece("furniture", part.words)
            elif part.kind == THINKING or kind is EntryKind.SUMMARY:
                yield Piece("quote", part.words)
            else:
                yield from _markdown(part.words)
    own = kinds_of(found)
    sizes = [len(entry_page(entry, [own[entry.n]] if entry.n in own else [])) for entry in found]
    about["entry_sizes"]["pages"] = sizes
    about |= {"first_entry": first, "conversation_size": len(conversation(found))}
    yield Piece("", facts={"title": title_of(content)}, about=about)


def _whole(entries: Iterable[Entry], borders: Sequence[int]) -> dict[str, Any]:
    """Return what only the whole transcript tells of its entries: see :class:`kgfs.domain.sessions.SessionRow`."""
    first = ""

    def noted() -> Iterator[Entry]:
        nonlocal first
        for entry in entries:
            first = first or clean(entry.uuid)
            yield entry

    folds = [[fold.kind, fold.first, fold.last] for fold in folds_of(noted(), borders)]
    return {"entry_sizes": {"folds": folds, "first_uuid": first}}


def _markdown(words: str) -> Iterator[Piece]:
    """Yield the blocks of what is said. Headings are paragraphs: their sections would go on in later entries."""
    words = clean(words)
    for block in markdown_blocks(text_lines(words)):
        yield Piece("paragraph" if block.kind == "heading" else block.kind, words[block.start : block.end])


def _about(interface: str, name: str, content: bytes, entries: int) -> dict[str, Any]:
    stamps = [entry_of(1, line).timestamp for line in _first_lines(content)]
    tail = content[-(64 << 10) :]
    last = [
        entry_of(1, line).timestamp
        for line in lines_of(tail[tail.find(b"\n") + 1 :] if len(tail) < len(content) else tail)
    ]
    return {
        "session_id": session_id_of(content, name),
        "interface": interface,
        "entries": entries,
        "first_at": clean(next((one for one in stamps if one), "")),
        "last_at": clean(next((one for one in reversed(last) if one), "")),
    }


def _first_lines(content: bytes, count: int = SAMPLED) -> Iterator[bytes]:
    at = 0
    for _ in range(count):
        if at >= len(content):
            return
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        yield content[at:end]
        at = end + 1


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _is_of(signs: Callable[[dict[str, Any]], bool], content: bytes) -> bool:
    if content[:1] != b"{":
        return False
    lines = [line for line in _first_lines(content) if line.strip()]
    return 2 * sum(signs(_parsed(line)) for line in lines) > len(lines)


def _is_claude_line(body: dict[str, Any]) -> bool:
    ids = ("sessionId", "leafUuid", "messageId", "parentUuid")
    return isinstance(body.get("type"), str) and any(key in body for key in ids)


def _is_codex_line(body: dict[str, Any]) -> bool:
    return isinstance(body.get("type"), str) and isinstance(body.get("payload"), dict) and "timestamp" in body


PARSERS = {CLAUDE: "claude-code/2", CODEX: "codex/2"}


def _format(interface: str, signs: Callable[[dict[str, Any]], bool]) -> Format:
    return Format(
        PARSERS[interface],
        MEDIA_TYPES[interface],
        frozenset(),
        read=partial(read_entries, interface),
        signature=partial(_is_of, signs),
        segments=partial(read_segments, interface),
    )


FORMAT_CLAUDE = _format(CLAUDE, _is_claude_line)
FORMAT_CODEX = _format(CODEX, _is_codex_line)
