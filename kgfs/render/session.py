"""Pages of a session: the conversation to read, tools folded, and each of its entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.domain.transcripts import CALL, RESULT, THINKING, Entry, Part, without_repeats
from kgfs.render.words import counted, fold, json_page, rendered


@dataclass(frozen=True, slots=True)
class Session:
    session_id: str
    interface: str
    doc_id: str
    document: str
    """Where the transcript stands, below the ontology's folder, encoded as names are."""
    title: str
    entry_count: int
    total_bytes: int
    first_at: str
    last_at: str
    segments: int
    """Parts that it is read in; 0 where it is read as a whole."""
    read_entries: int
    """Entries that are shown already."""


def metadata(session: Session) -> bytes:
    """Return metadata.json."""
    fields: dict[str, Any] = {
        "session_id": session.session_id,
        "interface": session.interface,
        "entry_count": session.entry_count,
        "total_bytes": session.total_bytes,
        "first_at": session.first_at or None,
        "last_at": session.last_at or None,
        "title": session.title,
        "source_type": "session_transcript",
        "doc_id": session.doc_id,
        "document": session.document,
        "archive": f"archive/{session.doc_id}",
        "segments": session.segments,
        "entries_read": session.read_entries,
    }
    return json_page(fields)


def header(session: Session) -> bytes:
    """Return the beginning of session.md."""
    lines = [
        f"# {fold(session.title) or session.session_id}",
        "",
        f"**Session:** {fold(session.session_id)}",
        f"**Interface:** {session.interface}",
        f"**Entries:** {session.entry_count:,}",
        f"**Size:** {counted(session.total_bytes, 'byte')}",
        *([f"**Time:** {fold(session.first_at)} to {fold(session.last_at)}"] if session.first_at else []),
        "",
        "[Raw transcript](raw.jsonl)",
        "",
        "---",
        "",
        "",
    ]
    return rendered("\n".join(lines))


def conversation(entries: Sequence[Entry]) -> bytes:
    """Return what session.md shows of consecutive entries."""
    return rendered("".join(_shown(entry) for entry in without_repeats(entries)))


def entry_page(entry: Entry) -> bytes:
    """Return ``entries/<n>.md``."""
    about = [
        f"# Entry {entry.n}",
        "",
        f"**Type:** {fold(entry.type)}",
        *([f"**Role:** {fold(entry.role)}"] if entry.role else []),
        *([f"**Time:** {fold(entry.timestamp)}"] if entry.timestamp else []),
        f"**Length:** {counted(len(entry.content), 'character')}",
        "",
        "",
    ]
    body = "".join(f"{_unfolded(one)}\n\n" for one in entry.parts)
    return rendered("\n".join(about) + body + f"## Raw\n\n{fenced(entry.raw, 'json')}\n")


def fenced(words: str, kind: str = "") -> str:
    """Return a code block whose fence is longer than any in the words."""
    fence = "```"
    while fence in words:
        fence += "`"
    return f"{fence}{kind}\n{words}\n{fence}"


def _shown(entry: Entry) -> str:
    who = entry.role or entry.type
    stamp = f" · {fold(entry.timestamp)}" if entry.timestamp else ""
    body = "".join(f"{_folded(one)}\n\n" for one in entry.parts)
    return f"## [{entry.n}](entries/{entry.n}.md) · {fold(who)}{stamp}\n\n{body}"


def _folded(part: Part) -> str:
    if part.kind in (CALL, RESULT):
        name = f"Tool: {fold(part.name)}" if part.kind == CALL else "Result"
        return f"<details><summary>{_html(name)}</summary>\n\n{fenced(part.words)}\n\n</details>"
    if part.kind == THINKING:
        return f"<details><summary>Thinking</summary>\n\n{part.words}\n\n</details>"
    return part.words


def _unfolded(part: Part) -> str:
    if part.kind == CALL:
        return f"**Tool:** {fold(part.name)}\n\n{fenced(part.words)}"
    return fenced(part.words) if part.kind == RESULT else part.words


def _html(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;")
