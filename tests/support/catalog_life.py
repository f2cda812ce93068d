"""Random lives of a catalog: what programs, settling and a worker might do next."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any

from kgfs.domain.documents import NameKind, StorageTier
from kgfs.domain.identity import doc_id_of
from kgfs.domain.names import is_document_name
from kgfs.errors import KgfsError
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.sqlite import Catalog

NAMES = ("a.txt", "b.txt", "a.txt~", ".hidden", "c", "b.tmp")


CONTENTS = ("", "x", "y", "z")


SECOND = 1_000_000_000


PAUSES = (0, SECOND, 3 * SECOND, 6 * SECOND)


OPS = (
    *("restore", "restore", "empty", "owe_forgetting", "owe_forgetting", "end_forgetting", "end_forgetting"),
    *("folder", "file", "file", "link", "keep", "keep", "keep", "settle", "settle", "settle", "settle"),
    *(
        "move",
        "move",
        "move",
        "remove",
        "read",
        "read",
        "fail",
        "forget",
        "claim",
        "attributes",
        "ontology",
        "search",
        "again",
    ),
)


class Life:
    """Interprets small numbers as what programs, settling and a worker might do next to a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self.first = catalog
        self.at = 10 * SECOND
        self.made = 0
        for name in ("P", "Q"):
            root = self.new_id()
            self.record(f.OntologyMade(f"ontology-{name}", name, name.lower(), root, 0o755, 0, 0, self.at))

    def new_id(self) -> int:
        self.made += 1
        return (1 << 61) + self.made

    def record(self, *facts: f.Fact) -> None:
        with suppress(KgfsError):  # facts that the catalog refuses leave no trace in it
            self.first.record(*facts, session="mount")

    def all_names(self) -> list[Any]:
        found = [self.first.names.name(ontology.root) for ontology in self.first.names.ontologies()]
        for name in found:
            if name and name.kind is NameKind.FOLDER:
                found.extend(self.first.names.children(name.id))
        return found

    def pick(self, index: int, kind: NameKind | None = None) -> Any:
        names = [name for name in self.all_names() if kind is None or name.kind is kind]
        return names[index % len(names)] if names else None

    def step(self, op: str, i: int, j: int, k: int) -> None:
        self.at += PAUSES[k % len(PAUSES)]
        getattr(self, op)(i, j, k)

    def folder(self, i: int, j: int, k: int) -> None:
        folder = self.pick(i, NameKind.FOLDER)
        name = NAMES[j % len(NAMES)]
        self.record(f.FolderMade(self.new_id(), folder.ontology, folder.id, name, 0o755, 1, 1, self.at))

    def file(self, i: int, j: int, k: int) -> None:
        folder = self.pick(i, NameKind.FOLDER)
        made = f.FileMade(self.new_id(), folder.ontology, folder.id, NAMES[j % len(NAMES)], 0o644, 1, 1, self.at)
        self.record(made, self.content(made.id, "xyz"[k % 3]))

    def link(self, i: int, j: int, k: int) -> None:
        folder = self.pick(i, NameKind.FOLDER)
        name = NAMES[j % len(NAMES)]
        self.record(f.LinkMade(self.new_id(), folder.ontology, folder.id, name, "a%FFb", 0o777, 1, 1, self.at))

    def content(self, name_id: int, content: str) -> f.ContentKept:
        place = StorageTier.SPOOL if content else StorageTier.NONE
        return f.ContentKept(name_id, content, len(content), place, f"spool-{content}", self.at - 1, self.at)

    def keep(self, i: int, j: int, k: int) -> None:
        if name := self.pick(i):
            self.record(self.content(name.id, CONTENTS[j % len(CONTENTS)]))

    def settle(self, i: int, j: int, k: int) -> None:
        waiting = self.first.names.unsettled(quiet_before=self.at)
        if not waiting:
            return
        name = waiting[i % len(waiting)]
        path = self.first.names.path(name.id) or ""
        if not name.sha256 or not is_document_name(path):
            self.record(f.Settled(name.id, name.place, name.key, "no document", self.at, name.sha256, "none"))
            return
        known = self.first.names.document_with(name.ontology, name.sha256)
        newest = self.first.names.versions(name.id)[-1:]
        if known and newest and newest[0].doc_id == known.doc_id and k % 2:
            self.record(
                f.Settled(name.id, StorageTier.GARAGE, known.key, "the same bytes", self.at, name.sha256, "skip")
            )
            return
        source = known.source_id if known else f"{name.ontology}/{path}"
        lineage, n = self.first.names.lineage_for(name.id)
        assert n == max((version.n for version in self.first.names.history(lineage)), default=0) + 1
        decision = ("alias", "in_progress", "update", "reprocess", "revive")[j % 5] if known else "insert"
        doc_id = doc_id_of(source, name.sha256)
        minted = (
            doc_id,
            name.sha256,
            name.size,
            f"garage-{name.sha256}",
            source,
            path,
            decision,
            f"because {k}",
            self.at,
        )
        self.record(f.VersionMinted(name.id, name.ontology, n, *minted))

    def move(self, i: int, j: int, k: int) -> None:
        moved, folder = self.pick(i), self.pick(j, NameKind.FOLDER)
        name = NAMES[(i + k) % len(NAMES)]
        goal = self.first.names.child(folder.id, name)
        replaces = goal.id if goal and (j + k) % 4 else 0
        self.record(f.Moved(moved.id, folder.ontology, folder.id, name, replaces, self.at))

    def remove(self, i: int, j: int, k: int) -> None:
        self.record(f.Removed(self.pick(i).id, self.at))

    def attributes(self, i: int, j: int, k: int) -> None:
        self.record(f.AttributesSet(self.pick(i).id, self.at, mode=0o600 + k, mtime=j if j % 2 else None))

    def ontology(self, i: int, j: int, k: int) -> None:
        ontology = ("ontology-P", "ontology-Q")[i % 2]
        self.record(f.OntologyRenamed(ontology, "PQR"[j % 3], self.at))
        self.record(f.SettingChanged(ontology, "domain", str(j), self.at))

    def search(self, i: int, j: int, k: int) -> None:
        ontology, words = ("ontology-P", "ontology-Q", "")[i % 3], f"words {j % 2}"
        saved = any(found.words == words for found in self.first.names.saved_searches(ontology))
        self.record((f.SearchRemoved if saved else f.SearchSaved)(ontology, words, self.at))
        asked = any(found.question == words for found in self.first.names.saved_questions(ontology))
        self.record((f.QuestionRemoved if asked and k % 2 else f.QuestionSaved)(ontology, words, self.at))

    def job(self, kind: str, i: int) -> Any:
        owed = [job for job in self.first.jobs.all() if job.kind == kind]
        return owed[i % len(owed)] if owed else None

    def read(self, i: int, j: int, k: int) -> None:
        if job := self.job("read", i):
            superseded = tuple(self.first.names.predecessors(job.doc_id))
            state = "gated" if k == 3 else "done"
            commit = f"commit-{self.first.seq()}"
            decisions = f"decisions-{self.first.seq()}"
            self.record(f.DocumentRead(job.doc_id, state, f"reading-{j}", decisions, commit, superseded, self.at))

    def again(self, i: int, j: int, k: int) -> None:
        documents = [d for o in self.first.names.ontologies() for d in self.first.names.documents(o.id)]
        chosen = (documents + documents)[i % max(len(documents), 1) :][: 1 + j % 3]
        strategy, extractor = ("random", "hybrid", "")[j % 3], ("", "statistics")[k % 2]
        run, anew = f"run-{k % 2}", bool(k // 2)
        self.record(*(f.ReadingOwed(d.doc_id, "asked", self.at, strategy, extractor, run, anew) for d in chosen))

    def fail(self, i: int, j: int, k: int) -> None:
        if job := self.job("read", i):
            state = "failed" if j % 2 else "unsupported"
            self.record(f.DocumentFailed(job.doc_id, state, "because", self.at, 1 + k))

    def forget(self, i: int, j: int, k: int) -> None:
        if job := self.job("forget", i):
            self.record(f.DocumentForgotten(job.doc_id, "orphans", "commit", self.at))

    def restore(self, i: int, j: int, k: int) -> None:
        trash, folder = self.first.names.trash(), self.pick(j, NameKind.FOLDER)
        gone = trash[i % len(trash)].id if trash else self.new_id()
        self.record(f.TrashRestored(gone, folder.ontology, folder.id, NAMES[k % len(NAMES)], self.at))

    def empty(self, i: int, j: int, k: int) -> None:
        ids = tuple(gone.id for gone in self.first.names.trash()[: 1 + i % 3])
        self.record(f.TrashEmptied(ids, self.at))

    def owe_forgetting(self, i: int, j: int, k: int) -> None:
        known = [d for o in self.first.names.ontologies() for d in self.first.names.documents(o.id)]
        doc_ids = tuple(sorted({known[n % len(known)].doc_id for n in (i, j)})) if known else ()
        names = tuple(name.id for doc_id in doc_ids for name in self.first.names.names_of(doc_id))
        cascade, purge = (("orphans", False), ("orphans", True), ("none", False), ("all", k == 3))[k]
        suppressed = (f"concept-{j % 3}",) if cascade == "all" else ()
        order = f"order-{self.made}-{self.first.seq()}"
        self.record(
            f.ForgettingOwed(order, names[k == 2 and j % 5 == 0 :], doc_ids, cascade, purge, (), suppressed, self.at)
        )

    def end_forgetting(self, i: int, j: int, k: int) -> None:
        for owed in self.first.names.forgettings():
            facts = f.ForgettingDone(
                owed.order, owed.doc_ids, owed.cascade, owed.purge, "commit", owed.concepts, "", self.at
            )
            self.record(facts)

    def claim(self, i: int, j: int, k: int) -> None:
        """What is to be forgotten comes first, what is read again on request last, all in order of deposit."""
        free = [job for job in self.first.jobs.all() if job.state == "queued"]
        expected = min(free, key=lambda job: (job.kind != "forget", job.run != ""), default=None)
        claimed = self.first.jobs.claim("worker", 3600)
        assert (claimed and (claimed.kind, claimed.doc_id)) == (expected and (expected.kind, expected.doc_id))


_SESSION = 22
"""Column of the table ``name``."""


def tables(catalog: Catalog) -> dict[str, list[tuple[Any, ...]]]:
    """All rows but what is of the moment: leases, attempts, sessions, and what stands in no ledger."""
    db = sqlite3.connect(catalog._path)
    try:
        found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        out = {name: sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for (name,) in found}
    finally:
        db.close()
    del out["shipped"], out["inbox"]
    out["job"] = [row[:4] + row[-4:] for row in out["job"]]
    out["name"] = [row[:_SESSION] + row[_SESSION + 1 :] for row in out["name"]]
    out["tally"] = [row for row in out["tally"] if row[-1]]
    return out
