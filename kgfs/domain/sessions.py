"""What the graph shows of transcripts and of their segments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fold:
    """Entries of a transcript that session.md folds, since they are no part of its conversation."""

    kind: str
    """As :class:`kgfs.domain.transcripts.EntryKind`."""
    first: int
    last: int
    """The number of the last one."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A transcript."""

    doc_id: str
    session_id: str
    interface: str
    entry_count: int
    first_at: str
    last_at: str
    first_uuid: str = ""
    """The uuid of its first entry that has one; '' where none has, or an earlier kgfs read it."""
    folds: tuple[Fold, ...] = ()
    """What only the whole transcript tells: abandoned branches, and entries that repeat one of an earlier segment. No fold
    goes over the border of a segment."""


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment of a transcript, or a transcript that is read as a whole."""

    doc_id: str
    first_entry: int
    entry_sizes: tuple[int, ...]
    """The bytes of the page of each entry, without what the folds of its session add."""
    conversation_size: int
    """The bytes that its entries take in session.md, without what the folds of its session add."""
    is_first_form: bool = False
    """Whether the first parsers of transcripts read it, so that its pages have neither images nor kinds of entries."""
