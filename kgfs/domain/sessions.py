"""What the graph shows of transcripts and of their segments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A transcript."""

    doc_id: str
    session_id: str
    interface: str
    entry_count: int
    first_at: str
    last_at: str


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment of a transcript, or a transcript that is read as a whole."""

    doc_id: str
    first_entry: int
    entry_sizes: tuple[int, ...]
    """The bytes of the page of each entry."""
    conversation_size: int
    """The bytes that its entries take in session.md."""
