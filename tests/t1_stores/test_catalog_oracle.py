"""Random lives of a catalog: SQLite against a model in plain dictionaries, and replayed against recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.stores.catalog.encoding import encode
from kgfs.stores.catalog.sqlite import Catalog
from tests.fakes.catalog import JournalModel
from tests.support.catalog_life import CONTENTS, OPS, Life, tables


def seen(catalog: Catalog) -> dict[str, Any]:
    """All that a catalog answers, as plain data."""
    names = catalog.names
    out: dict[str, Any] = {"ontologies": names.ontologies(), "counts": dict(names.counts()), "read": names.any_read()}
    todo = [ontology.root for ontology in names.ontologies()]
    doc_ids = set()
    out["searches"] = [names.saved_searches(ontology) for ontology in ("", "ontology-P", "ontology-Q")]
    out["questions"] = [names.saved_questions(ontology) for ontology in ("", "ontology-P", "ontology-Q")]
    for ontology in ("ontology-P", "ontology-Q"):
        out[ontology] = [names.documents(ontology), dict(names.counts(ontology)), names.newest(ontology)]
        doc_ids |= {document.doc_id for document in names.documents(ontology)}
        for content in CONTENTS:
            out[ontology, content] = names.document_with(ontology, content)
    while todo:
        name = names.name(todo.pop())
        assert name is not None
        path = names.path(name.id)
        out[f"name {name.id}"] = (name, path, names.versions(name.id))
        assert path is not None and names.resolve(name.ontology, path) == name
        todo.extend(child.id for child in names.children(name.id))
    for doc_id in doc_ids:
        out[doc_id] = (names.version_of(doc_id), names.names_of(doc_id), names.predecessors(doc_id))
    held = {
        (name.ontology, doc_id, names.path(name.id), name.mtime)
        for doc_id in doc_ids
        for name in names.names_of(doc_id)
    }
    assert {(one.id, *each) for one in names.ontologies() for each in names.placed(one.id)} == held
    for doc_id in doc_ids:
        concepts = [f"concept-{n}" for n in range(3)]
        out["forgotten", doc_id] = (
            names.tombstoned(doc_id),
            names.suppressed(concepts, doc_id),
            names.lineages(doc_id),
        )
    out["conflicts"] = [names.conflicts(), names.conflicts(2), names.conflict_count()]
    out["trash"] = [names.trash(), names.forgettings(), catalog.unheld()]
    assert names.forgettings_count() == len(names.forgettings())
    out["unheld"] = [catalog.unheld(catalog.unheld()[::2]), catalog.unheld(["sources/P/other.txt"]), catalog.unheld([])]
    out["promised"] = [list(catalog.promised()), catalog.left_inbox(), names.removed_ontologies()]
    out["unsettled"] = names.unsettled(quiet_before=1 << 62)
    out["jobs"] = [replace(job, lease_until=0) for job in catalog.jobs.all()]
    return out


def ledger(catalog: Catalog) -> Iterator[tuple[int, bytes]]:
    found = catalog.facts(0, 1 << 30)
    assert found is not None
    return iter([(seq, encode(fact)) for seq, fact in found])


STEPS = st.lists(
    st.tuples(st.sampled_from(OPS), st.integers(0, 11), st.integers(0, 11), st.integers(0, 3)), min_size=20, max_size=80
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_sqlite_agrees_with_the_model_and_replay_is_recording(steps: list[tuple[str, int, int, int]]) -> None:
    sqlite, model, again = Catalog(None), JournalModel(), Catalog(None)
    try:
        life = Life(sqlite, model)
        for step in steps:
            life.step(*step)
            assert seen(sqlite) == model.seen(CONTENTS), step
        assert again.replay(ledger(sqlite)) == sqlite.seq()
        assert tables(again) == tables(sqlite)
    finally:
        sqlite.close()
        again.close()
