"""What the catalog's queries return: rows of its tables as types of ``domain``, and the types of its own. Times are Unix times
in nanoseconds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kgfs.domain.documents import Document, Name, NameKind, State, StorageTier, Version

Row = tuple[Any, ...]
Connect = Callable[[], sqlite3.Connection]

NAME = (
    "id, ontology, parent, name, kind, mode, uid, gid, atime, mtime, ctime, size, target, place, sha256, key,"
    " doc_id, version, settled, arrived_at, decision, reason"
)
VERSION = "lineage, n, doc_id, sha256, size, key, path, minted_at, decision, reason"
DOCUMENT = (
    "doc_id, ontology, sha256, source_id, key, size,"
    " CASE WHEN state = 'queued' AND EXISTS (SELECT 1 FROM job WHERE kind = 'read' AND job.doc_id = document.doc_id"
    " AND job.state = 'working') THEN 'working' ELSE state END,"
    " reason, ingest_version, reading, decisions, commit_id, deposited_at, deposit, removed_at, former_reading,"
    " former_decisions, named_at, parent, root, depth, text, failed_at"
)
JOB = (
    "kind, doc_id, ontology, deposit, attempts, state, stage, progress, reason, worker, not_before, lease_until,"
    " strategy, extractor, run, since, size, text_owed"
)

_KINDS = {str(kind): kind for kind in NameKind}
_PLACES = {str(place): place for place in StorageTier}
_STATES = {str(state): state for state in State}


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search that was saved."""

    words: str
    """Encoded as names are."""
    saved_at: int


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question that was saved."""

    question: str
    """The names of its folders, each encoded as names are, joined by ``/``."""
    saved_at: int
    """When it was saved or asked last."""


@dataclass(frozen=True, slots=True)
class Trashed:
    """A removed file that has versions."""

    id: int
    """The name id that the file had, and gets again when it is restored."""
    ontology: str
    """The id of its ontology, which may have been removed itself."""
    path: str
    """The path below documents/, encoded."""
    mode: int
    uid: int
    gid: int
    mtime: int
    size: int
    sha256: str
    key: str
    doc_id: str
    version: int
    lineage: int
    at: int
    """When the file was removed."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A forgetting that was decided and not carried out yet."""

    order: str
    doc_ids: tuple[str, ...]
    """Without the Documents that gained a name again since."""
    cascade: str
    """none, orphans or all."""
    purge: bool
    concepts: tuple[str, ...]
    """With cascade ``all``: the concepts that leave with all their evidence."""
    at: int


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of a Document."""

    parent: str
    n: int
    """Its place among the parts, from 1."""
    child: str
    """The doc_id of the Document that it is; '' for an empty part."""
    name: str
    """Safe, unique among the parts of the parent, encoded as names are."""
    given: str
    """The name that the parent gives it."""
    kind: str
    media_type: str
    size: int


WAITING = "waiting"
"""The stage of a queued job that waits for a server or a limit, with the reason in ``reason``."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job: a document to be read or forgotten."""

    kind: str
    """``read`` (parse … index a Document) or ``forget`` (its last name is gone)."""
    doc_id: str
    ontology: str
    deposit: int
    attempts: int = 0
    state: str = "queued"
    """queued or working."""
    stage: str = ""
    """The stage that the worker has reached, shown to people."""
    progress: float = 0.0
    """0 to 1 within the document, shown to people."""
    reason: str = ""
    """Why the last attempt failed."""
    worker: str = ""
    not_before: int = 0
    lease_until: int = 0
    strategy: str = ""
    """The strategy of a ``read`` that a ReadingOwed asked for (see there); else empty."""
    extractor: str = ""
    run: str = ""
    since: int = 0
    """The first deposit of the job's run, where the document is compared only with what was read since that deposit;
    else 0."""
    size: int = 0
    """Bytes of the document."""
    text_owed: int = 0
    """1 where the text of the document is to be published before the document is read; else 0."""


def name_from(row: Row) -> Name:
    values = list(row[:22])
    values[4], values[13], values[18] = _KINDS[row[4]], _PLACES[row[13]], row[18] == 1
    return Name(*values)


def version_from(row: Row) -> Version:
    return Version(*row)


def document_from(row: Row) -> Document:
    values = list(row)
    values[6] = _STATES[row[6]]
    return Document(*values)


def job_from(row: Row) -> Job:
    return Job(*row)
