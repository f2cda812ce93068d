"""Entries of transcripts of Claude Code and Codex: one line of JSON each.

Every line is an entry, also one that is broken or half written: then its content is the line itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

CLAUDE = "claude_code"
CODEX = "openai_codex"

MEDIA_TYPES = {CLAUDE: "application/x-claude-code+jsonl", CODEX: "application/x-codex+jsonl"}
_HEADING = re.compile(r"^## Entry (\d+) · ", re.MULTILINE)

_HALVES = re.compile("[\ud800-\udfff]")
_BY_PROGRAM = re.compile(r"(?s)\s*(?:<([a-z]+(?:-[a-z]+)+)>.*?</\1>\s*)+")
"""Elements with a hyphen in their name, as Claude Code wraps commands, their output and reminders."""
_DATA_URL = re.compile(r"data:([\w.+/-]+)[^,]*;base64,")

TEXT, THINKING, CALL, RESULT, IMAGE = "text", "thinking", "call", "result", "image"
"""Kinds of what an entry says."""


class EntryKind(StrEnum):
    """What an entry is in its transcript."""

    TURN = ""
    ABANDONED = "abandoned branch"
    SUB_AGENT = "sub-agent"
    SUMMARY = "summary"  # of what was said before, by the program
    META = "meta"  # what the program says as the user
    REPEATED = "repeated"


NOT_TOLD = (EntryKind.ABANDONED, EntryKind.META, EntryKind.REPEATED)
"""Kinds of entries that are found by their words alone: no knowledge is drawn from them, and no answer quotes them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an entry's content."""

    kind: str
    words: str
    name: str = ""
    """Of the tool that is called."""


@dataclass(frozen=True, slots=True)
class Entry:
    n: int
    """Its number in the transcript, from 1."""
    raw: str
    """The line without its end."""
    type: str
    role: str
    timestamp: str
    """As it stands there; '' if there is none."""
    parts: tuple[Part, ...]
    call: str = ""
    """The id of the tool call that it is the result of; '' for any other entry."""
    repeats: bool = False
    """Whether the kind of entry only repeats for programs what another entry says."""
    kind: EntryKind = EntryKind.TURN
    """As far as the entry itself tells."""
    uuid: str = ""
    parent: str | None = ""
    """The uuid of the entry that it follows; '' if it says that it follows none, None if it says nothing."""
    message: str = ""
    """The id of the message that it is, or is a part of."""
    calls: tuple[str, ...] = ()
    """The ids of the tool calls that it makes."""

    @property
    def who(self) -> str:
        """Return who speaks: results of tools are no one's words, whatever role they have."""
        said = {part.kind for part in self.parts}
        return self.kind or ("tool" if RESULT in said and said <= {RESULT, IMAGE} else self.role or self.type)

    @property
    def content(self) -> str:
        """Return all that it says; of an entry that says nothing the raw line."""
        return "\n\n".join(one.words for one in self.parts) or self.raw


def heading_of(n: int, who: str) -> str:
    """Return the heading of an entry in the Text of its transcript."""
    return f"## Entry {n} · {who}"


def entries_in(text: str) -> list[tuple[int, int]]:
    """Return where the entries of a piece of a Text begin, and their numbers. One that began before is left out."""
    return [(found.start(), int(found[1])) for found in _HEADING.finditer(text)]


def entries_of(content: bytes, first: int = 1) -> Iterator[Entry]:
    """Yield the entries of whole lines; the last line may lack its end."""
    for n, line in enumerate(lines_of(content), first):
        yield entry_of(n, line)


def lines_of(content: bytes) -> Iterator[bytes]:
    """Yield the lines without LF and CR. Nothing follows the last LF."""
    at = 0
    while at < len(content):
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        yield content[at:end].removesuffix(b"\r")
        at = end + 1


