"""What a mail says of the conversation that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail that the graph shows. Times are Unix times in nanoseconds."""

    doc_id: str
    subject: str
    participants: tuple[str, ...]
    date_start: int
    """0 where it tells no date, as ``date_end``."""
    date_end: int
    messages: int
    message_id: str
    thread: str
    """The Message-ID of the first mail of the conversation, as far as this one knows it; '' if it knows none."""
