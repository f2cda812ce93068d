"""Pages of a session: the conversation to read, tools folded, and each of its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.domain.sessions import Fold
from kgfs.domain.transcripts import CALL, RESULT, THINKING, Entry, EntryKind, Part, as_before, kinds_of, without_repeats
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
    copies: str = ""
    """The name of the folder of the session that it is a resumed copy of; '' for any other one."""


def metadata(session: Session) -> bytes:
    """Return metadata.json."""
    fields: dict[str, Any] = {
        "session_id": session.session_id,
        "interface": session.interface,
        **({"resumed_copy_of": session.copies} if session.copies else {}),
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
        *([f"**Resumed copy of:** [{fold(session.copies)}](../{session.copies}/session.md)"] if session.copies else []),
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


def conversation(entries: Sequence[Entry], folds: Sequence[Fold] = (), *, first_form: bool = False) -> bytes:
    """Return what session.md shows of consecutive entries, with what ``folds`` and sub-agents are folded. ``first_form`` is
    the form of what the first parsers of transcripts read: without images, kinds of entries and folds of its own."""
    if first_form:
        shown, kinds = without_repeats([as_before(entry) for entry in entries]), dict[int, EntryKind]()
    else:
        kinds = kinds_of(entries)
        shown = without_repeats([entry for entry in entries if kinds.get(entry.n) is not EntryKind.REPEATED])
    chunks = {
        entry.n: _shown(entry, (entry.role or entry.type) if first_form else _who(kinds.get(entry.n) or entry.who))
        for entry in shown
    }
    for each in (*_sub_agents(shown, kinds), *folds):
        inside = [n for n in chunks if each.first <= n <= each.last]
        before, after = _around(each)
        chunks[each.first] = "".join([before, *(chunks.pop(n) for n in inside), after])
    return rendered("".join(chunks[n] for n in sorted(chunks)))


def fold_size(folded: Fold) -> int:
    """Return the bytes that folding adds to session.md."""
    return len(rendered("".join(_around(folded))))


def _around(folded: Fold) -> tuple[str, str]:
    """Return what stands before and after folded entries."""
    first, last = folded.first, folded.last
    which = f"entry {first}" if first == last else f"entries {first} to {last}"
    return f"<details><summary>{folded.kind.capitalize()}: {which}</summary>\n\n", "</details>\n\n"


def _sub_agents(entries: Sequence[Entry], kinds: Mapping[int, EntryKind]) -> Iterator[Fold]:
    """Yield the runs of entries of sub-agents among these."""
    run: list[int] = []
    for n, kind in [*((entry.n, kinds.get(entry.n)) for entry in entries), (0, None)]:
        if kind is EntryKind.SUB_AGENT:
            run.append(n)
        elif run:
            yield Fold(EntryKind.SUB_AGENT, run[0], run[-1])
            run = []


def entry_page(entry: Entry, kinds: Sequence[str] = ()) -> bytes:
    """Return ``entries/<n>.md``, which names what kinds of entry it is."""
    about = [
        f"# Entry {entry.n}",
        "",
        f"**Type:** {fold(entry.type)}",
        *([f"**Role:** {fold(entry.role)}"] if entry.role else []),
        *([f"**Time:** {fold(entry.timestamp)}"] if entry.timestamp else []),
        f"**Length:** {counted(len(entry.content), 'character')}",
        *map(_kind_line, kinds),
        "",
        "",
    ]
    body = "".join(f"{_unfolded(one)}\n\n" for one in entry.parts)
    return rendered("\n".join(about) + body + f"## Raw\n\n{fenced(entry.raw, 'json')}\n")


def kind_size(kind: str) -> int:
    """Return the bytes that the name of a kind adds to the page of an entry."""
    return len(f"{_kind_line(kind)}\n")


def _kind_line(kind: str) -> str:
    return f"**Kind:** {kind}"


def fenced(words: str, kind: str = "") -> str:
    """Return a code block whose fence is longer than any in the words."""
    fence = "```"
    while fence in words:
        fence += "`"
    return f"{fence}{kind}\n{words}\n{fence}"


def _who(who: str) -> str:
    return f"{who}, written by the program" if who in (EntryKind.SUMMARY, EntryKind.META) else who


def _shown(entry: Entry, who: str) -> str:
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