def entry_of(n: int, line: bytes) -> Entry:
    """Return the entry of a line."""
    raw = line.decode("utf-8", "replace")
    try:
        body = json.loads(raw)
        if "\\ud" in raw or "\\uD" in raw:
            body = _whole(body)
    except (ValueError, RecursionError):
        return Entry(n, raw, "broken", "", "", ())
    if not isinstance(body, dict):
        return Entry(n, raw, "unknown", "", "", ())
    inner = body.get("payload")
    if isinstance(inner, dict):
        return _codex(n, raw, body, inner)
    return _claude(n, raw, body)


def _whole(value: Any) -> Any:
    """Return the value with each half of a surrogate pair replaced, which no text has."""
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return {_whole(key): _whole(one) for key, one in value.items()} if isinstance(value, dict) else value


def _claude(n: int, raw: str, body: dict[str, Any]) -> Entry:
    message = body.get("message")
    kind, stamp = _word(body.get("type")), _word(body.get("timestamp"))
    if isinstance(message, dict):
        content = message.get("content")
        role = _word(message.get("role")) or kind
        by = _word(message.get("id")), tuple(_calls(content))
        return _linked(body, n, raw, kind, role, stamp, tuple(_parts(content)), _call_of(content), *by)
    content = next((body[key] for key in ("content", "summary", "message", "text", "output") if key in body), None)
    if kind in ("function_call", "local_shell_call"):  # Codex of before had no payloads
        return _codex(n, raw, body, body)
    role, parts = _word(body.get("role")), tuple(_parts(content))
    return _linked(body, n, raw, kind or "unknown", role, stamp, parts, _call_of(content))


def _linked(
    body: dict[str, Any],
    n: int,
    raw: str,
    type_: str,
    role: str,
    stamp: str,
    parts: tuple[Part, ...],
    call: str,
    message: str = "",
    calls: tuple[str, ...] = (),
) -> Entry:
    """Return an entry with its place in the graph of the transcript. It is made once: an append reads all entries again."""
    said = [part.words for part in parts if part.kind == TEXT]
    kind = EntryKind.TURN
    if body.get("isSidechain") is True:
        kind = EntryKind.SUB_AGENT
    elif body.get("isCompactSummary") is True or type_ == "summary":
        kind = EntryKind.SUMMARY
    elif body.get("isMeta") is True or (role == "user" and said and all(map(_BY_PROGRAM.fullmatch, said))):
        kind = EntryKind.META
    parent = None
    if "parentUuid" in body:
        parent = _word(body["parentUuid"]) or _word(body.get("logicalParentUuid"))
    uuid = _word(body.get("uuid"))
    return Entry(n, raw, type_, role, stamp, parts, call, False, kind, uuid, parent, message, calls)


def _codex(n: int, raw: str, body: dict[str, Any], inner: dict[str, Any]) -> Entry:
    outer, kind, stamp = _word(body.get("type")), _word(inner.get("type")), _word(body.get("timestamp"))
    type_ = kind or outer or "unknown"
    call = _word(inner.get("call_id"))
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        words = inner.get("arguments") or inner.get("input") or inner.get("action") or ""
        parts: tuple[Part, ...] = (Part(CALL, _text(words), _word(inner.get("name")) or kind),)
        return Entry(n, raw, type_, "assistant", stamp, parts)
    if kind.endswith(("_output", "_end")):
        output = next((inner[key] for key in ("output", "aggregated_output", "result", "stdout") if key in inner), "")
        words = _text(output.get("content", output) if isinstance(output, dict) else output)
        repeats = outer == "event_msg"
        return Entry(n, raw, type_, "tool", stamp, (Part(RESULT, words),) if words else (), call, repeats)
    if kind == "reasoning":
        return Entry(
            n, raw, type_, "assistant", stamp, tuple(Part(THINKING, one.words) for one in _parts(inner.get("summary")))
        )
    content = next((inner[key] for key in ("content", "message", "text") if key in inner), None)
    role = _word(inner.get("role")) or {"user_message": "user", "agent_message": "assistant"}.get(kind, "")
    thinking = kind.startswith("agent_reasoning")
    parts = tuple(_parts(content))
    parts = tuple(Part(THINKING, one.words) for one in parts) if thinking else parts
    return Entry(n, raw, type_, "assistant" if thinking else role, stamp, parts, repeats=outer == "event_msg")


