"""Identity and deduplication, decided once, about quiet bytes (VER-1 to VER-6, DUP-1 of docs/semantics.md). Pure:
asks no store."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kgfs.domain.documents import INGEST_VERSION, ON_THE_WAY, Document, Name, NameKind, Ontology, State, Version
from kgfs.domain.identity import doc_id_of, garage_key_of
from kgfs.domain.names import extension_of, is_document_name

DAY = 86_400 * 10**9


class Action(StrEnum):
    """What a deposit means. The values are stored in ``VersionMinted.decision`` and ``Settled.decision``."""

    NONE = "none"  # not a document
    SKIP = "skip"  # the path has this content already
    REFUSE = "refuse"  # the ontology has these bytes under another path, and wants each once
    INSERT = "insert"  # new bytes under a new path
    UPDATE = "update"  # new bytes under a known path
    ALIAS = "alias"  # bytes that the ontology knows and has read: another name for them
    IN_PROGRESS = "in_progress"  # bytes whose reading is queued or under way
    REPROCESS = "reprocess"  # known bytes that must be read again
    REVIVE = "revive"  # bytes that were removed; their Reading is still there


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done about the bytes of a name, and why."""

    action: Action
    reason: str
    """One clause for people. ``kgfs ingest`` prints it, and the ledger stores it."""
    mints: bool = True
    """Whether the path gets a new version. False where its newest version is to be read again."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The ids of a Document, and the garage key of its original."""

    doc_id: str
    source_id: str
    key: str


def identity(ontology: Ontology, path: str, sha256: str, document: Document | None) -> Identity:
    """Return the identity of bytes deposited at ``path``.

    ``document`` is the Document that the ontology has for these bytes already, or None. If there is one, its doc_id,
    source and key are kept.
    """
    if document is not None:
        return Identity(document.doc_id, document.source_id, document.key)
    source_id = f"{ontology.id}/{path}"
    key = garage_key_of(ontology.prefix, sha256, extension_of(path.rpartition("/")[2]))
    return Identity(doc_id_of(source_id, sha256), source_id, key)


def decide(
    name: Name,
    path: str,
    newest: Version | None,
    document: Document | None,
    *,
    n: int,
    now: int,
    trash_days: int,
    force: bool = False,
    elsewhere: str = "",
    ingest_version: int = INGEST_VERSION,
) -> Decision:
    """Return what the bytes that ``name`` has at ``path`` mean.

    ``newest`` is the newest version of the name's own history. ``n`` is the number that its next version would have;
    it is higher than 1 also where an editor moved the old file aside. ``document`` is the Document that the name's
    ontology has for these bytes. ``force`` requests that known bytes are read again. ``elsewhere`` is another live
    path that has the same bytes, where the ontology allows each content under one path only; else it is empty.
    ``now`` is in nanoseconds, ``trash_days`` in days.
    """
    if not_a_document := _why_no_document(name, path):
        return Decision(Action.NONE, not_a_document, mints=False)
    if elsewhere:
        return Decision(Action.REFUSE, f"the same bytes stand at {elsewhere}", mints=False)
    if document is None:
        if n > 1:
            return Decision(Action.UPDATE, f"new bytes, version {n} of the path")
        return Decision(Action.INSERT, "new document")
    same_path = newest is not None and newest.doc_id == document.doc_id
    if document.state in ON_THE_WAY:
        if same_path:
            return Decision(Action.SKIP, "unchanged, its reading is under way", mints=False)
        return Decision(Action.IN_PROGRESS, "the same bytes are being read")
    if force:
        return Decision(Action.REPROCESS, "reading again was asked for", mints=not same_path)
    if document.ingest_version < ingest_version:
        reason = f"read by ingest version {document.ingest_version}, {ingest_version} is current"
        return Decision(Action.REPROCESS, reason, mints=not same_path)
    if document.state in _NAMELESS:
        return _returned(document, now, trash_days)
    if same_path:
        return Decision(Action.SKIP, "unchanged, not read again (--force does)", mints=False)
    if document.state is State.FAILED:
        return Decision(Action.REPROCESS, "the last reading of the same bytes failed")
    return Decision(Action.ALIAS, "another name for the same bytes")


def _why_no_document(name: Name, path: str) -> str:
    if name.kind is not NameKind.FILE:
        return f"a {name.kind} is no document"
    if not is_document_name(path):
        return "a dot-name or temporary name is no document"
    return "" if name.size else "an empty file is no document"


_NAMELESS = (State.STALE, State.TRASHED, State.KEPT)


def _returned(document: Document, now: int, trash_days: int) -> Decision:
    """Return the decision about bytes that are deposited again after their last path was removed."""
    if document.commit_id:
        return Decision(Action.ALIAS, "no path had it any more, its knowledge is still there")
    if not document.reading:
        return Decision(Action.INSERT, "known bytes that were never read")
    if document.removed_at and now - document.removed_at > trash_days * DAY:
        return Decision(Action.INSERT, f"removed more than {trash_days} days ago")
    return Decision(Action.REVIVE, "removed before, its reading is still there")
