"""The backlog: the work that remains until everything written is knowledge, and the documents that were not
read, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgfs.domain.documents import Document, State
from kgfs.domain.names import decode_name
from kgfs.knowledge.document_location import standing_of
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.rows import Job
from kgfs.stores.catalog.sqlite import Catalog


@dataclass(frozen=True, slots=True)
class Owed:
    unsettled: int
    """Paths that wait until they are quiet."""
    jobs: int
    working: tuple[Job, ...]
    """The jobs that a worker holds."""
    failed: int
    """Documents that could not be read. No work is pending for them, but a person should look at them."""
    unsupported: int
    done: int
    forgettings: int = 0
    """Forgettings that were ordered and are not carried out."""

    @property
    def total(self) -> int:
        return self.jobs + self.unsettled + self.forgettings

    @property
    def nothing(self) -> bool:
        return not self.total

    @property
    def nothing_to_read(self) -> bool:
        """Return whether everything written here is read. Commands that read wait for it."""
        return not self.unsettled and not self.jobs


def owed(catalog: Catalog) -> Owed:
    """Return the backlog, from one look at the catalog.

    It is quick enough to be polled, whatever the size of the backlog.
    """
    counts = catalog.names.counts()
    return Owed(
        unsettled=catalog.names.unsettled_count(),
        jobs=catalog.jobs.owed(),
        working=tuple(catalog.jobs.working()),
        failed=counts.get(State.FAILED, 0),
        unsupported=counts.get(State.UNSUPPORTED, 0),
        done=counts.get(State.DONE, 0) + counts.get(State.GATED, 0),
        forgettings=catalog.names.forgettings_count(),
    )


@dataclass(frozen=True, slots=True)
class Unread:
    ontology: str
    path: str
    """The path below documents/, or below archive/ where the document is a part of another one; encoded as names are."""
    state: str
    reason: str
    doc_id: str
    failed_at: int


def unread_in(names: Names, ontology_id: str, limit: int) -> list[Unread]:
    """Return the newest documents of an ontology that were not read. Quick."""
    ontology = names.ontology(ontology_id)
    called = ontology.name if ontology else ""
    return [_told(names, called, document) for document in names.unread(ontology_id, limit)]


def unread(names: Names, limit: int) -> list[Unread]:
    """Return the newest documents of each ontology that were not read, ``limit`` in all."""
    found = [one for ontology in names.ontologies() for one in unread_in(names, ontology.id, limit)]
    return found[:limit]


def unread_of(names: Names, doc_ids: Iterable[str]) -> list[Unread]:
    """Return those of these documents that were not read."""
    found = (names.document(doc_id) for doc_id in doc_ids)
    missing = [one for one in found if one is not None and one.state in (State.UNSUPPORTED, State.FAILED)]
    called = {ontology.id: ontology.name for ontology in names.ontologies()} if missing else {}
    return [_told(names, called.get(one.ontology, ""), one) for one in missing]


def unread_count(names: Names, ontology_id: str = "") -> int:
    """Return the number of documents that were not read. Quick."""
    counts = names.counts(ontology_id)
    return counts.get(State.UNSUPPORTED, 0) + counts.get(State.FAILED, 0)


def lines(found: list[Unread], count: int) -> Iterator[str]:
    """Yield lines for people: files that were not read, with the reasons, and how many more there are."""
    for one in found:
        yield f"{one.ontology}/{one.path}: {one.reason or one.state}"
    if count > len(found):
        yield f"and {count - len(found)} more"


def _told(names: Names, ontology: str, document: Document) -> Unread:
    path = standing_of(names, document.doc_id).origin.path.removeprefix("documents/")
    name = decode_name(path.rpartition("/")[2]).decode("utf-8", "replace")
    reason = document.reason.removeprefix(f"{name}: ")  # a parser's error names its file, as the path does
    return Unread(ontology, path, document.state.value, reason, document.doc_id, document.failed_at)
