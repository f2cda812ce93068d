"""What is known about one document, for ``kgfs status FILE``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kgfs.domain.documents import Document, Name, State
from kgfs.domain.parts import PartKind
from kgfs.domain.text import BLOCK_VERDICTS, judged_blocks
from kgfs.errors import BadInputError, MissingError
from kgfs.knowledge.document_location import attachment_path
from kgfs.knowledge.without_concepts import why_none
from kgfs.render.words import as_guessed, time_of
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.rows import Job, PartRow
from kgfs.stores.readings import load_reading
from kgfs.stores.resolve import Found, FoundKind
from kgfs.stores.stores import Stores


def document_page(stores: Stores, found: Found) -> dict[str, Any]:
    """Return plain data about a file, its bytes and their Document. What is not known (yet) is None.

    Raises BadInputError for a folder or an ontology. Reads the document's Reading and Records from the garage.
    """
    if found.kind is not FoundKind.DOCUMENT:
        raise BadInputError(
            f"{found} is {'an' if found.kind is FoundKind.ONTOLOGY else 'a'} {found.kind}; name one file."
        )
    names = stores.catalog.names
    name, document = found.name, found.document
    versions = names.versions(name.id) if name else []
    n = found.version or (name.version if name else 0)
    version = next((one for one in versions if one.n == n), None)
    if document is not None and name is not None and not found.version and document.sha256 != name.sha256:
        document = None  # the path has newer bytes, which are not settled yet or are of a kind that makes no Document
    decided = name if name is not None and not found.version else version
    sha256 = document.sha256 if document else name.sha256 if name else ""
    return {
        "ontology": found.ontology.name,
        "path": f"documents/{found.path}" if name else None,
        "state": _state(name, document),
        "state_reason": document.reason or None if document else None,
        "doc_id": document.doc_id if document else None,
        "key": document.key if document else None,
        "sha256": sha256 or None,
        "size": document.size if document else name.size if name else None,
        "paths": _paths(stores, sha256),
        "part_of": [_in_archive(found, row) for row in names.part_of(document.doc_id)] if document else [],
        "parts": _parts(names, document) if document else None,
        "version": n or None,
        "versions": len(versions),
        "decision": decided.decision or None if decided else None,
        "reason": decided.reason or None if decided else None,
        "settled": name is None or name.settled,
        "version_decision": version.decision or None if version else None,
        "version_reason": version.reason or None if version else None,
        "deposited_at": time_of(document.deposited_at) if document else None,
        "removed_at": time_of(document.removed_at) if document and document.removed_at else None,
        "reading": _reading(stores, document) if document else None,
        "no_concepts": _why_none(stores, document) if document else None,
        "jobs": [_job(job) for job in stores.catalog.jobs.of(document.doc_id)] if document else [],
    }


def _in_archive(found: Found, row: PartRow) -> str:
    return f"{found.ontology.name}/{attachment_path(row)}" if row.kind == PartKind.ATTACHMENT else row.parent


def _parts(names: Names, document: Document) -> dict[str, Any] | None:
    """Return how many parts a document has, by state; None where it has none."""
    children = [names.document(row.child) for row in names.parts(document.doc_id) if row.child]
    states = Counter(child.state.value for child in children if child is not None)
    return dict(sorted(states.items())) or None


def _state(name: Name | None, document: Document | None) -> str:
    if document is not None:
        return document.state.value
    return State.KEPT.value if name is not None else State.TRASHED.value


def _paths(stores: Stores, sha256: str) -> list[str]:
    """Return every live path that has these bytes, in all ontologies, in the order of deposit in each."""
    names = stores.catalog.names
    found = []
    for ontology in names.ontologies() if sha256 else ():
        document = names.document_with(ontology.id, sha256)
        paths = [names.path(name.id) for name in names.names_of(document.doc_id)] if document else []
        found += [f"{ontology.name}/documents/{path}" for path in paths if path is not None]
    return found


def _why_none(stores: Stores, document: Document) -> str | None:
    row = stores.graph.document(document.doc_id)
    return why_none(stores, row) or None if row is not None else None


def _reading(stores: Stores, document: Document) -> dict[str, Any] | None:
    """Return the Reading that the graph shows, or would show again; None where there is none.

    ``concepts`` and ``relationships`` are those that the graph shows of the document, ``candidates`` all that its concepts
    and terms were chosen among. ``blocks`` counts the blocks that the gate judged by what it says of them, neighbours judged alike as one in long documents. ``records`` counts the Sources that a Record made for this document answered, and those that an existing Record
    answered.
    """
    if not document.reading:
        return None
    objects = stores.garage.objects
    try:
        reading = load_reading(objects, document.doc_id, document.reading)
        own = [pack for pack in reading.records if pack.startswith(f"records/{document.doc_id}/")]
        asked = sum(objects.get(pack).count(b"\n") for pack in own)
    except MissingError:
        return {"id": document.reading, "lost": True}
    passed = sum(verdict.passed for verdict in reading.verdicts)
    concepts, relationships = stores.graph.found_in(document.doc_id)
    return {
        "id": document.reading,
        "shown": bool(document.commit_id),
        "ingest_version": reading.ingest_version,
        "extractor": reading.extractor,
        "model": reading.extractor_model,
        "strategy": reading.strategy,
        "parser": reading.parser,
        "media_type": reading.media_type,
        "language": reading.language or None,
        "encoding": as_guessed(reading.guessed_encoding) or reading.encoding or None,
        "pages": reading.pages or None,
        "not_read": reading.note or None,
        "sources": len(reading.chunks),
        "gated": len(reading.chunks) - passed,
        "gated_for": dict(Counter(verdict.reason for verdict in reading.verdicts if not verdict.passed)),
        "blocks": dict(Counter(BLOCK_VERDICTS[said] for _, _, said in judged_blocks(reading.verdicts))),
        "records": {"extracted": min(asked, passed), "reused": passed - min(asked, passed)},
        "candidates": len(reading.concepts),
        "concepts": concepts,
        "relationships": relationships,
        "embedder": reading.embedding_model or None,
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "kind": job.kind,
        "state": job.state,
        "stage": job.stage or None,
        "progress": round(job.progress, 3),
        "attempts": job.attempts,
        "reason": job.reason or None,
        "not_before": time_of(job.not_before) if job.not_before else None,
        "worker": job.worker or None,
    }
