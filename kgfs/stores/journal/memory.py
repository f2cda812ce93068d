"""A journal in plain dictionaries: the fake that tests of other rooms may use, and the oracle of the SQLite one.

One process, any number of threads; nothing is durable.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterator, Mapping, Sequence

from kgfs.domain.documents import Place
from kgfs.errors import StoreError, UnsupportedError
from kgfs.stores.journal.checks import Before, check
from kgfs.stores.journal.contract_jobs import Jobs
from kgfs.stores.journal.contract_names import Names
from kgfs.stores.journal.encoding import decode, encode
from kgfs.stores.journal.facts import Fact
from kgfs.stores.journal.memory_fold import apply
from kgfs.stores.journal.memory_jobs import MemoryJobs
from kgfs.stores.journal.memory_names import MemoryNames
from kgfs.stores.journal.memory_tables import Tables
from kgfs.stores.journal.pending import Durable


class MemoryJournal:
    """The contract's ``Journal``."""

    def __init__(self) -> None:
        self.tables = Tables()
        self._lock = threading.RLock()
        self._shipped = 0
        self._commits = 0
        self._seen = 0
        self._names = MemoryNames(self)
        self._jobs = MemoryJobs(self)
        self._before = Before(self._names, lambda sha256: sha256 in self.tables.inbox)

    def writing(self) -> _Writing:
        return _Writing(self)

    @property
    def names(self) -> Names:
        return self._names

    @property
    def jobs(self) -> Jobs:
        return self._jobs

    def record(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "", synced: bool = True
    ) -> int:
        with self.writing() as tables:
            for sha256, body in (inbox or {}).items():
                tables.inbox.setdefault(sha256, body)
            for fact in facts:
                check(fact, self._before)
                apply(fact, tables, session)
            return len(tables.facts)

    def record_at_once(self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "") -> Durable:
        self.record(*facts, inbox=inbox, session=session)
        return Durable()

    def sync(self) -> None:
        return

    def inbox(self, sha256: str) -> bytes | None:
        return self.tables.inbox.get(sha256)

    def drop_inbox(self, sha256s: Sequence[str]) -> None:
        with self.writing() as tables:
            needed = {entry.name.sha256 for entry in tables.names.values() if entry.name.place is Place.INBOX}
            for sha256 in set(sha256s) - needed:
                tables.inbox.pop(sha256, None)

    def promised(self) -> Iterator[tuple[str, str, str]]:
        tables = self.tables
        found = {(version.key, version.sha256, version.doc_id) for version, _ in tables.versions.values()}
        names = [entry.name for entry in tables.names.values() if entry.name.place is Place.GARAGE]
        found |= {(name.key, name.sha256, name.doc_id) for name in names}
        found |= {(gone.key, gone.sha256, gone.doc_id) for gone in tables.trash.values()}
        return iter(sorted(found, key=lambda one: (one[0], one[2], one[1])))

    def promises(self, key: str) -> bool:
        return any(key == promised for promised, _, _ in self.promised())

    def left_inbox(self) -> list[str]:
        tables = self.tables
        needed = {entry.name.sha256 for entry in tables.names.values() if entry.name.place is Place.INBOX}
        return sorted(set(tables.inbox) - needed)

    def unheld(self, among: Sequence[str] | None = None) -> list[str]:
        tables = self.tables
        held = {version.key for version, _ in tables.versions.values()} | {gone.key for gone in tables.trash.values()}
        held |= {entry.name.key for entry in tables.names.values() if entry.name.place is Place.GARAGE}
        pending = {doc_id for owed in tables.forgettings.values() for doc_id in owed.doc_ids}
        held |= {
            document.key
            for doc_id, document in tables.documents.items()
            if tables.shown[doc_id] and (doc_id not in tables.tombstones or doc_id in pending)
        }
        noted = tables.unheld if among is None else tables.unheld.intersection(among)
        return sorted(noted - held)

    def drop_unheld(self, keys: Sequence[str]) -> None:
        with self.writing() as tables:
            tables.unheld -= set(keys)

    def scrub(self) -> None:
        """What is removed is gone."""

    def seq(self) -> int:
        return len(self.tables.facts)

    @property
    def commits(self) -> int:
        return self.seq()

    def facts(self, after: int, limit: int = 1000, *, confirmed: bool = False) -> list[tuple[int, Fact]] | None:
        if after > self.seq():
            return None
        return list(enumerate(self.tables.facts[after : after + limit], after + 1))

    def unshipped(self, limit: int = 1000) -> tuple[int, list[bytes]]:
        return self._shipped + 1, [encode(fact) for _, fact in self.facts(self._shipped, limit) or ()]

    def shipped(self, upto: int) -> None:
        with self._lock:
            self._shipped = max(self._shipped, min(upto, self.seq()))

    @property
    def sharing(self) -> bool:
        return False

    def share(self) -> None:
        raise UnsupportedError("A journal in memory is shared with nobody.")

    def elsewhere(self, after: int) -> frozenset[int]:
        return frozenset()

    def changed_elsewhere(self) -> int:
        return 0

    def follow(
        self, entries: Sequence[tuple[int, bytes]], kept: Container[str] = (), gone: Container[str] = ()
    ) -> list[str]:
        raise UnsupportedError("A journal in memory is shared with nobody.")

    def withdraw(self, fact: Fact) -> bool:
        raise UnsupportedError("A journal in memory is shared with nobody.")

    def replay(self, entries: Iterator[tuple[int, bytes]]) -> int:
        with self.writing() as tables:
            if tables.facts:
                raise StoreError("Only an empty journal can be filled from the ledger.")
            for seq, entry in entries:
                if seq != len(tables.facts) + 1:
                    raise StoreError(f"The ledger has no entry {len(tables.facts) + 1}.")
                apply(decode(entry), tables, "")
        self._shipped = self.seq()
        return self.seq()

    def changed(self) -> bool:
        with self._lock:
            before, self._seen = self._seen, self._commits
            return before != self._seen

    def close(self) -> None:
        """Nothing is held."""

    def begin(self) -> Tables:
        self._lock.acquire()
        return self.tables.copy()

    def end(self, before: Tables, *, failed: bool) -> None:
        if failed:
            self.tables = before
        else:
            self._commits += 1
        self._lock.release()


class _Writing:
    """All or none: the tables as they were come back when the block raises."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    def __enter__(self) -> Tables:
        self._before = self._journal.begin()
        return self._journal.tables

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._journal.end(self._before, failed=kind is not None)
