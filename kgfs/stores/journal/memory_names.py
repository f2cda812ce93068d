"""The contract's ``Names`` of the journal in memory: every question is answered by looking through all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kgfs.domain.documents import Document, Name, NameKind, Ontology, Place, State, Version
from kgfs.errors import MissingError
from kgfs.stores.journal.contract_names import Forgetting, SavedSearch, Trashed
from kgfs.stores.journal.memory_tables import Tables

if TYPE_CHECKING:
    from kgfs.stores.journal.memory import MemoryJournal


class MemoryNames:
    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    @property
    def _tables(self) -> Tables:
        return self._journal.tables

    def ontologies(self) -> list[Ontology]:
        found = [self.ontology(ontology_id) for ontology_id in self._tables.ontologies]
        return sorted((ontology for ontology in found if ontology), key=lambda ontology: ontology.name)

    def ontology(self, ontology_id: str) -> Ontology | None:
        found = self._tables.ontologies.get(ontology_id)
        return replace(found, settings=self.settings(ontology_id)) if found else None

    def ontology_named(self, name: str) -> Ontology | None:
        return next((ontology for ontology in self.ontologies() if ontology.name == name), None)

    def removed_ontologies(self) -> list[Ontology]:
        found = [
            self._tables.removed_ontologies[ontology_id] for ontology_id in sorted(self._tables.removed_ontologies)
        ]
        return [replace(ontology, settings=self.settings(ontology.id)) for ontology in found]

    def settings(self, ontology_id: str = "") -> Mapping[str, str]:
        return {key: value for (owner, key), value in self._tables.settings.items() if owner == ontology_id}

    def saved_searches(self, ontology_id: str = "") -> list[SavedSearch]:
        found = [SavedSearch(words, at) for (owner, words), at in self._tables.searches.items() if owner == ontology_id]
        return sorted(found, key=lambda saved: saved.words)

    def name(self, name_id: int) -> Name | None:
        entry = self._tables.names.get(name_id)
        return entry.name if entry else None

    def united(self, name_id: int) -> Name | None:
        return None  # it is shared with nobody

    def child(self, parent: int, name: str) -> Name | None:
        return next((child for child in self.children(parent, limit=-1) if child.name == name), None)

    def children(self, parent: int, after: str = "", limit: int = 1000) -> list[Name]:
        names = [entry.name for entry in self._tables.names.values() if entry.name.parent == parent != 0]
        found = sorted((name for name in names if name.name > after), key=lambda name: name.name)
        return found if limit < 0 else found[:limit]

    def resolve(self, ontology_id: str, path: str) -> Name | None:
        for name_id, entry in self._tables.names.items():
            if entry.name.ontology == ontology_id and self.path(name_id) == path:
                return entry.name
        return None

    def path(self, name_id: int) -> str | None:
        return self._tables.path(name_id)

    def names_of(self, doc_id: str) -> list[Name]:
        return self._tables.names_of(doc_id)

    def lineage_for(self, name_id: int) -> tuple[int, int]:
        entry = self._tables.names.get(name_id)
        if entry is None or entry.name.kind is not NameKind.FILE:
            raise MissingError(f"No live file has the id {name_id}.")
        adopted = self._tables.adopted(name_id)
        lineage = entry.lineage if adopted is None else adopted
        return lineage, max((version.n for version in self._tables.history(lineage)), default=0) + 1

    def versions(self, name_id: int) -> list[Version]:
        entry = self._tables.names.get(name_id)
        trashed = self._tables.trash.get(name_id)
        return self._tables.history(entry.lineage if entry else trashed.lineage if trashed else 0)

    def conflicts(self, limit: int = -1) -> list[tuple[Version, Name | None]]:
        found = [version for version, _ in self._tables.versions.values() if version.decision == "conflict"]
        found.sort(key=lambda version: (version.minted_at, version.lineage, version.n), reverse=True)
        found = found if limit < 0 else found[:limit]
        holders = [self._tables.holder(version.lineage) for version in found]
        return [(version, holder.name if holder else None) for version, holder in zip(found, holders, strict=True)]

    def conflict_count(self) -> int:
        return sum(version.decision == "conflict" for version, _ in self._tables.versions.values())

    def version_of(self, doc_id: str) -> tuple[Version, Name | None] | None:
        found = [(deposit, version) for version, deposit in self._tables.versions.values() if version.doc_id == doc_id]
        if not found:
            return None
        _, newest = max(found, key=lambda pair: pair[0])
        holder = self._tables.holder(newest.lineage)
        return newest, holder.name if holder else None

    def document(self, doc_id: str) -> Document | None:
        found = self._tables.documents.get(doc_id)
        job = self._tables.jobs.get(("read", doc_id))
        return replace(found, state=State.WORKING) if found and job and job.state == "working" else found

    def document_with(self, ontology_id: str, sha256: str) -> Document | None:
        found = [document for document in self.documents(ontology_id, limit=-1) if document.sha256 == sha256]
        return max(found, key=lambda document: document.deposit, default=None)

    def documents(self, ontology_id: str, after: str = "", limit: int = 1000) -> list[Document]:
        chosen = [doc_id for doc_id in sorted(self._tables.documents) if doc_id > after]
        found = [document for doc_id in chosen if (document := self.document(doc_id))]
        found = [document for document in found if document.ontology == ontology_id]
        return found if limit < 0 else found[:limit]

    def newest(self, ontology_id: str, limit: int = 10) -> list[Document]:
        found = sorted(self.documents(ontology_id, limit=-1), key=lambda document: -document.deposit)
        return found[:limit]

    def counts(self, ontology_id: str = "") -> Mapping[State, int]:
        documents = [self.document(doc_id) for doc_id in self._tables.documents]
        return Counter(item.state for item in documents if item and ontology_id in ("", item.ontology))

    def any_read(self) -> bool:
        return any(document.reading for document in self._tables.documents.values())

    def predecessors(self, doc_id: str) -> list[str]:
        return self._tables.predecessors(doc_id)

    def unsettled(
        self, *, session: str | None = None, quiet_before: int, or_after: int = 2**63 - 1, alive: Sequence[str] = ()
    ) -> list[Name]:
        waiting = [
            entry
            for entry in self._tables.names.values()
            if not entry.name.settled
            and (entry.touched_at <= quiet_before or entry.touched_at > or_after)
            and (entry.session not in alive if session is None else entry.session == session)
        ]
        return [entry.name for entry in sorted(waiting, key=lambda entry: (entry.touched_at, entry.name.id))]

    def arriving(self, ontology_id: str, sha256: str) -> bool:
        names = (entry.name for entry in self._tables.names.values())
        return any(not n.settled and (n.ontology, n.sha256) == (ontology_id, sha256) for n in names)

    def unsettled_count(self, *, besides: str | None = None) -> int:
        return sum(not entry.name.settled and entry.session != besides for entry in self._tables.names.values())

    def trash(self, after: int = 0, limit: int = 1000, removed_before: int = 2**63 - 1) -> list[Trashed]:
        found = [gone for _, gone in sorted(self._tables.trash.items()) if gone.id > after and gone.at < removed_before]
        return found[:limit]

    def trashed(self, name_id: int) -> Trashed | None:
        return self._tables.trash.get(name_id)

    def names_at(self, key: str) -> list[Name]:
        names = [entry.name for _, entry in sorted(self._tables.names.items())]
        return [name for name in names if name.place is Place.GARAGE and name.key == key]

    def lineages(self, doc_id: str) -> list[int]:
        return sorted({version.lineage for version, _ in self._tables.versions.values() if version.doc_id == doc_id})

    def history(self, lineage: int) -> list[Version]:
        return self._tables.history(lineage)

    def forgettings(self) -> list[Forgetting]:
        return sorted(self._tables.forgettings.values(), key=lambda owed: (owed.at, owed.order))

    def forgettings_count(self) -> int:
        return len(self._tables.forgettings)

    def tombstoned(self, doc_id: str) -> bool:
        return doc_id in self._tables.tombstones

    def suppressed(self, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
        deposits = [seq for version, seq in self._tables.versions.values() if version.doc_id == doc_id]
        newest = max(deposits, default=0)
        return frozenset(found for found in concept_ids if self._tables.suppressions.get(found, 0) > newest)
