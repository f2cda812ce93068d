"""Mails, a mailbox and a transcript, with the parts that they are read as."""

from __future__ import annotations

import json
from email.message import EmailMessage

from tests.support.traces import told


def mail(subject: str, *attached: tuple[str, bytes]) -> bytes:
    """A mail with these attachments (name, bytes), which stand in it as base64. The first word of its subject is its id."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "John <john@example.com>", "jane@example.com", subject
    message["Date"], message["Message-ID"] = "Mon, 15 Jan 2024 09:30:00 +0000", f"<{subject.split()[0]}@example.com>"
    message.set_content(f"Here is what the mill ground: {subject}. The grain store keeps the flour dry.\n")
    for name, content in attached:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def mailbox(*mails: bytes) -> bytes:
    return b"".join(b"From a@example.com Mon Jan 15 09:30:00 2024\n" + one + b"\n\n" for one in mails)


def transcript(marker: str, entries: int = 20) -> bytes:
    """A transcript of 80 KB an entry, which is read in several segments."""
    lines = [
        {
            "type": role,
            "sessionId": marker,
            "uuid": f"{n}",
            "timestamp": "2025-01-01T00:00:00Z",
            "cwd": "/w",
            "message": {"role": role, "content": f"{told(marker) * 400} ({n})"},
        }
        for n, role in enumerate((["user", "assistant"] * entries)[:entries])
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def parent(kind: str, marker: str) -> tuple[str, bytes]:
    """The path and the bytes of a ``mail`` with two attachments, a ``mailbox`` of two mails, or a ``transcript``."""
    one = mail("barley", ("report.md", told(marker).encode()), ("report2.md", told(f"{marker}2").encode()))
    match kind:
        case "mail":
            return "one.eml", one
        case "mailbox":
            return "all.mbox", mailbox(one, mail("wheat", ("report.md", told(f"{marker}3").encode())))
        case _:
            return "session.jsonl", transcript(marker)
