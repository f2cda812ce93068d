"""Convert rows of the catalog's tables to the types of ``domain``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from kgfs.domain.documents import Document, Name, NameKind, State, StorageTier, Version
from kgfs.stores.catalog.contract_jobs import Job

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
