"""Random lives of a catalog: what it answers follows from its names, versions and documents, and replaying is recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.domain.documents import Document, Name, State, StorageTier
from kgfs.stores.catalog.encoding import encode
from kgfs.stores.catalog.sqlite import Catalog
from tests.support.catalog_life import OPS, Life, tables

SETTLED = (State.KEPT, State.DONE, State.GATED, State.FAILED, State.UNSUPPORTED)
"""States of a document that a path has and that waits for nothing."""


class Worked:
    """The answers of a catalog, worked out by looking at everything, where the catalog keeps them with each fact."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog, self.names = catalog, catalog.names
        self.live = [*self._below([name for o in self.names.ontologies() if (name := self.names.name(o.root))])]
        self.documents = [one for o in self.names.ontologies() for one in self.names.documents(o.id)]
        self.jobs = {(job.kind, job.doc_id): job for job in catalog.jobs.all()}

    def _below(self, folders: list[Name]) -> Iterator[Name]:
        for name in folders:
            yield name
            yield from self._below(self.names.children(name.id))

    def held(self, doc_id: str) -> set[int]:
        return {name.id for name in self.live if doc_id and name.doc_id == doc_id}

    def shown(self, doc_id: str) -> bool:
        found = self.names.document(doc_id)
        return found is not None and found.commit_id != ""

    def stays(self, doc_id: str) -> bool:
        return self.names.tombstoned(doc_id) or any(doc_id in owed.doc_ids for owed in self.names.forgettings())

    def predecessors(self, document: Document) -> list[str]:
        """Earlier versions of its paths that the graph still shows though no path has them."""
        paths = [name for name in self.live if name.doc_id == document.doc_id]
        earlier = {version.doc_id for name in paths for version in self.names.versions(name.id)} - {"", document.doc_id}
        return sorted(
            doc_id
            for doc_id in earlier
            if self.shown(doc_id) and not self.held(doc_id) and not self.names.tombstoned(doc_id)
            if (found := self.names.document(doc_id)) and found.ontology == document.ontology
        )

    def check_names(self) -> None:
        for name in self.live:
            path = self.names.path(name.id)
            assert path is not None and self.names.resolve(name.ontology, path) == name
            if name.parent:
                assert self.names.child(name.parent, name.name) == name
            versions = self.names.versions(name.id)
            assert [version.n for version in versions] == [*range(1, len(versions) + 1)]
            documents = [version.doc_id for version in versions if version.doc_id]
            assert name.doc_id in ("", *documents[-1:])
        assert sorted(each.id for each in self.names.unsettled(quiet_before=1 << 62)) == sorted(
            each.id for each in self.live if not each.settled
        )
        for ontology in self.names.ontologies():
            files = [name for name in self.live if name.doc_id and name.ontology == ontology.id]
            here = [(name.doc_id, self.names.path(name.id), name.mtime) for name in files]
            assert sorted(self.names.placed(ontology.id)) == sorted(here)

    def check_documents(self) -> None:
        assert dict(self.names.counts()) == Counter(document.state for document in self.documents)
        for document in self.documents:
            doc_id = document.doc_id
            assert {name.id for name in self.names.names_of(doc_id)} == self.held(doc_id)
            assert self.names.predecessors(doc_id) == self.predecessors(document)
            read, forget = self.jobs.get(("read", doc_id)), self.jobs.get(("forget", doc_id))
            if read:
                assert document.state == (State.WORKING if read.state == "working" else State.QUEUED)
            elif self.held(doc_id):
                assert document.state in SETTLED
            elif self.shown(doc_id) and not forget and not self.stays(doc_id):
                assert document.state is State.STALE
            else:
                assert document.state in (State.TRASHED, State.KEPT)
            assert not (forget and self.held(doc_id))
            for lineage in self.names.lineages(doc_id):
                assert doc_id in {version.doc_id for version in self.names.history(lineage)}

    def check_originals(self) -> None:
        """What is promised is never on the list of originals that may be deleted."""
        promised = {key for key, _, _ in self.catalog.promised()}
        wanted = {version.key for name in self.live for version in self.names.versions(name.id)}
        wanted |= {name.key for name in self.live if name.place is StorageTier.GARAGE}
        wanted |= {gone.key for gone in self.names.trash()}
        assert wanted <= promised and all(self.catalog.promises(key) for key in promised)
        assert not promised & set(self.catalog.unheld())
        assert self.catalog.left_inbox() == []


def ledger(catalog: Catalog) -> Iterator[tuple[int, bytes]]:
    found = catalog.facts(0, 1 << 30)
    assert found is not None
    return iter([(seq, encode(fact)) for seq, fact in found])


STEPS = st.lists(
    st.tuples(st.sampled_from(OPS), st.integers(0, 11), st.integers(0, 11), st.integers(0, 3)), min_size=20, max_size=80
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_what_is_kept_with_each_fact_is_what_follows_from_all_and_replay_is_recording(
    steps: list[tuple[str, int, int, int]],
) -> None:
    sqlite, again = Catalog(None), Catalog(None)
    try:
        life = Life(sqlite)
        for step in steps:
            life.step(*step)
            worked = Worked(sqlite)
            worked.check_names()
            worked.check_documents()
            worked.check_originals()
        assert again.replay(ledger(sqlite)) == sqlite.seq()
        assert tables(again) == tables(sqlite)
    finally:
        sqlite.close()
        again.close()
