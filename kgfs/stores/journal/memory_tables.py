"""The state of a :class:`~kgfs.stores.journal.memory.MemoryJournal` and what facts do to it.

Written as plainly as the contract can be said, without regard to speed: after each fact every document is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

from kgfs.domain import Document, Name, NameKind, Ontology, Place, State, Version, decode_name, is_document_name
from kgfs.stores.journal import facts as fact_kinds
from kgfs.stores.journal.contract import Forgetting, Job, Trashed
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

    def apply(self, fact: Fact, session: str) -> None:
        self.facts.append(fact)
        getattr(self, f"_{type(fact).__name__}")(fact, session)
        self._review(fact.at)

    def _OntologyMade(self, fact: fact_kinds.OntologyMade, session: str) -> None:  # noqa: N802
        self.ontologies[fact.ontology] = Ontology(fact.ontology, fact.name, fact.prefix, fact.root, fact.at)
        self._make(fact.root, fact.ontology, 0, "documents", NameKind.FOLDER, fact, session)

    def _OntologyRenamed(self, fact: fact_kinds.OntologyRenamed, session: str) -> None:  # noqa: N802
        self.ontologies[fact.ontology] = replace(self.ontologies[fact.ontology], name=fact.name)

    def _OntologyRemoved(self, fact: fact_kinds.OntologyRemoved, session: str) -> None:  # noqa: N802
        removed = self.removed_ontologies[fact.ontology] = self.ontologies.pop(fact.ontology)
        del self.names[removed.root]

    def _SettingChanged(self, fact: fact_kinds.SettingChanged, session: str) -> None:  # noqa: N802
        self.settings[fact.ontology, fact.key] = fact.value

    def _SearchSaved(self, fact: fact_kinds.SearchSaved, session: str) -> None:  # noqa: N802
        self.searches[fact.ontology, fact.words] = fact.at

    def _SearchRemoved(self, fact: fact_kinds.SearchRemoved, session: str) -> None:  # noqa: N802
        del self.searches[fact.ontology, fact.words]

    def _FolderMade(self, fact: fact_kinds.FolderMade, session: str) -> None:  # noqa: N802
        self._make(fact.id, fact.ontology, fact.parent, fact.name, NameKind.FOLDER, fact, session)

    def _FileMade(self, fact: fact_kinds.FileMade, session: str) -> None:  # noqa: N802
        self._make(fact.id, fact.ontology, fact.parent, fact.name, NameKind.FILE, fact, session)

    def _LinkMade(self, fact: fact_kinds.LinkMade, session: str) -> None:  # noqa: N802
        self._make(fact.id, fact.ontology, fact.parent, fact.name, NameKind.LINK, fact, session)
        self.change(fact.id, target=fact.target, size=len(decode_name(fact.target)))

    def _make(
        self,
        name_id: int,
        ontology: str,
        parent: int,
        name: str,
        kind: NameKind,
        fact: fact_kinds.OntologyMade | fact_kinds.FolderMade | fact_kinds.FileMade | fact_kinds.LinkMade,
        session: str,
    ) -> None:
        at = fact.at
        made = Name(name_id, ontology, parent, name, kind, fact.mode, fact.uid, fact.gid, at, at, at, arrived_at=at)
        self.names[name_id] = Entry(made, name_id if kind is NameKind.FILE else 0, at, session)
        self.touch_folder(parent, at)

    def _ContentKept(self, fact: fact_kinds.ContentKept, session: str) -> None:  # noqa: N802
        place = Place(fact.place)
        self.change(fact.id, sha256=fact.sha256, size=fact.size, place=place, key=fact.key)
        self.change(fact.id, mtime=fact.mtime, ctime=fact.at)
        self.unsettle(fact.id, fact.at, session)

    def _AttributesSet(self, fact: fact_kinds.AttributesSet, session: str) -> None:  # noqa: N802
        wanted = {key: getattr(fact, key) for key in ("mode", "uid", "gid", "atime", "mtime")}
        self.change(fact.id, ctime=fact.at, **{key: value for key, value in wanted.items() if value is not None})

    def _ConflictKept(self, fact: fact_kinds.ConflictKept, session: str) -> None:  # noqa: N802
        entry = self.names.get(fact.id)
        takes = self.adopted(fact.id) if entry else None
        lineage = takes or (entry.lineage if entry else self.trash[fact.id].lineage)
        n = max((version.n for version in self.history(lineage)), default=0) + 1
        version = Version(
            *(lineage, n, "", fact.sha256, fact.size, fact.key, fact.path, fact.at, "conflict", fact.reason)
        )
        self.versions[lineage, n] = (version, len(self.facts))
        if entry and not takes and not entry.name.version:
            self.change(fact.id, version=n)

    def _Overtaken(self, fact: fact_kinds.Overtaken, session: str) -> None:  # noqa: N802
        """Nothing was done."""

    def _Removed(self, fact: fact_kinds.Removed, session: str) -> None:  # noqa: N802
        self._leave(fact.id, fact.at)

    def _leave(self, name_id: int, at: int) -> None:
        path = self.path(name_id) or ""
        entry = self.names.pop(name_id)
        self.touch_folder(entry.name.parent, at)
        if entry.name.version:
            name, newest = entry.name, self.versions[entry.lineage, entry.name.version][0]
            self.trash[name_id] = Trashed(
                *(name_id, name.ontology, path, name.mode, name.uid, name.gid, name.mtime, newest.size, newest.sha256),
                *(newest.key, newest.doc_id, newest.n, entry.lineage, at),
            )
            self.departed[entry.name.parent, entry.name.name] = Departure(entry.lineage, at, removed=True)
            if not is_document_name(path):
                for place, left in self.departed.items():
                    if left.lineage == entry.lineage:
                        self.departed[place] = replace(left, removed=True)

    def _Moved(self, fact: fact_kinds.Moved, session: str) -> None:  # noqa: N802
        before = self.names[fact.id]
        below = {name.id: self.path(name.id) or "" for name in self.below(fact.id)}
        paths = {fact.id: self.path(fact.id) or "", **below}
        replaced = self.names.get(fact.replaces)
        succeeds = replaced is not None and replaced.name.version > 0 and before.name.kind is NameKind.FILE
        if succeeds:
            del self.names[fact.replaces]
        elif replaced is not None:
            self._leave(fact.replaces, fact.at)
        if before.name.version and (before.name.parent, before.name.name) != (fact.parent, fact.name):
            left = Departure(before.lineage, fact.at, removed=False)
            self.departed[before.name.parent, before.name.name] = left
        self.change(fact.id, parent=fact.parent, name=fact.name, ctime=fact.at, arrived_at=fact.at)
        self.touch_folder(before.name.parent, fact.at)
        self.touch_folder(fact.parent, fact.at)
        for name_id, path in paths.items():
            name = self.names[name_id].name
            crossed = name.ontology != fact.ontology
            if crossed:
                self.change(name_id, ontology=fact.ontology, doc_id="")
            turned = is_document_name(path) != is_document_name(self.path(name_id) or "")
            renamed_unsettled = name_id == fact.id and not name.settled
            overwrites = name_id == fact.id and fact.replaces != 0
            if name.kind is NameKind.FILE and (crossed or turned or renamed_unsettled or overwrites):
                self.unsettle(name_id, fact.at, session)
        if succeeds and replaced is not None:
            self.change(fact.id, version=replaced.name.version, doc_id=replaced.name.doc_id)
            self.names[fact.id] = replace(self.names[fact.id], lineage=replaced.lineage)

    def _Settled(self, fact: fact_kinds.Settled, session: str) -> None:  # noqa: N802
        self.change(fact.id, place=Place(fact.place), key=fact.key, settled=True)
        self.change(fact.id, decision=fact.decision, reason=fact.reason)
        entry = self.names[fact.id]
        if entry.name.version:
            newest = self.versions[entry.lineage, entry.name.version][0]
            same = newest.sha256 == entry.name.sha256
            document = self.documents.get(newest.doc_id)
            ours = document is not None and document.ontology == entry.name.ontology
            current = same and ours and is_document_name(self.path(fact.id) or "")
            self.change(fact.id, doc_id=newest.doc_id if current else "")

    def _VersionMinted(self, fact: fact_kinds.VersionMinted, session: str) -> None:  # noqa: N802
        seq = len(self.facts)
        name = self.names[fact.id].name
        lineage = self.adopted(fact.id)
        if lineage is not None:
            del self.departed[name.parent, name.name]
            holder = self.holder(lineage)
            if holder is not None:
                self.change(holder.name.id, version=0, doc_id="")
                self.unsettle(holder.name.id, fact.at, holder.session)
                self.names[holder.name.id] = replace(self.names[holder.name.id], lineage=-seq)
            self.names[fact.id] = replace(self.names[fact.id], lineage=lineage)
        lineage = self.names[fact.id].lineage
        about = (fact.decision, fact.reason)
        version = Version(lineage, fact.n, fact.doc_id, fact.sha256, fact.size, fact.key, fact.path, fact.at, *about)
        self.versions[lineage, fact.n] = version, seq
        self.change(fact.id, version=fact.n, doc_id=fact.doc_id, place=Place.GARAGE, key=fact.key, settled=True)
        self.change(fact.id, decision=fact.decision, reason=fact.reason)
        if fact.doc_id not in self.documents:
            self.documents[fact.doc_id] = Document(
                fact.doc_id,
                fact.ontology,
                fact.sha256,
                fact.source_id,
                fact.key,
                fact.size,
                State.KEPT,
                ingest_version=fact.ingest_version,
                deposited_at=fact.at,
                deposit=seq,
            )
            self.ended[fact.doc_id], self.shown[fact.doc_id] = "", False
        if fact.decision in ("insert", "update", "reprocess", "revive"):
            self._owe_reading(fact.doc_id)

    def _owe_reading(self, doc_id: str) -> None:
        seq = len(self.facts)
        self.change_document(doc_id, deposit=seq, reason="")
        self.jobs["read", doc_id] = Job("read", doc_id, self.documents[doc_id].ontology, seq)

    def _DocumentRead(self, fact: fact_kinds.DocumentRead, session: str) -> None:  # noqa: N802
        before = self.documents[fact.doc_id]
        self.change_document(
            fact.doc_id,
            reason="",
            reading=fact.reading,
            decisions=before.decisions if before.commit_id == fact.commit_id else fact.decisions,
            former_reading=before.reading,
            former_decisions=before.decisions,
            commit_id=fact.commit_id,
            ingest_version=fact.ingest_version,
        )
        self.ended[fact.doc_id], self.shown[fact.doc_id] = fact.state, True
        self.jobs.pop(("read", fact.doc_id), None)
        for doc_id in fact.superseded:
            self._leave_graph(doc_id)

    def _ReadingOwed(self, fact: fact_kinds.ReadingOwed, session: str) -> None:  # noqa: N802
        same_run = [job.since for job in self.jobs.values() if fact.run and job.run == fact.run and job.since]
        self._owe_reading(fact.doc_id)
        since = min(same_run, default=len(self.facts)) if fact.anew else 0
        job = self.jobs["read", fact.doc_id]
        self.jobs["read", fact.doc_id] = replace(
            job, strategy=fact.strategy, extractor=fact.extractor, run=fact.run, since=since
        )

    def _leave_graph(self, doc_id: str) -> None:
        self.change_document(doc_id, commit_id="")
        self.ended[doc_id], self.shown[doc_id] = "", False

    def _DocumentFailed(self, fact: fact_kinds.DocumentFailed, session: str) -> None:  # noqa: N802
        self.change_document(fact.doc_id, reason=fact.reason)
        if not self.documents[fact.doc_id].reading:
            self.change_document(fact.doc_id, ingest_version=fact.ingest_version)
        self.ended[fact.doc_id] = fact.state
        self.jobs.pop(("read", fact.doc_id), None)

    def _ConceptsMerged(self, fact: fact_kinds.ConceptsMerged, session: str) -> None:  # noqa: N802
        for key in fact.decisions:
            self.change_document(key.split("/")[1], decisions=key)

    def _ConceptSplit(self, fact: fact_kinds.ConceptSplit, session: str) -> None:  # noqa: N802
        for key in fact.decisions:
            self.change_document(key.split("/")[1], decisions=key)

    def _DocumentForgotten(self, fact: fact_kinds.DocumentForgotten, session: str) -> None:  # noqa: N802
        self._leave_graph(fact.doc_id)
        self.jobs.pop(("forget", fact.doc_id), None)

    # -------------------------------------------------------------------------------- trash, forgetting

    def _TrashRestored(self, fact: fact_kinds.TrashRestored, session: str) -> None:  # noqa: N802
        gone = self.trash.pop(fact.id)
        continued = self.holder(gone.lineage) is not None
        made = Name(
            *(fact.id, fact.ontology, fact.parent, fact.name, NameKind.FILE, gone.mode, gone.uid, gone.gid),
            *(gone.mtime, gone.mtime, fact.at, gone.size),
            place=Place.GARAGE,
            sha256=gone.sha256,
            key=gone.key,
            version=0 if continued else gone.version,
            arrived_at=fact.at,
        )
        self.names[fact.id] = Entry(made, -len(self.facts) if continued else gone.lineage, fact.at, session)
        home = gone.doc_id != "" and self.documents[gone.doc_id].ontology == fact.ontology
        settled = not continued and home and is_document_name(self.path(fact.id) or "")
        self.change(fact.id, settled=settled, doc_id=gone.doc_id if settled else "")
        self.touch_folder(fact.parent, fact.at)
        if not continued:
            self._drop_departures(gone.lineage)

    def _drop_departures(self, lineage: int) -> None:
        self.departed = {place: left for place, left in self.departed.items() if left.lineage != lineage}

    def _TrashEmptied(self, fact: fact_kinds.TrashEmptied, session: str) -> None:  # noqa: N802
        for name_id in fact.ids:
            gone = self.trash.pop(name_id)
            self.unheld.add(gone.key)
            self._drop_history(gone.lineage)

    def _drop_history(self, lineage: int) -> None:
        if self.holder(lineage) or any(gone.lineage == lineage for gone in self.trash.values()):
            return
        for version in self.history(lineage):
            self.unheld.add(version.key)
            del self.versions[lineage, version.n]
        self._drop_departures(lineage)

    def _ForgettingOwed(self, fact: fact_kinds.ForgettingOwed, session: str) -> None:  # noqa: N802
        for name_id in fact.names:
            self._leave(name_id, fact.at)
        if fact.purge:
            kept = {k: t for k, t in self.trash.items() if k not in fact.names and t.doc_id not in fact.doc_ids}
            self.trash = kept
        self.forgettings[fact.order] = Forgetting(
            fact.order, tuple(sorted(fact.doc_ids)), fact.cascade, fact.purge, fact.concepts, fact.at
        )
        shown = {doc_id for doc_id in fact.doc_ids if self.shown[doc_id]}
        self.tombstones = self.tombstones | shown if fact.cascade == "none" else self.tombstones - set(fact.doc_ids)
        self.suppressions |= dict.fromkeys(fact.suppressed, len(self.facts))

    def _ForgettingDone(self, fact: fact_kinds.ForgettingDone, session: str) -> None:  # noqa: N802
        del self.forgettings[fact.order]
        if fact.cascade == "none":
            return
        for doc_id in fact.doc_ids:
            self._leave_graph(doc_id)
            self.jobs.pop(("forget", doc_id), None)
        if fact.purge:
            self._erase(set(fact.doc_ids))
        for key in fact.decisions:
            self.change_document(key.split("/")[1], decisions=key)

    def _erase(self, doc_ids: set[str]) -> None:
        lineages = {version.lineage for version, _ in self.versions.values() if version.doc_id in doc_ids}
        self.versions = {k: v for k, v in self.versions.items() if v[0].doc_id not in doc_ids}
        self.trash = {k: gone for k, gone in self.trash.items() if gone.doc_id not in doc_ids}
        self.jobs = {k: job for k, job in self.jobs.items() if job.doc_id not in doc_ids}
        self.tombstones = self.tombstones - doc_ids
        for doc_id in doc_ids:
            del self.documents[doc_id], self.ended[doc_id], self.shown[doc_id]
        for lineage in lineages:
            for version in self.history(lineage):
                if version.decision == "conflict":
                    self.unheld.add(version.key)
                    del self.versions[lineage, version.n]
            if holder := self.holder(lineage):
                older = [version.n for version in self.history(lineage) if version.n <= holder.name.version]
                self.change(holder.name.id, version=max(older, default=0))
            self._drop_history(lineage)

    def _stays(self, doc_id: str) -> bool:
        return doc_id in self.tombstones or any(doc_id in owed.doc_ids for owed in self.forgettings.values())

    # ----------------------------------------------------------------------------- what follows from names

    def _review(self, at: int) -> None:
        named = Counter(entry.name.doc_id for entry in self.names.values())
        for doc_id in sorted(self.documents, key=lambda doc_id: (doc_id not in named, doc_id)):
            if named[doc_id] != self.named.get(doc_id, 0):
                self.named[doc_id] = named[doc_id]
                self.change_document(doc_id, named_at=at)
            if doc_id in named:
                self.change_document(doc_id, removed_at=0)
                self.tombstones = self.tombstones - {doc_id}
                for order, owed in self.forgettings.items():
                    left = tuple(other for other in owed.doc_ids if other != doc_id)
                    self.forgettings[order] = replace(owed, doc_ids=left)
                self.jobs.pop(("forget", doc_id), None)
                if ("read", doc_id) not in self.jobs and not self.ended[doc_id]:
                    self._owe_reading(doc_id)
            else:
                self.change_document(doc_id, removed_at=self.documents[doc_id].removed_at or at)
                self.jobs.pop(("read", doc_id), None)
                if self.shown[doc_id] and (self._successor_awaited(doc_id) or self._stays(doc_id)):
                    self.jobs.pop(("forget", doc_id), None)
                elif self.shown[doc_id]:
                    ontology = self.documents[doc_id].ontology
                    job = Job("forget", doc_id, ontology, len(self.facts), not_before=at + 2 * SECOND)
                    self.jobs.setdefault(("forget", doc_id), job)
            self.change_document(doc_id, state=self.state_of(doc_id))

    def _successor_awaited(self, doc_id: str) -> bool:
        for other in self.documents:
            owed = ("read", other) in self.jobs
            failed = not self.shown[other] and self.ended[other] in ("failed", "unsupported")
            if (owed or failed) and doc_id in self.predecessors(other):
                return True
        return False

    def state_of(self, doc_id: str) -> State:
        if ("read", doc_id) in self.jobs:
            return State.QUEUED
        if self.names_of(doc_id):
            return State(self.ended[doc_id] or "kept")
        if self.shown[doc_id] and ("forget", doc_id) not in self.jobs and not self._stays(doc_id):
            return State.STALE
        for (lineage, n), (version, _) in self.versions.items():
            newest = n == max((later.n for later in self.history(lineage) if later.doc_id), default=0)
            if version.doc_id == doc_id and newest and not self.holder(lineage):
                return State.TRASHED
        return State.KEPT
