"""Facts in the words of what a person does, for tests of a catalog."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from itertools import count

from kgfs.domain.documents import Name, StorageTier
from kgfs.domain.identity import doc_id_of, new_id
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.sqlite import Catalog

SECOND = 1_000_000_000


class Disk:
    """In place of ``os.fdatasync``: counts the syncs of a catalog, makes them wait until it is ``free``, and fails when it is
    ``broken``."""

    def __init__(self) -> None:
        self.syncs = 0
        self.broken = False
        self.free = threading.Event()
        self.free.set()
        self.began = threading.Event()

    def fdatasync(self, descriptor: int) -> None:
        assert os.readlink(f"/proc/self/fd/{descriptor}").endswith("front.sqlite-wal")
        self.began.set()
        assert self.free.wait(30)
        self.syncs += 1
        if self.broken:
            raise OSError(errno.EIO, "Input/output error")


def loops(catalog: Catalog, work: Callable[[], object]) -> int:
    """How often SQLite goes round in its loops for that, on the connection that writes and on that of this thread: about once
    for each row that it looks at, whatever becomes of it."""
    rounds = count()
    connections = catalog._writer._db, catalog._readers.mine()
    for db in connections:
        db.set_progress_handler(lambda: next(rounds) < 0, 1)
    try:
        work()
    finally:
        for db in connections:
            db.set_progress_handler(None, 1)
    return next(rounds)


def folder_below(root: int, name: str, ontology: str = "id-P") -> f.FolderMade:
    """In the ontology of a :class:`Hand`, where the fact itself matters."""
    return f.FolderMade(new_id(), ontology, root, name, 0o755, 0, 0, 1)


class Hand:
    """Acts on a catalog with one ontology ``P``; its clock moves one second with every act."""

    def __init__(self, catalog: Catalog, session: str = "mount") -> None:
        self.catalog = catalog
        self.names = catalog.names
        self.session = session
        self.at = 100 * SECOND
        self.root = self.ontology("P")

    def record(self, *facts: f.Fact) -> int:
        return self.catalog.record(*facts, session=self.session)

    def tick(self, seconds: float = 1) -> int:
        self.at += int(seconds * SECOND)
        return self.at

    def ontology(self, name: str) -> int:
        root = new_id()
        self.record(f.OntologyMade(f"id-{name}", name, name.lower(), root, 0o755, 7, 8, self.tick()))
        return root

    def owner(self, folder: int) -> str:
        found = self.names.name(folder)
        return found.ontology if found else "id-P"

    def folder(self, name: str, parent: int = 0) -> int:
        made, parent = new_id(), parent or self.root
        self.record(f.FolderMade(made, self.owner(parent), parent, name, 0o755, 1, 2, self.tick()))
        return made

    def link(self, name: str, target: str = "x", parent: int = 0) -> int:
        made, parent = new_id(), parent or self.root
        self.record(f.LinkMade(made, self.owner(parent), parent, name, target, 0o777, 1, 2, self.tick()))
        return made

    def empty(self, name: str, parent: int = 0) -> int:
        made, parent = new_id(), parent or self.root
        self.record(f.FileMade(made, self.owner(parent), parent, name, 0o644, 1, 2, self.tick()))
        return made

    def file(self, name: str, content: str, parent: int = 0) -> int:
        """Written, not settled."""
        made = self.empty(name, parent)
        self.write(made, content)
        return made

    def write(self, name_id: int, content: str) -> None:
        place, key = (StorageTier.SPOOL, f"spool-{name_id}") if content else (StorageTier.NONE, "")
        at = self.tick()
        self.record(f.ContentKept(name_id, content, len(content), place, key, at - 1, at))

    def row(self, name_id: int) -> Name:
        found = self.names.name(name_id)
        assert found is not None
        return found

    def mint(self, name_id: int, decision: str = "", n: int = 0) -> str:
        """Settle as a version; its Document."""
        name = self.row(name_id)
        path = self.names.path(name_id) or ""
        known = self.names.document_with(name.ontology, name.sha256)
        source = known.source_id if known else f"{name.ontology}/{path}"
        doc_id = doc_id_of(source, name.sha256)
        decision = decision or ("alias" if known else "insert")
        n = n or self.names.lineage_for(name_id)[1]
        minted = (doc_id, name.sha256, name.size, f"key-{name.sha256}", source, path, decision, "why")
        self.record(f.VersionMinted(name_id, name.ontology, n, *minted, self.tick()))
        return doc_id

    def settle(self, name_id: int) -> None:
        name = self.row(name_id)
        self.record(f.Settled(name_id, name.place, name.key, "no version", self.tick(), name.sha256, "skip"))

    def document(self, name: str, content: str, parent: int = 0) -> tuple[int, str]:
        """A file that is read: (name id, doc_id)."""
        made = self.file(name, content, parent)
        doc_id = self.mint(made)
        self.read(doc_id)
        return made, doc_id

    def read(self, doc_id: str, *superseded: str, state: str = "done") -> None:
        self.record(f.DocumentRead(doc_id, state, f"r-{doc_id}", "d", f"c-{doc_id}", superseded, self.tick()))

    def fail(self, doc_id: str, state: str = "failed") -> None:
        self.record(f.DocumentFailed(doc_id, state, "because", self.tick()))

    def forget(self, doc_id: str) -> None:
        self.record(f.DocumentForgotten(doc_id, "orphans", "c", self.tick()))

    def move(self, name_id: int, name: str, parent: int = 0, replaces: int = 0) -> None:
        parent = parent or self.root
        self.record(f.Moved(name_id, self.owner(parent), parent, name, replaces, self.tick()))

    def remove(self, name_id: int) -> None:
        self.record(f.Removed(name_id, self.tick()))

    def state(self, doc_id: str) -> str:
        found = self.names.document(doc_id)
        assert found is not None
        return found.state

    def owed(self) -> list[tuple[str, str]]:
        return [(job.kind, job.doc_id) for job in self.catalog.jobs.all()]
