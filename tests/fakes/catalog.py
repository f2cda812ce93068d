"""A catalog in plain dictionaries: the model that random lives of the SQLite catalog are compared with.

It is given the facts that the catalog accepted, and answers by looking through all it has. After each fact it looks at every
document; the SQLite catalog must come to the same with the few that the fact touches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kgfs.domain.documents import TEXT_FIRST, Document, Name, NameKind, Ontology, State, StorageTier, Version
from kgfs.domain.names import decode_name, is_document_name
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.rows import Forgetting, Job, SavedQuestion, SavedSearch, Trashed

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A live name and what the catalog knows beside it."""

    name: Name
    lineage: int
    touched_at: int
    session: str


@dataclass(frozen=True, slots=True)
class Departure:
    """The lineage that a file left at a place when it was removed or moved."""

    lineage: int
    at: int
    removed: bool


class JournalModel:
    def __init__(self) -> None:
        self.ontologies: dict[str, Ontology] = {}
        self.searches: dict[tuple[str, str], int] = {}
        self.questions: dict[tuple[str, str], int] = {}
        self.names: dict[int, Entry] = {}
        self.trash: dict[int, Trashed] = {}
        self.forgettings: dict[str, Forgetting] = {}
        self.tombstones: set[str] = set()
        self.suppressions: dict[str, int] = {}
        self.noted_unheld: set[str] = set()
        self.versions: dict[tuple[int, int], tuple[Version, int]] = {}
        """(lineage, n) → the version and its deposit."""
        self.departed: dict[tuple[int, str], Departure] = {}
        """(folder, name) → what left it."""
        self.documents: dict[str, Document] = {}
        self.ended: dict[str, str] = {}
        """doc_id → the state that its last reading ended in."""
        self.shown: dict[str, bool] = {}
        """doc_id → whether the graph has it."""
        self.named: dict[str, int] = {}
        """doc_id → how many names it had after the fact before."""
        self.jobs: dict[tuple[str, str], Job] = {}
        self.seq = 0

    def record(self, facts: Iterable[f.Fact], session: str) -> None:
        for fact in facts:
            self.seq += 1
            self._apply(fact, session)
            self._review(fact.at)

    # ---------------------------------------------------------------------------------------- questions

    def path(self, name_id: int) -> str | None:
        entry = self.names.get(name_id)
        if entry is None or entry.name.parent == 0:
            return None if entry is None else ""
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
        return [e.name for e in sorted(held, key=lambda e: self.versions[e.lineage, e.name.version][1])]

    def adopted(self, name_id: int) -> int | None:
        """The lineage left behind at a file's place that a file without versions continues."""
        entry = self.names[name_id]
        left = self.departed.get((entry.name.parent, entry.name.name))
        if entry.name.version or left is None:
            return None
        holder = self.holder(left.lineage)
        just_left = left.at >= entry.name.arrived_at - 5 * SECOND
        renamed_aside = holder is not None and not is_document_name(self.path(holder.name.id) or "")
        return left.lineage if just_left or renamed_aside or (holder is None and left.removed) else None

    def lineage_for(self, name_id: int) -> tuple[int, int]:
        """The lineage and the number that the next version of a file gets."""
        lineage = self.adopted(name_id) or self.names[name_id].lineage
        return lineage, max((version.n for version in self.history(lineage)), default=0) + 1

    def predecessors(self, doc_id: str) -> list[str]:
        held = [entry for entry in self.names.values() if entry.name.doc_id == doc_id]
        found = {version.doc_id for entry in held for version in self.history(entry.lineage)} - {"", doc_id}
        ontology = self.documents[doc_id].ontology if doc_id in self.documents else ""
        here = {old for old in found if self.shown[old] and self.documents[old].ontology == ontology}
        return sorted(old for old in here - self.tombstones if not self.names_of(old))

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

    def next_job(self) -> Job | None:
        """The job that a worker would claim now, none of the claimed ones having run out."""
        free = [job for job in self.all_jobs() if job.state == "queued"]
        return min(free, key=lambda job: (job.kind != "forget", job.run != ""), default=None)

    def all_jobs(self) -> list[Job]:
        return sorted(self.jobs.values(), key=lambda job: (job.deposit, job.kind, job.doc_id))

    def unheld(self) -> list[str]:
        held = {version.key for version, _ in self.versions.values()} | {gone.key for gone in self.trash.values()}
        held |= {entry.name.key for entry in self.names.values() if entry.name.place is StorageTier.GARAGE}
        pending = {doc_id for owed in self.forgettings.values() for doc_id in owed.doc_ids}
        shown = {doc_id for doc_id, shown in self.shown.items() if shown}
        held |= {self.documents[doc_id].key for doc_id in (shown - self.tombstones) | (shown & pending)}
        return sorted(self.noted_unheld - held)

    def promised(self) -> list[tuple[str, str, str]]:
        found = {(version.key, version.sha256, version.doc_id) for version, _ in self.versions.values()}
        kept = [entry.name for entry in self.names.values() if entry.name.place is StorageTier.GARAGE]
        found |= {(one.key, one.sha256, one.doc_id) for one in (*kept, *self.trash.values())}
        return sorted(found, key=lambda one: (one[0], one[2], one[1]))

    def document(self, doc_id: str) -> Document:
        found, job = self.documents[doc_id], self.jobs.get(("read", doc_id))
        return replace(found, state=State.WORKING) if job and job.state == "working" else found

    def seen(self, contents: Iterable[str]) -> dict[Any, Any]:
        """What ``seen`` of the property test asks a catalog."""
        documents = {doc_id: self.document(doc_id) for doc_id in sorted(self.documents)}
        unsettled = [entry for entry in self.names.values() if not entry.name.settled]
        conflicts = [version for version, _ in self.versions.values() if version.decision == "conflict"]
        conflicts.sort(key=lambda version: (version.minted_at, version.lineage, version.n), reverse=True)
        held = [(version, self._holding(version)) for version in conflicts]
        unheld = self.unheld()
        out: dict[Any, Any] = {
            "ontologies": sorted(self.ontologies.values(), key=lambda ontology: ontology.name),
            "counts": dict(Counter(document.state for document in documents.values())),
            "read": any(document.reading for document in documents.values()),
            "questions": [self._questions(ontology) for ontology in ("", *sorted(self.ontologies))],
            "searches": [self._searches(ontology) for ontology in ("", *sorted(self.ontologies))],
            "conflicts": [held, held[:2], len(held)],
            "trash": [
                [gone for _, gone in sorted(self.trash.items())],
                sorted(self.forgettings.values(), key=lambda owed: (owed.at, owed.order)),
                unheld,
            ],
            "unheld": [unheld[::2], [key for key in unheld if key == "sources/P/other.txt"], []],
            "promised": [self.promised(), [], []],
            "unsettled": [e.name for e in sorted(unsettled, key=lambda e: (e.touched_at, e.name.id))],
            "jobs": [replace(job, lease_until=0) for job in self.all_jobs()],
        }
        for ontology in self.ontologies:
            here = [document for document in documents.values() if document.ontology == ontology]
            newest = sorted(here, key=lambda document: -document.deposit)
            out[ontology] = [here, dict(Counter(document.state for document in here)), newest[:10]]
            for content in contents:
                out[ontology, content] = next((document for document in newest if document.sha256 == content), None)
        for name_id, entry in self.names.items():
            out[f"name {name_id}"] = (entry.name, self.path(name_id), self.history(entry.lineage))
        for doc_id in documents:
            minted = [(at, version) for version, at in self.versions.values() if version.doc_id == doc_id]
            _, newest_version = max(minted, key=lambda pair: pair[0], default=(0, None))
            version_of = (newest_version, self._holding(newest_version)) if newest_version else None
            out[doc_id] = (version_of, self.names_of(doc_id), self.predecessors(doc_id))
            deposited = max((at for at, _ in minted), default=0)
            suppressed = frozenset(concept for concept, at in self.suppressions.items() if at > deposited)
            lineages = sorted({version.lineage for _, version in minted})
            out["forgotten", doc_id] = (doc_id in self.tombstones, suppressed, lineages)
        return out

    def _searches(self, ontology: str) -> list[SavedSearch]:
        return sorted(
            (SavedSearch(words, at) for (owner, words), at in self.searches.items() if owner == ontology),
            key=lambda saved: saved.words,
        )

    def _questions(self, ontology: str) -> list[SavedQuestion]:
        return sorted(
            (SavedQuestion(words, at) for (owner, words), at in self.questions.items() if owner == ontology),
            key=lambda saved: saved.question,
        )

    def _holding(self, version: Version) -> Name | None:
        holder = self.holder(version.lineage)
        return holder.name if holder else None

    # -------------------------------------------------------------------------------------------- facts

    def _apply(self, fact: f.Fact, session: str) -> None:
        match fact:
            case f.OntologyMade():
                self.ontologies[fact.ontology] = Ontology(fact.ontology, fact.name, fact.prefix, fact.root, fact.at)
                self._make(fact, fact.root, 0, "documents", NameKind.FOLDER, session)
            case f.OntologyRenamed():
                self.ontologies[fact.ontology] = replace(self.ontologies[fact.ontology], name=fact.name)
            case f.SettingChanged():
                before = self.ontologies[fact.ontology]
                settings = {**before.settings, fact.key: fact.value}
                self.ontologies[fact.ontology] = replace(before, settings=settings)
            case f.SearchSaved():
                self.searches[fact.ontology, fact.words] = fact.at
            case f.SearchRemoved():
                del self.searches[fact.ontology, fact.words]
            case f.QuestionSaved():
                self.questions[fact.ontology, fact.question] = fact.at
            case f.QuestionRemoved():
                del self.questions[fact.ontology, fact.question]
            case f.FolderMade():
                self._make(fact, fact.id, fact.parent, fact.name, NameKind.FOLDER, session)
            case f.FileMade():
                self._make(fact, fact.id, fact.parent, fact.name, NameKind.FILE, session)
            case f.LinkMade():
                self._make(fact, fact.id, fact.parent, fact.name, NameKind.LINK, session)
                self._change(fact.id, target=fact.target, size=len(decode_name(fact.target)))
            case f.ContentKept():
                place = StorageTier(fact.place)
                self._change(fact.id, sha256=fact.sha256, size=fact.size, place=place, key=fact.key)
                self._change(fact.id, mtime=fact.mtime, ctime=fact.at)
                self._unsettle(fact.id, fact.at, session)
            case f.AttributesSet():
                asked = {key: getattr(fact, key) for key in ("mode", "uid", "gid", "atime", "mtime")}
                self._change(fact.id, ctime=fact.at, **{k: value for k, value in asked.items() if value is not None})
            case f.ConflictKept():
                self._conflict(fact)
            case f.Removed():
                self._leave(fact.id, fact.at)
            case f.Moved():
                self._move(fact, session)
            case f.Settled():
                self._settle(fact)
            case f.VersionMinted():
                self._mint(fact)
            case f.DocumentRead():
                self._read(fact)
            case f.ReadingOwed():
                same_run = [job.since for job in self.jobs.values() if fact.run and job.run == fact.run and job.since]
                self._owe_reading(fact.doc_id)
                since = min(same_run, default=self.seq) if fact.anew else 0
                asked = {"strategy": fact.strategy, "extractor": fact.extractor, "run": fact.run, "since": since}
                owed = self.jobs["read", fact.doc_id]
                text_owed = 0 if fact.run else owed.text_owed
                self.jobs["read", fact.doc_id] = replace(owed, text_owed=text_owed, **asked)
            case f.DocumentFailed():
                self._change_document(fact.doc_id, reason=fact.reason, failed_at=fact.at)
                if not self.documents[fact.doc_id].reading:
                    self._change_document(fact.doc_id, ingest_version=fact.ingest_version)
                self.ended[fact.doc_id] = fact.state
                self.jobs.pop(("read", fact.doc_id), None)
            case f.DocumentForgotten():
                self._leave_graph(fact.doc_id)
                self.jobs.pop(("forget", fact.doc_id), None)
            case f.TrashRestored():
                self._restore(fact, session)
            case f.TrashEmptied():
                for gone in [self.trash.pop(name_id) for name_id in fact.ids]:
                    self.noted_unheld.add(gone.key)
                    self._drop_history(gone.lineage)
            case f.ForgettingOwed():
                self._owe_forgetting(fact)
            case f.ForgettingDone():
                self._forget(fact)
            case _:
                raise TypeError(f"The model knows no {type(fact).__name__}.")

    def _make(self, fact: Any, name_id: int, parent: int, name: str, kind: NameKind, session: str) -> None:
        at = fact.at
        owner = (fact.mode, fact.uid, fact.gid)
        made = Name(name_id, fact.ontology, parent, name, kind, *owner, at, at, at, arrived_at=at)
        self.names[name_id] = Entry(made, name_id if kind is NameKind.FILE else 0, at, session)
        self._touch_folder(parent, at)

    def _conflict(self, fact: f.ConflictKept) -> None:
        entry = self.names.get(fact.id)
        takes = self.adopted(fact.id) if entry else None
        lineage = takes or (entry.lineage if entry else self.trash[fact.id].lineage)
        n = max((version.n for version in self.history(lineage)), default=0) + 1
        about = (fact.path, fact.at, "conflict", fact.reason)
        version = Version(lineage, n, "", fact.sha256, fact.size, fact.key, *about)
        self.versions[lineage, n] = (version, self.seq)
        if entry and not takes and not entry.name.version:
            self._change(fact.id, version=n)

    def _leave(self, name_id: int, at: int) -> None:
        """Take a name away; what was settled under it goes to the trash."""
        path = self.path(name_id) or ""
        entry = self.names.pop(name_id)
        self._touch_folder(entry.name.parent, at)
        if not entry.name.version:
            return
        name, newest = entry.name, self.versions[entry.lineage, entry.name.version][0]
        self.trash[name_id] = Trashed(
            *(name_id, name.ontology, path, name.mode, name.uid, name.gid, name.mtime, newest.size, newest.sha256),
            *(newest.key, newest.doc_id, newest.n, entry.lineage, at),
        )
        self.departed[name.parent, name.name] = Departure(entry.lineage, at, removed=True)
        if not is_document_name(path):
            for place, left in self.departed.items():
                if left.lineage == entry.lineage:
                    self.departed[place] = replace(left, removed=True)

    def _move(self, fact: f.Moved, session: str) -> None:
        before = self.names[fact.id]
        paths = {name_id: self.path(name_id) or "" for name_id in (fact.id, *(n.id for n in self.below(fact.id)))}
        replaced = self.names.get(fact.replaces)
        succeeds = replaced is not None and replaced.name.version > 0 and before.name.kind is NameKind.FILE
        if succeeds:
            del self.names[fact.replaces]
        elif replaced is not None:
            self._leave(fact.replaces, fact.at)
        left = (before.name.parent, before.name.name)
        if before.name.version and left != (fact.parent, fact.name):
            self.departed[left] = Departure(before.lineage, fact.at, removed=False)
        self._change(fact.id, parent=fact.parent, name=fact.name, ctime=fact.at, arrived_at=fact.at)
        self._touch_folder(before.name.parent, fact.at)
        self._touch_folder(fact.parent, fact.at)
        for name_id, path in paths.items():
            name = self.names[name_id].name
            crossed = name.ontology != fact.ontology
            if crossed:
                self._change(name_id, ontology=fact.ontology, doc_id="")
            turned = is_document_name(path) != is_document_name(self.path(name_id) or "")
            itself = name_id == fact.id and (not name.settled or fact.replaces != 0)
            if name.kind is NameKind.FILE and (crossed or turned or itself):
                self._unsettle(name_id, fact.at, session)
        if succeeds and replaced is not None:
            self._change(fact.id, version=replaced.name.version, doc_id=replaced.name.doc_id)
            self.names[fact.id] = replace(self.names[fact.id], lineage=replaced.lineage)

    def _settle(self, fact: f.Settled) -> None:
        about = {"decision": fact.decision, "reason": fact.reason}
        self._change(fact.id, place=StorageTier(fact.place), key=fact.key, settled=True, **about)
        entry = self.names[fact.id]
        if entry.name.version:
            newest = self.versions[entry.lineage, entry.name.version][0]
            document = self.documents.get(newest.doc_id)
            ours = document is not None and document.ontology == entry.name.ontology
            same = newest.sha256 == entry.name.sha256
            current = same and ours and is_document_name(self.path(fact.id) or "")
            self._change(fact.id, doc_id=newest.doc_id if current else "")

    def _mint(self, fact: f.VersionMinted) -> None:
        name = self.names[fact.id].name
        lineage = self.adopted(fact.id)
        if lineage is not None:
            del self.departed[name.parent, name.name]
            if holder := self.holder(lineage):
                self._change(holder.name.id, version=0, doc_id="")
                self._unsettle(holder.name.id, fact.at, holder.session)
                self.names[holder.name.id] = replace(self.names[holder.name.id], lineage=-self.seq)
            self.names[fact.id] = replace(self.names[fact.id], lineage=lineage)
        lineage = self.names[fact.id].lineage
        about = (fact.decision, fact.reason)
        version = Version(lineage, fact.n, fact.doc_id, fact.sha256, fact.size, fact.key, fact.path, fact.at, *about)
        self.versions[lineage, fact.n] = version, self.seq
        self._change(fact.id, version=fact.n, doc_id=fact.doc_id, place=StorageTier.GARAGE, key=fact.key, settled=True)
        self._change(fact.id, decision=fact.decision, reason=fact.reason)
        if fact.doc_id not in self.documents:
            self.documents[fact.doc_id] = Document(
                *(fact.doc_id, fact.ontology, fact.sha256, fact.source_id, fact.key, fact.size, State.KEPT),
                ingest_version=fact.ingest_version,
                deposited_at=fact.at,
                deposit=self.seq,
            )
            self.ended[fact.doc_id], self.shown[fact.doc_id] = "", False
        if fact.decision in ("insert", "update", "reprocess", "revive"):
            self._owe_reading(fact.doc_id)

    def _owe_reading(self, doc_id: str) -> None:
        self._change_document(doc_id, deposit=self.seq, reason="")
        self.jobs["read", doc_id] = Job(
            "read",
            doc_id,
            self.documents[doc_id].ontology,
            self.seq,
            size=self.documents[doc_id].size,
            text_owed=int(not self.shown[doc_id] and self.documents[doc_id].size <= TEXT_FIRST),
        )

    def _read(self, fact: f.DocumentRead) -> None:
        before = self.documents[fact.doc_id]
        self._change_document(
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

    def _leave_graph(self, doc_id: str) -> None:
        self._change_document(doc_id, commit_id="")
        self.ended[doc_id], self.shown[doc_id] = "", False

    def _restore(self, fact: f.TrashRestored, session: str) -> None:
        gone = self.trash.pop(fact.id)
        continued = self.holder(gone.lineage) is not None
        made = Name(
            *(fact.id, fact.ontology, fact.parent, fact.name, NameKind.FILE, gone.mode, gone.uid, gone.gid),
            *(gone.mtime, gone.mtime, fact.at, gone.size),
            place=StorageTier.GARAGE,
            sha256=gone.sha256,
            key=gone.key,
            version=0 if continued else gone.version,
            arrived_at=fact.at,
        )
        self.names[fact.id] = Entry(made, -self.seq if continued else gone.lineage, fact.at, session)
        home = gone.doc_id != "" and self.documents[gone.doc_id].ontology == fact.ontology
        settled = not continued and home and is_document_name(self.path(fact.id) or "")
        self._change(fact.id, settled=settled, doc_id=gone.doc_id if settled else "")
        self._touch_folder(fact.parent, fact.at)
        if not continued:
            self._drop_departures(gone.lineage)

    def _drop_departures(self, lineage: int) -> None:
        self.departed = {place: left for place, left in self.departed.items() if left.lineage != lineage}

    def _drop_history(self, lineage: int) -> None:
        if self.holder(lineage) or any(gone.lineage == lineage for gone in self.trash.values()):
            return
        for version in self.history(lineage):
            self.noted_unheld.add(version.key)
            del self.versions[lineage, version.n]
        self._drop_departures(lineage)

    def _owe_forgetting(self, fact: f.ForgettingOwed) -> None:
        for name_id in fact.names:
            self._leave(name_id, fact.at)
        if fact.purge:
            kept = {k: t for k, t in self.trash.items() if k not in fact.names and t.doc_id not in fact.doc_ids}
            self.trash = kept
        doc_ids = tuple(sorted(fact.doc_ids))
        self.forgettings[fact.order] = Forgetting(fact.order, doc_ids, fact.cascade, fact.purge, fact.concepts, fact.at)
        shown = {doc_id for doc_id in doc_ids if self.shown[doc_id]}
        self.tombstones = self.tombstones | shown if fact.cascade == "none" else self.tombstones - set(doc_ids)
        self.suppressions |= dict.fromkeys(fact.suppressed, self.seq)

    def _forget(self, fact: f.ForgettingDone) -> None:
        del self.forgettings[fact.order]
        if fact.cascade == "none":
            return
        for doc_id in fact.doc_ids:
            self._leave_graph(doc_id)
            self.jobs.pop(("forget", doc_id), None)
        if fact.purge:
            self._erase(set(fact.doc_ids))

    def _erase(self, doc_ids: set[str]) -> None:
        lineages = {version.lineage for version, _ in self.versions.values() if version.doc_id in doc_ids}
        self.versions = {k: v for k, v in self.versions.items() if v[0].doc_id not in doc_ids}
        self.trash = {k: gone for k, gone in self.trash.items() if gone.doc_id not in doc_ids}
        self.jobs = {k: job for k, job in self.jobs.items() if job.doc_id not in doc_ids}
        self.tombstones = self.tombstones - doc_ids
        for doc_id in doc_ids:
            key = self.documents[doc_id].key
            if all(entry.name.key != key for entry in self.names.values()):
                self.noted_unheld.discard(key)
            del self.documents[doc_id], self.ended[doc_id], self.shown[doc_id]
        for lineage in lineages:
            for version in self.history(lineage):
                if version.decision == "conflict":
                    self.noted_unheld.add(version.key)
                    del self.versions[lineage, version.n]
            if holder := self.holder(lineage):
                older = [version.n for version in self.history(lineage) if version.n <= holder.name.version]
                self._change(holder.name.id, version=max(older, default=0))
            self._drop_history(lineage)

    # ------------------------------------------------------------------------------- what follows from each

    def _review(self, at: int) -> None:
        named = Counter(entry.name.doc_id for entry in self.names.values())
        for doc_id in sorted(self.documents, key=lambda doc_id: (doc_id not in named, doc_id)):
            if named[doc_id] != self.named.get(doc_id, 0):
                self.named[doc_id] = named[doc_id]
                self._change_document(doc_id, named_at=at)
            if doc_id in named:
                self._review_named(doc_id)
            else:
                self._review_unnamed(doc_id, at)
            self._change_document(doc_id, state=self.state_of(doc_id))

    def _review_named(self, doc_id: str) -> None:
        self._change_document(doc_id, removed_at=0)
        self.tombstones = self.tombstones - {doc_id}
        for order, owed in self.forgettings.items():
            self.forgettings[order] = replace(owed, doc_ids=tuple(other for other in owed.doc_ids if other != doc_id))
        self.jobs.pop(("forget", doc_id), None)
        if ("read", doc_id) not in self.jobs and not self.ended[doc_id]:
            self._owe_reading(doc_id)

    def _review_unnamed(self, doc_id: str, at: int) -> None:
        self._change_document(doc_id, removed_at=self.documents[doc_id].removed_at or at)
        self.jobs.pop(("read", doc_id), None)
        if self.shown[doc_id] and (self._successor_awaited(doc_id) or self.stays(doc_id)):
            self.jobs.pop(("forget", doc_id), None)
        elif self.shown[doc_id]:
            ontology = self.documents[doc_id].ontology
            self.jobs.setdefault(
                ("forget", doc_id), Job("forget", doc_id, ontology, self.seq, not_before=at + 2 * SECOND)
            )

    def _successor_awaited(self, doc_id: str) -> bool:
        for other in self.documents:
            failed = not self.shown[other] and self.ended[other] in ("failed", "unsupported")
            if (("read", other) in self.jobs or failed) and doc_id in self.predecessors(other):
                return True
        return False

    # ------------------------------------------------------------------------------------------- changes

    def _change(self, name_id: int, **values: Any) -> None:
        entry = self.names[name_id]
        self.names[name_id] = replace(entry, name=replace(entry.name, **values))

    def _change_document(self, doc_id: str, **values: Any) -> None:
        self.documents[doc_id] = replace(self.documents[doc_id], **values)

    def _touch_folder(self, folder: int, at: int) -> None:
        if folder in self.names:
            self._change(folder, mtime=at, ctime=at)

    def _unsettle(self, name_id: int, at: int, session: str) -> None:
        self._change(name_id, settled=False)
        self.names[name_id] = replace(self.names[name_id], touched_at=at, session=session)