def _parts(content: Any) -> Iterator[Part]:
    if isinstance(content, str):
        yield from [Part(TEXT, content)] if content.strip() else []
    elif isinstance(content, dict):
        yield from _of_part(content)
    elif isinstance(content, list):
        for part in content:
            yield from _of_part(part) if isinstance(part, dict) else _parts(part)


def _of_part(part: dict[str, Any]) -> Iterator[Part]:
    kind = _word(part.get("type"))
    if kind == "tool_use":
        yield Part(CALL, _text(part.get("input", "")), _word(part.get("name")))
    elif kind == "tool_result":
        said = list(_parts(part.get("content")))
        words = "\n\n".join(one.words for one in said if one.kind != IMAGE)
        yield from [Part(RESULT, words)] if words else []
        yield from (one for one in said if one.kind == IMAGE)
    elif kind == "thinking":
        words = _text(part.get("thinking", ""))
        yield from [Part(THINKING, words)] if words.strip() else []
    elif kind in ("image", "input_image", "document", "input_file"):
        yield Part(IMAGE, _attached("image" if "image" in kind else "document", part))
    else:
        words = next((part[key] for key in ("text", "summary", "content") if isinstance(part.get(key), str)), "")
        yield from [Part(TEXT, words)] if words.strip() else []


def _attached(what: str, part: dict[str, Any]) -> str:
    """Return what a reader sees in place of an image or a document, such as ``[image: png, 12 kB]``."""
    source = part.get("source")
    inner = source if isinstance(source, dict) else {}
    url = next((one for one in map(_word, (part.get("image_url"), part.get("file_data"), inner.get("url"))) if one), "")
    found = _DATA_URL.match(url)
    media_type = found[1] if found else _word(inner.get("media_type"))
    data = url[found.end() :] if found else _word(inner.get("data"))
    size = _size_of(len(data.rstrip("=")) * 3 // 4) if data else "" if found else url
    about = ", ".join(one for one in (media_type.rpartition("/")[2], size) if one)
    return f"[{what}: {about}]" if about else f"[{what}]"


def _size_of(count: int) -> str:
    return f"{round(count / 1000):,} kB" if count >= 1000 else f"{count} bytes"


def _calls(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") == "tool_use" and _word(part.get("id")):
            yield part["id"]


def _call_of(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    ids = (_word(part.get("tool_use_id")) for part in parts if isinstance(part, dict))
    return next((one for one in ids if one), "")


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def as_before(entry: Entry) -> Entry:
    """Return the entry as the first parsers of transcripts read it: without its images."""
    return replace(entry, parts=tuple(part for part in entry.parts if part.kind != IMAGE), kind=EntryKind.TURN)


def kinds_of(entries: Iterable[Entry]) -> dict[int, EntryKind]:
    """Return the kinds of consecutive entries by their numbers, TURN left out: what they say themselves, and REPEATED for
    those that stand there a second time, with the same uuid, or with message id and content of an earlier one."""
    seen: set[object] = set()
    found: dict[int, EntryKind] = {}
    for entry in entries:
        marks = {key for key in (entry.uuid, (entry.message, entry.parts) if entry.message else "") if key}
        kind = EntryKind.REPEATED if marks & seen else entry.kind
        seen |= marks
        if kind:
            found[entry.n] = kind
    return found


def without_repeats(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of a conversation as people read it: what an entry only repeats is left out, and so are
    those that say nothing."""
    told = {(one.kind, one.words.strip()) for entry in entries if not entry.repeats for one in entry.parts}
    calls = {entry.call for entry in entries if entry.call and not entry.repeats}
    found: list[Entry] = []
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        keys = {(one.kind, one.words.strip()) for one in entry.parts}
        if not keys or (entry.repeats and (entry.call in calls or keys <= told | seen)):
            continue
        seen |= keys if entry.repeats else set()
        found.append(entry)
    return found
