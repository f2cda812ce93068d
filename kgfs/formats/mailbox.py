"""Mailboxes (MBOX): each mail is a part, a document of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgfs.domain.parts import PartKind
from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.mail import OF_MAILS, header_fields
from kgfs.formats.pieces import Piece

_HEADER = rb"\r?\n(?=[A-Za-z][A-Za-z0-9-]{1,60}:|>?From )"
_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?[ \t]+(?:[A-Z][a-z]{2}[ \t]+\d{1,2}|\d{1,2}[ \t]+[A-Z][a-z]{2}[ \t]+\d{2,4})"
_BORDER = re.compile(
    rb"(?m)^From [^\s]+[ \t]+(?:[^\n]{0,40}[ \t])?(?:%s|\d{4}-\d\d-\d\d)[T \t]+\d{1,2}:\d\d[^\n]*?%s" % (_DAY, _HEADER)
)
"""A line with an address and a date, before a header. Sentences begin with "From", too."""
_BARE_BORDER = re.compile(rb"(?m)^From [^\n]*?%s" % _HEADER)
"""The borders of a mailbox whose first one has no date."""
_ESCAPED = re.compile(rb"(?m)^>(>*From )")


def pieces(content: bytes) -> Iterator[Piece]:
    """Yield the mails in order, each as it was before it was put into the mailbox."""
    start, number = -1, 0
    for border in (_BORDER if _BORDER.match(content) else _BARE_BORDER).finditer(content):
        if start >= 0:
            number += 1
            yield _mail(number, content[start : border.start()])
        start = border.end()
    if start < 0:
        raise UnreadableTextError("damaged: it begins as a mailbox does, and no mail follows")
    yield _mail(number + 1, content[start:])
    yield Piece("", facts={"pages": number + 1})


def _mail(number: int, raw: bytes) -> Piece:
    raw = raw[:-1] if raw.endswith(b"\n\n") else raw[:-2] if raw.endswith(b"\r\n\r\n") else raw
    facts: dict[str, str | int] = {
        "given": f"{number:05}.eml",
        "kind": PartKind.MAIL.value,
        "media_type": "message/rfc822",
    }
    return Piece("part", facts=facts, content=_ESCAPED.sub(rb"\1", raw))


def _is_mailbox(content: bytes) -> bool:
    if not content.startswith(b"From "):
        return False
    return len(header_fields(content[content.find(b"\n") + 1 :][:16384]) & OF_MAILS) >= 2


FORMAT = Format("mbox/3", "application/mbox", frozenset({"mbox"}), pieces=pieces, signature=_is_mailbox, mapped=True)
