"""Mails (EML), mailboxes (MBOX) and archived web pages (MHTML): headers and bodies; attachments are listed by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.html import decoded, pieces_of
from kgfs.formats.pieces import Piece, heading

SHOWN = ("From", "To", "Cc", "Date", "Subject")
DEEPEST = 20
"""Messages within messages that are followed."""
PARTS = 10_000

_FIELD = re.compile(rb"([A-Za-z][A-Za-z0-9-]{1,60}):[ \t]?")
_OF_MAILS = frozenset({b"from", b"received", b"return-path", b"message-id", b"mime-version", b"date", b"subject", b"to",
                       b"delivered-to", b"dkim-signature", b"content-type", b"reply-to"})  # fmt: skip
_BORDER = re.compile(rb"(?m)^From [^\n]*\n(?=[A-Za-z][A-Za-z0-9-]{1,60}:|>?From )")


def message_pieces(content: bytes) -> Iterator[Piece]:
    yield from _message(message_from_bytes(content, policy=policy.compat32), 1, 0)


def mailbox_pieces(content: bytes) -> Iterator[Piece]:
    starts = [found.start() for found in _BORDER.finditer(content)]
    if not starts:
        raise UnreadableTextError("damaged: it begins as a mailbox does, and no mail follows")
    yield Piece("", facts={"pages": len(starts)})
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(content)], strict=True), 1):
        raw = content[content.index(b"\n", start) + 1 : end]
        raw = re.sub(rb"(?m)^>(>*From )", rb"\1", raw)
        first = True
        for piece in _message(message_from_bytes(raw, policy=policy.compat32), 1, 0):
            yield Piece(piece.kind, piece.text, piece.level, {"message": number} if first else None)
            first = False
        yield Piece("")


def page_pieces(content: bytes) -> Iterator[Piece]:
    """Yield the blocks of the first page of an MHTML file."""
    message = message_from_bytes(content, policy=policy.compat32)
    for part in message.walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            yield from pieces_of(decoded(_bytes(part), part.get_content_charset() or ""))
            return
    raise UnreadableTextError("it holds no web page")


def _message(message: Message, level: int, depth: int) -> Iterator[Piece]:
    subject = _field(message, "Subject")
    if level == 1:
        yield Piece("", facts={"title": subject})
    if subject:
        yield heading(subject, level)
    fields = [(name, _field(message, name)) for name in SHOWN if name != "Subject"]
    if lines := [f"**{name}:** {value}" for name, value in fields if value]:
        yield Piece("meta", "\n".join(lines))
    attachments: list[str] = []
    yield from _body(message, level, depth, attachments)
    if attachments:
        yield Piece("meta", "\n".join(["**Attachments:**", *(f"- {name}" for name in attachments)]))


def _body(part: Message, level: int, depth: int, attachments: list[str]) -> Iterator[Piece]:
    kind = part.get_content_type()
    name = _decoded(part.get_filename() or "")
    if depth > DEEPEST:
        attachments.append("(nested too deeply)")
    elif kind == "message/rfc822" and isinstance(part.get_payload(), list):
        for inner in part.get_payload():
            if isinstance(inner, Message):
                yield from _message(inner, min(level + 1, 6), depth + 1)
    elif part.is_multipart():
        inner = list(part.get_payload())[:PARTS]
        if kind == "multipart/alternative":
            plain = [each for each in inner if each.get_content_type() == "text/plain" and _bytes(each).strip()]
            inner = plain[:1] or inner[-1:]
        for each in inner:
            yield from _body(each, level, depth + 1, attachments)
    elif name or part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text":
        attachments.append(f"{name or 'without a name'} ({kind}, {len(_bytes(part))} bytes)")
    elif kind == "text/html":
        page = pieces_of(decoded(_bytes(part), part.get_content_charset() or ""))
        yield from (Piece(each.kind, each.text, each.level) for each in page)
    else:
        yield from _plain(decoded(_bytes(part), part.get_content_charset() or ""))


def _plain(words: str) -> Iterator[Piece]:
    from kgfs.formats.lines import lines_of
    from kgfs.formats.plain import plain_blocks

    words = words.replace("\r\n", "\n")
    for block in plain_blocks(lines_of(words)):
        piece = words[block.start : block.end]
        quoted = all(line.startswith(">") for line in piece.split("\n") if line.strip())
        yield Piece("quote" if quoted else "paragraph" if block.kind == "heading" else block.kind, piece)


def _bytes(part: Message) -> bytes:
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def _field(message: Message, name: str) -> str:
    return _decoded(str(message.get(name, "")))


def _decoded(raw: str) -> str:
    try:
        words = str(make_header(decode_header(raw)))
    except (LookupError, ValueError, MessageError):  # no such charset, or not what the header says it is
        words = raw
    return " ".join(words.split())


def _fields(content: bytes) -> set[bytes]:
    """Return the names of the header fields that the bytes begin with, in lower case."""
    names = set()
    for line in content[:16384].split(b"\n"):
        line = line.rstrip(b"\r")
        found = _FIELD.match(line)
        if found:
            names.add(found[1].lower())
        elif not line[:1].isspace() or not line.strip():
            break
    return names


def _is_message(content: bytes) -> bool:
    names = _fields(content)
    return len(names & _OF_MAILS) >= 3 and b"from" in names


def _is_mailbox(content: bytes) -> bool:
    if not content.startswith(b"From "):
        return False
    return len(_fields(content[content.find(b"\n") + 1 :][:16384]) & _OF_MAILS) >= 2


def _is_page(content: bytes) -> bool:
    names = _fields(content)
    return (
        b"mime-version" in names
        and b"multipart/related" in content[:4096].lower()
        and b"received" not in names
        and (b"snapshot-content-location" in names or (b"text/html" in content[:16384].lower() and b"to" not in names))
    )


MESSAGE = Format("eml/1", "message/rfc822", frozenset({"eml"}), pieces=message_pieces, signature=_is_message)
MAILBOX = Format("mbox/1", "application/mbox", frozenset({"mbox"}), pieces=mailbox_pieces, signature=_is_mailbox)
ARCHIVED_PAGE = Format(
    "mhtml/1", "multipart/related", frozenset({"mht", "mhtml"}), pieces=page_pieces, signature=_is_page
)
