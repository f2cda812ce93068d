"""Entries of transcripts of Claude Code and Codex: one line of JSON each.

Every line is an entry, also one that is broken or half written: then its content is the line itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CLAUDE = "claude_code"
CODEX = "openai_codex"

MEDIA_TYPES = {CLAUDE: "application/x-claude-code+jsonl", CODEX: "application/x-codex+jsonl"}
_HEADING = re.compile(r"^## Entry (\d+) · ", re.MULTILINE)

_HALVES = re.compile("[\ud800-\udfff]")
TEXT, THINKING, CALL, RESULT = "text", "thinking", "call", "result"
"""Kinds of what an entry says."""


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
        if "\\ud" in raw.lower():
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
        parts = tuple(_parts(message.get("content")))
        return Entry(n, raw, kind, _word(message.get("role")) or kind, stamp, parts, _call_of(message.get("content")))
    content = next((body[key] for key in ("content", "summary", "message", "text", "output") if key in body), None)
    if kind in ("function_call", "local_shell_call"):  # Codex of before had no payloads
        return _codex(n, raw, body, body)
    return Entry(n, raw, kind or "unknown", _word(body.get("role")), stamp, tuple(_parts(content)), _call_of(content))


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
        words = "\n\n".join(one.words for one in _parts(part.get("content")))
        yield from [Part(RESULT, words)] if words else []
    elif kind == "thinking":
        words = _text(part.get("thinking", ""))
        yield from [Part(THINKING, words)] if words.strip() else []
    else:
        words = next((part[key] for key in ("text", "summary", "content") if isinstance(part.get(key), str)), "")
        yield from [Part(TEXT, words)] if words.strip() else []


def _call_of(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    ids = (_word(part.get("tool_use_id")) for part in parts if isinstance(part, dict))
    return next((one for one in ids if one), "")


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


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
