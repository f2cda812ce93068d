"""The state of a :class:`~kgfs.stores.journal.memory.MemoryJournal`, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

from kgfs.domain.documents import Document, Name, Ontology, State, Version
from kgfs.domain.names import is_document_name
from kgfs.stores.journal.contract_jobs import Job
from kgfs.stores.journal.contract_names import Forgetting, Trashed
from kgfs.stores.journal.facts import Fact

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A live name and what the journal knows beside it."""

    name: Name
    lineage: int
    touched_at: int
    session: str


@dataclass(frozen=True, slots=True)
class Departure:
    lineage: int
    at: int
    removed: bool


@dataclass(slots=True)
class Tables:
    """All values are immutable, so a copy of the containers is a copy of the state."""

    ontologies: dict[str, Ontology] = field(default_factory=dict)
    removed_ontologies: dict[str, Ontology] = field(default_factory=dict)
    settings: dict[tuple[str, str], str] = field(default_factory=dict)
    searches: dict[tuple[str, str], int] = field(default_factory=dict)
    """(ontology, words) → saved at."""
    names: dict[int, Entry] = field(default_factory=dict)
    trash: dict[int, Trashed] = field(default_factory=dict)
    forgettings: dict[str, Forgetting] = field(default_factory=dict)
    tombstones: set[str] = field(default_factory=set)
    suppressions: dict[str, int] = field(default_factory=dict)
    unheld: set[str] = field(default_factory=set)
    versions: dict[tuple[int, int], tuple[Version, int]] = field(default_factory=dict)
    """(lineage, n) → the version and its deposit."""
    departed: dict[tuple[int, str], Departure] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    shown: dict[str, bool] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    """How many names each document had when it was last looked at."""
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)
    inbox: dict[str, bytes] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    """Number n at index n - 1."""

    def copy(self) -> Tables:
        return Tables(*(getattr(self, item.name).copy() for item in fields(self)))

    # ---------------------------------------------------------------------------------------- questions

    def path(self, name_id: int) -> str | None:
        entry = self.names.get(name_id)
        if entry is None:
            return None
        if entry.name.parent == 0:
            return ""
        above = self.path(entry.name.parent)
        return None if above is None else f"{above}/{entry.name.name}".lstrip("/")

    def below(self, folder: int) -> Iterator[Name]:
        for entry in list(self.names.values()):
            if entry.name.parent == folder:
                yield entry.name
                yield from self.below(entry.name.id)

    def holder(self, lineage: int) -> Entry | None:
        return next((entry for entry in self.names.values() if entry.lineage == lineage != 0), None)

    def history(self, lineage: int) -> list[Version]:
        return [self.versions[key][0] for key in sorted(self.versions) if key[0] == lineage]

    def names_of(self, doc_id: str) -> list[Name]:
        held = [entry for entry in self.names.values() if doc_id and entry.name.doc_id == doc_id]
        held.sort(key=lambda entry: self.versions[entry.lineage, entry.name.version][1])
        return [entry.name for entry in held]

    def adopted(self, name_id: int) -> int | None:
        """The lineage left behind at a file's place that a file without versions is to continue."""
        entry = self.names[name_id]
        left = self.departed.get((entry.name.parent, entry.name.name))
        if entry.name.version or left is None:
            return None
        just_left = left.at >= entry.name.arrived_at - 5 * SECOND
        holder = self.holder(left.lineage)
        aside = holder is not None and not is_document_name(self.path(holder.name.id) or "")
        gone = holder is None and left.removed
        return left.lineage if just_left or aside or gone else None

    def predecessors(self, doc_id: str) -> list[str]:
        found = set()
        for entry in self.names.values():
            if entry.name.doc_id == doc_id:
                found |= {version.doc_id for version in self.history(entry.lineage) if version.doc_id}
        ontology = self.documents[doc_id].ontology if doc_id in self.documents else ""
        return sorted(
            old
            for old in found - {doc_id}
            if self.shown[old]
            and not self.names_of(old)
            and self.documents[old].ontology == ontology
            and old not in self.tombstones
        )

    def state_of(self, doc_id: str) -> State:
        if ("read", doc_id) in self.jobs:
            return State.QUEUED
        if self.names_of(doc_id):
            return State(self.ended[doc_id] or "kept")
        if self.shown[doc_id] and ("forget", doc_id) not in self.jobs and not self.stays(doc_id):
            return State.STALE
        for (lineage, n), (version, _) in self.versions.items():
            newest = n == max((later.n for later in self.history(lineage) if later.doc_id), default=0)
            if version.doc_id == doc_id and newest and not self.holder(lineage):
                return State.TRASHED
        return State.KEPT

    def stays(self, doc_id: str) -> bool:
        return doc_id in self.tombstones or any(doc_id in owed.doc_ids for owed in self.forgettings.values())

    # ------------------------------------------------------------------------------------------- changes

    def change(self, name_id: int, **values: object) -> None:
        entry = self.names[name_id]
        self.names[name_id] = replace(entry, name=replace(entry.name, **values))  # type: ignore[arg-type]

    def touch_folder(self, folder: int, at: int) -> None:
        if folder in self.names:
            self.change(folder, mtime=at, ctime=at)

    def unsettle(self, name_id: int, at: int, session: str) -> None:
        self.change(name_id, settled=False)
        self.names[name_id] = replace(self.names[name_id], touched_at=at, session=session)

    def change_document(self, doc_id: str, **values: object) -> None:
        self.documents[doc_id] = replace(self.documents[doc_id], **values)  # type: ignore[arg-type]
