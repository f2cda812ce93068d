"""Mails (EML) and archived web pages (MHTML): headers and bodies; attachments are listed, and handed over as parts."""

from __future__ import annotations

import binascii
import quopri
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from itertools import pairwise
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.decoding import Decoded
from kgfs.formats.html import decoded, pieces_of, told
from kgfs.formats.icalendar import words_of
from kgfs.formats.mail_flowed import unflowed
from kgfs.formats.mail_quotes import addresses_in, header_of, quoted_from
from kgfs.formats.pieces import Piece, clean, heading
from kgfs.formats.smime import MEDIA_TYPES, signed_message

SHOWN = ("From", "To", "Cc", "Date", "Subject")
QUOTED = ("From", "Date")
"""What is told of a quoted message, where its form makes it sure."""
DEEPEST = 20
"""Messages within messages that are followed."""
PARTS = 10_000

_BOUNDARY = re.compile(rb"(?m)^--([^\s-][^\r\n]{0,69}?)[ \t]*\r?\nContent-[A-Za-z-]+:")
"""The beginning of a part, whatever boundary the mail declares."""
_FIELD = re.compile(rb"([A-Za-z][A-Za-z0-9-]{1,60}):[ \t]?")
OF_MAILS = frozenset({b"from", b"received", b"return-path", b"message-id", b"mime-version", b"date", b"subject", b"to",
                       b"delivered-to", b"dkim-signature", b"content-type", b"reply-to"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part of a mail that is a document of its own."""

    given: str
    media_type: str
    content: bytes

    def piece(self) -> Piece:
        """Return the piece that hands it over."""
        return Piece("part", facts={"given": self.given, "media_type": self.media_type}, content=self.content)


class _AnyEncoding(policy.Compat32):
    """Header fields in UTF-8 (RFC 6532), else in the encoding that they are likeliest in."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        return _field_text(value).text


_POLICY = _AnyEncoding()


def _field_text(value: str) -> Decoded:
    """Return the text of a header field as the parser has it: bytes beyond ASCII are surrogates."""
    return decoded(value.encode("ascii", "surrogateescape")) if not value.isascii() else Decoded(value, "ascii")


class Conversation:
    """What a mail says of the conversation that it holds: its own message, embedded ones and quoted ones."""

    def __init__(self) -> None:
        self.messages = 0
        self._people: dict[str, None] = {}
        self._dates: list[int] = []

    def begin(self) -> dict[str, int]:
        """Return the locator of the next message."""
        self.messages += 1
        return {"message": self.messages}

    def meet(self, message: Message) -> None:
        """Take people and date of a message from its header."""
        fields = [str(value) for name in ("From", "To", "Cc") for value in message.get_all(name, [])]
        self.name(address for _, address in _addresses(fields))
        if (sent := date_of(message)) is not None:
            self._dates.append(sent)

    def name(self, addresses: Iterable[str]) -> None:
        """Take people who are named by their addresses."""
        self._people |= {clean(address).casefold(): None for address in addresses if "@" in address}

    def about(self, message: Message) -> dict[str, Any]:
        """Return ``Text.about`` of the mail whose outermost message this is."""
        answered = _ids(message, "References") or _ids(message, "In-Reply-To")
        return {
            "subject": clean(_field(message, "Subject")),
            "participants": list(self._people),
            "initiator": next((one for one in self._people), ""),
            "date_start": min(self._dates, default=0),
            "date_end": max(self._dates, default=0),
            "messages": self.messages,
            "message_id": next(iter(_ids(message, "Message-ID")), ""),
            "references": answered,
        }


def message_pieces(content: bytes) -> Iterator[Piece]:
    """Yield the blocks of a mail, the attachments as parts. Each message of the conversation has a locator."""
    message, conversation = message_from_bytes(content, policy=_POLICY), Conversation()
    for _, value in message.raw_items():
        yield from told(_field_text(value))
    yield from _message(message, 1, 0, conversation)
    yield Piece("", facts={"pages": conversation.messages}, about=conversation.about(message))


def _addresses(fields: list[str]) -> list[tuple[str, str]]:
    try:
        return getaddresses(fields)
    except (ValueError, TypeError, IndexError):  # of fields that are no addresses
        return []


def date_of(message: Message) -> int | None:
    """Return when a message was sent, in nanoseconds; None where its header does not tell."""
    try:
        return int(parsedate_to_datetime(str(message.get("Date", ""))).timestamp()) * 10**9
    except (ValueError, TypeError, OverflowError, OSError, IndexError):
        return None


def _ids(message: Message, name: str) -> list[str]:
    return [clean(found) for found in re.findall(r"<([^<>\s]{1,900})>", str(message.get(name, "")))]


def page_pieces(content: bytes) -> Iterator[Piece]:
    """Yield the blocks of the first page of an MHTML file."""
    message = message_from_bytes(content, policy=_POLICY)
    for part in message.walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            found = decoded(_bytes(part), part.get_content_charset() or "")
            yield from pieces_of(found.text)
            yield from told(found)
            return
    raise UnreadableTextError("it holds no web page")


def _message(message: Message, level: int, depth: int, conversation: Conversation) -> Iterator[Piece]:
    subject = _field(message, "Subject")
    conversation.meet(message)
    place: dict[str, int] | None = conversation.begin()
    if level == 1:
        yield Piece("", facts={"title": subject})
    if subject:
        yield heading(subject, level, place)
        place = None
    fields = [(name, _field(message, name)) for name in SHOWN if name != "Subject"]
    if lines := [f"**{name}:** {value}" for name, value in fields if value]:
        yield Piece("meta", "\n".join(lines), place=place)
        place = None
    if place is not None:
        yield Piece("", place=place)
    attachments: list[Attachment] = []
    body = list(_body(message, level, depth, attachments, conversation))
    own = next((n for n, piece in enumerate(body) if piece.place is not None), len(body))
    yield from body[:own]
    if lines := [_listed(each) for each in attachments]:
        yield Piece("meta", "\n".join(["**Attachments:**", *lines]))
    yield from body[own:]


def _body(
    part: Message, level: int, depth: int, attachments: list[Attachment], conversation: Conversation
) -> Iterator[Piece]:
    kind = part.get_content_type()
    name = given_name(part)
    if depth > DEEPEST:
        attachments.append(Attachment("", "nested too deeply", b""))
    elif kind == "message/rfc822" and isinstance(part.get_payload(), list):
        for inner in part.get_payload():
            if isinstance(inner, Message):
                inner = _unwrapped(part, inner)
                yield from _message(inner, min(level + 1, 6), depth + 1, conversation)
    elif part.is_multipart():
        inner = list(part.get_payload())[:PARTS]
        if kind == "multipart/alternative":
            calendars = [each for each in inner if each.get_content_type() == "text/calendar"]
            others = [each for each in inner if each not in calendars and _bytes_within(each).strip()]
            plain = [each for each in others if each.get_content_type() == "text/plain"]
            inner = [*(plain[:1] or others[-1:]), *calendars[:1]] or inner[-1:]
        for each in inner:
            yield from _body(each, level, depth + 1, attachments, conversation)
    elif part.get_content_maintype() == "multipart":
        yield from _body(_reparted(part), level, depth + 1, attachments, conversation)
    elif kind in MEDIA_TYPES and (signed := signed_message(_bytes(part))) is not None:
        inner_message = message_from_bytes(signed, policy=_POLICY)
        yield from _body(inner_message, level, depth + 1, attachments, conversation)
    elif name or part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text":
        attachments.append(Attachment(given_name(part), kind, _bytes(part)))
        yield attachments[-1].piece()
    elif kind == "text/calendar":
        found = decoded(_bytes(part), part.get_content_charset() or "")
        yield from told(found)
        yield from words_of(found.text, min(level + 1, 6))
    elif kind == "text/html":
        found = decoded(_bytes(part), part.get_content_charset() or "")
        yield from (Piece(each.kind, each.text, each.level) for each in pieces_of(found.text))
        yield from told(found)
    else:
        found = decoded(_bytes(part), part.get_content_charset() or "")
        yield from told(found)
        words = found.text.replace("\r\n", "\n")
        if str(part.get_param("format", "")).lower() == "flowed":
            words = unflowed(words, str(part.get_param("delsp", "")).lower() == "yes")
        starts = quoted_from(words)
        yield from _plain(words[: starts[0]] if starts else words)
        for start, end in pairwise([*starts, len(words)]):
            quoted = words[start:end]
            conversation.name(addresses_in("\n".join(quoted.lstrip().split("\n")[:8])))
            place: dict[str, int] | None = conversation.begin()
            if said := [f"**{name}:** {value}" for name, value in zip(QUOTED, header_of(quoted), strict=True) if value]:
                yield Piece("meta", "\n".join(said), place=place)
                place = None
            for piece in _plain(quoted):
                yield replace(piece, place=place)
                place = None


def _unwrapped(part: Message, inner: Message) -> Message:
    """Return an embedded message, decoded: some programs encode it as a whole, which the standard forbids."""
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding not in ("base64", "quoted-printable"):
        return inner
    raw = inner.as_bytes(policy=policy.compat32)
    try:
        decoded_raw = binascii.a2b_base64(raw) if encoding == "base64" else quopri.decodestring(raw)
    except ValueError:  # no base64, or a text that is no bytes
        return inner
    found = message_from_bytes(decoded_raw, policy=_POLICY)
    return found if len(found) else inner  # without a header it was not encoded


def _reparted(part: Message) -> Message:
    """Return a part of several parts whose declared boundary is not there, parted at the one that is; else as plain text."""
    content = _bytes(part)
    found = _BOUNDARY.search(content)
    kind = (
        b'%s; boundary="%s"' % (part.get_content_type().encode("ascii", "replace"), found[1])
        if found
        else b"text/plain"
    )
    again = message_from_bytes(b"Content-Type: %s\n\n%s" % (kind, content), policy=_POLICY)
    return again if again.is_multipart() or not found else message_from_bytes(b"\n" + content, policy=_POLICY)


def _plain(words: str) -> Iterator[Piece]:
    from kgfs.formats.lines import lines_of
    from kgfs.formats.plain import plain_blocks

    for block in plain_blocks(lines_of(words)):
        piece = words[block.start : block.end]
        quoted = all(line.startswith(">") for line in piece.split("\n") if line.strip())
        yield Piece("quote" if quoted else "paragraph" if block.kind == "heading" else block.kind, piece)


def _bytes(part: Message) -> bytes:
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def _bytes_within(part: Message) -> bytes:
    """Return the bytes of a part and of the parts within it."""
    return b"".join(map(_bytes, part.walk()))


def _listed(attachment: Attachment) -> str:
    name = " ".join(clean(attachment.given).split()) or "without a name"
    return f"- {name} ({attachment.media_type}, {len(attachment.content)} bytes)"


def given_name(part: Message) -> str:
    """Return the name that a part has, as its sender wrote it."""
    return _decoded(part.get_filename() or "")


def _field(message: Message, name: str) -> str:
    return " ".join(_decoded(str(message.get(name, ""))).split())


def _decoded(raw: str) -> str:
    """Return a header field with its encoded words decoded; an encoding that is declared wrongly is guessed."""
    try:
        found = decode_header(raw)
    except (ValueError, MessageError):  # no base64
        return raw
    return "".join(
        part
        if isinstance(part, str)
        else decoded(part, charset).text
        if charset
        else part.decode("raw-unicode-escape", "replace")
        for part, charset in found
    )


def header_fields(content: bytes) -> set[bytes]:
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
    names = header_fields(content)
    return len(names & OF_MAILS) >= 3 and b"from" in names


def _is_page(content: bytes) -> bool:
    names = header_fields(content)
    return (
        b"mime-version" in names
        and b"multipart/related" in content[:4096].lower()
        and b"received" not in names
        and (b"snapshot-content-location" in names or (b"text/html" in content[:16384].lower() and b"to" not in names))
    )


MESSAGE = Format("eml/5", "message/rfc822", frozenset({"eml"}), pieces=message_pieces, signature=_is_message)
ARCHIVED_PAGE = Format(
    "mhtml/3", "multipart/related", frozenset({"mht", "mhtml"}), pieces=page_pieces, signature=_is_page
)
