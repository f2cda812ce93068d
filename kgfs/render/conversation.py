"""``email.eml.md``: the conversation that one mail holds, to read, with its attachments and the mails that belong to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kgfs.render.companion import link_to
from kgfs.render.words import counted, day_of, fold, rendered, time_of

NAME = "email.eml"
"""The name of a mail in its folder."""


@dataclass(frozen=True, slots=True)
class Conversation:
    subject: str
    participants: tuple[str, ...]
    date_start: int
    date_end: int
    """Unix times in nanoseconds, 0 where unknown."""
    messages: int
    attachments: tuple[tuple[str, str], ...]
    """The name of each attachment, and of its readable form or ''. Encoded as names are."""
    thread: tuple[tuple[str, str, int], ...]
    """``doc_id``, subject and date of the other mails of the conversation, by date."""
    extracted_at: int


def render(conversation: Conversation, text: str, starts: Sequence[int]) -> bytes:
    """Return the bytes of the file. ``starts`` are the positions in the Text at which the messages begin."""
    body = text.removeprefix(_title(conversation))
    cut = len(text) - len(body)
    parts, at = [_header(conversation)], 0
    for n, start in enumerate(starts[1 : conversation.messages], 2):
        parts += [body[at : start - cut], _message(n)]
        at = start - cut
    return rendered("".join([*parts, body[at:]]))


def size(conversation: Conversation, text_size: int) -> int:
    """Return the size of the file in bytes; ``text_size`` is that of the Text as it is shown."""
    added = sum(len(_message(n)) for n in range(2, conversation.messages + 1))
    return len(rendered(_header(conversation))) + text_size - len(rendered(_title(conversation))) + added


def starts_of(places: Sequence[tuple[int, object]], messages: int) -> list[int]:
    """Return where each message begins: a message without text begins where the next one does."""
    found: dict[int, int] = {}
    for at, place in places:
        n = place.get("message") if isinstance(place, dict) else None
        if isinstance(n, int):
            found.setdefault(n, at)
    known = sorted(found)
    return [
        found[known[min(bisect_right(known, n - 1), len(known) - 1)]] if known else 0 for n in range(1, messages + 1)
    ]


def _title(conversation: Conversation) -> str:
    return f"# {conversation.subject}" if conversation.subject else ""


def _message(n: int) -> str:
    return f"## Message {n}\n\n"


def _header(conversation: Conversation) -> str:
    first, last = conversation.date_start, conversation.date_end
    dates = f"{day_of(first)} to {day_of(last)}" if first and day_of(first) != day_of(last) else day_of(first)
    lines = [
        f"# {fold(conversation.subject) or 'Without a subject'}",
        "",
        "**Type:** Email Conversation",
        f"**Participants:** {fold(', '.join(conversation.participants)) or 'unknown'}",
        *([f"**Date Range:** {dates}"] if first else []),
        f"**Messages:** {conversation.messages}",
        f"**Extracted:** {time_of(conversation.extracted_at)}",
        "",
        f"[Download Original]({NAME})",
        "",
    ]
    if conversation.attachments:
        lines += [f"**Attachments:** {counted(len(conversation.attachments), 'file')}", ""]
        lines += [_attachment(name, readable) for name, readable in conversation.attachments]
        lines.append("")
    if conversation.thread:
        lines += [f"**Conversation:** {counted(len(conversation.thread), 'other mail')}", ""]
        lines += [_other(*mail) for mail in conversation.thread]
        lines.append("")
    end = "" if conversation.subject else "\n\n"
    return "\n".join([*lines, "---", "", f"## Message 1{end}"])


def _attachment(name: str, readable: str) -> str:
    view = f" ([View](attachments/{link_to(readable)}))" if readable else ""
    return f"- [{_label(name)}](attachments/{link_to(name)}){view}"


def _other(doc_id: str, subject: str, date: int) -> str:
    return f"- [{_label(subject) or 'Without a subject'}](../{doc_id}/{NAME}.md){f', {day_of(date)}' if date else ''}"


def _label(words: str) -> str:
    return fold(words).replace("[", "\\[").replace("]", "\\]")
