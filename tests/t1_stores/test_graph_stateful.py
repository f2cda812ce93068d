"""Any history of publications, replacements and forgettings: the increments of the file equal the working-out anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kgfs.render.concept import render
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentContent, Mark
from tests.fakes.graph import MemoryGraph
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, name_taken, next_n, prepared

OTHER = "ba9876543210"
DOC_IDS = [letter * 16 for letter in "abcde"]
LABELS = ["Zen", "zen", "Koan", "Koans", "Chan", "Way"]

told = st.builds(
    Told,
    label=st.sampled_from(LABELS),
    quotes=st.integers(0, 3),
    forms=st.lists(st.sampled_from([*LABELS, "the way", "it"]), max_size=2).map(tuple),
    definition=st.sampled_from(["", "a school", "a riddle"]),
    score=st.sampled_from([0.1, 0.3, 0.5, 0.9]),
    kind=st.sampled_from(["term", "person"]),
)


@st.composite
def documents(draw: st.DrawFn, doc_id: str) -> Doc:
    concepts = draw(st.lists(told, max_size=4, unique_by=lambda t: cid(t.label)))
    ends = [t.label for t in concepts]
    stated = []
    if len(ends) > 1:
        pair = st.lists(st.sampled_from(ends), min_size=2, max_size=2, unique=True)
        types = st.sampled_from(["USES", "IS_A", "CONTRASTS_WITH", "RELATED_TO", "RELATED_TO"])
        triples = draw(st.lists(st.tuples(pair, types, st.sampled_from([0.4, 0.7])), max_size=3))
        stated = [(one, type_, other, confidence) for (one, other), type_, confidence in triples]
    return Doc(
        doc_id,
        concepts,
        stated,
        draw(st.lists(st.sampled_from(["zen text", "koan text", "way text"]), min_size=1, max_size=2)),
        {0: "gated"} if draw(st.booleans()) else {},
        draw(st.integers(1, 4)),
        draw(st.sampled_from(["", "Title"])),
        ONTOLOGY if doc_id != DOC_IDS[-1] else OTHER,
    )


class Histories(RuleBasedStateMachine):
    def made(self) -> Graph:
        return Graph()

    @initialize()
    def start(self) -> None:
        self.file = self.made()
        self.oracle: Graph = MemoryGraph()
        self.commits = 0

    def teardown(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    @property
    def both(self) -> tuple[Graph, Graph]:
        return self.file, self.oracle

    def commit(self) -> tuple[str, int]:
        self.commits += 1
        return f"commit {self.commits}", 1000 * self.commits

    @rule(data=st.data(), doc_id=st.sampled_from(DOC_IDS), leaving=st.lists(st.sampled_from(DOC_IDS), max_size=2))
    def publish(self, data: st.DataObject, doc_id: str, leaving: list[str]) -> None:
        doc = data.draw(documents(doc_id))
        commit_id, at = self.commit()
        prepared_ones = [prepared(graph, doc, commit_id, leaving, at) for graph in self.both]
        assert prepared_ones[0] == prepared_ones[1]
        batch, publication = prepared_ones[0]
        for graph in self.both:
            graph.stage(commit_id, doc_id, batch)
        assert self.file.staged() == self.oracle.staged()
        assert self.file.publish(publication) == self.oracle.publish(publication)

    @rule(doc_ids=st.lists(st.sampled_from(DOC_IDS), max_size=2))
    def forget(self, doc_ids: list[str]) -> None:
        commit_id, at = self.commit()
        assert self.file.forget(commit_id, doc_ids, at) == self.oracle.forget(commit_id, doc_ids, at)

    @rule(doc_ids=st.lists(st.sampled_from(DOC_IDS), max_size=2), labels=st.lists(st.sampled_from(LABELS), max_size=2))
    def strike(self, doc_ids: list[str], labels: list[str]) -> None:
        """Forget with cascade ``all``."""
        commit_id, at = self.commit()
        concepts = [cid(label) for label in labels]
        outcomes = [graph.forget(commit_id, doc_ids, at, concepts) for graph in self.both]
        assert outcomes[0] == outcomes[1]
        assert not any(self.file.concept(concept) for concept in concepts)

    @rule(data=st.data(), doc_id=st.sampled_from(DOC_IDS), labels=st.lists(st.sampled_from(LABELS), max_size=2))
    def reassign(self, data: st.DataObject, doc_id: str, labels: list[str]) -> None:
        """The document says something else from now on, or nothing if it is not shown; and persons said something."""
        doc, shown = data.draw(documents(doc_id)), self.oracle.document(doc_id)
        doc = replace(doc, deposit=shown.deposit if shown else doc.deposit)  # which no word changes
        commit_id, at = self.commit()
        batch, publication = prepared(self.file, doc, commit_id, (), at)
        reported = [DocumentContent(doc_id, publication.concepts, publication.relationships, batch.rows["instance"])]
        marks = [Mark(cid(one), ONTOLOGY, cid(other), one < other) for one in labels for other in labels]
        unmarked = data.draw(st.lists(st.sampled_from(marks), max_size=1)) if marks else []
        outcomes = [graph.reassign(commit_id, reported, at, marks, unmarked) for graph in self.both]
        assert outcomes[0] == outcomes[1]

    @rule(labels=st.lists(st.sampled_from(LABELS), max_size=3))
    def redact(self, labels: list[str]) -> None:
        concepts = [cid(label) for label in labels]
        redactions = [graph.redact(concepts, []) for graph in self.both]
        assert redactions[0] == redactions[1]
        for graph in self.both:
            graph.impose(redactions[0])

    @rule(data=st.data(), doc_id=st.sampled_from(DOC_IDS), again=st.booleans())
    def abandon(self, data: st.DataObject, doc_id: str, again: bool) -> None:
        commit_id, at = self.commit()
        batch, _ = prepared(self.oracle, data.draw(documents(doc_id)), commit_id, (), at)
        for graph in self.both:
            graph.stage(commit_id, doc_id, batch)
            graph.abandon(commit_id)
            if again:
                graph.stage(commit_id, doc_id, batch)
        assert self.file.staged() == self.oracle.staged()

    @rule()
    def clear(self) -> None:
        for graph in self.both:
            graph.clear()

    @invariant()
    def answers_are_equal(self) -> None:
        if not hasattr(self, "file"):
            return
        assert seen(self.file) == seen(self.oracle)
        for concept in self.file.concepts(ONTOLOGY):
            page = self.file.page(concept.concept_id)
            assert page is not None
            assert len(render(page)) == concept.size


def seen(graph: Graph) -> dict[str, Any]:
    """All that a reader can ask."""
    concepts = [concept for ontology in (ONTOLOGY, OTHER) for concept in graph.concepts(ontology)]
    ids = [concept.concept_id for concept in concepts]
    owners = ids + [related.relationship_id for id_ in ids for related in graph.related(id_)]
    norms = sorted({label.casefold() for label in [*LABELS, "the way", "it"]})
    return {
        "epoch": (graph.epoch(), graph.changed()),
        "changed at": [graph.changed_at(ontology) for ontology in (ONTOLOGY, OTHER)],
        "counts": [dict(graph.counts(ontology)) for ontology in ("", ONTOLOGY, OTHER)],
        "documents": [
            (graph.documents(ontology), [graph.document(d) for d in DOC_IDS]) for ontology in (ONTOLOGY, OTHER)
        ],
        "sources": [(graph.sources(d), graph.source(d, 0)) for d in DOC_IDS],
        "by chunk id": graph.chunk_ids_held([row.chunk_id for d in DOC_IDS for row in graph.sources(d)]),
        "concepts": concepts,
        "pages": [graph.page(id_) for id_ in ids],
        "named": [graph.concept_named(concept.ontology, concept.name) for concept in concepts],
        "of": [(graph.concepts_of(d), graph.instances_of(d)) for d in DOC_IDS],
        "documents of": graph.documents_of(ids),
        "instances": [(owner, graph.instances(owner), graph.instance(owner, 2)) for owner in owners],
        "related": [(graph.related(id_), graph.related_types(id_), graph.related(id_, "USES")) for id_ in ids],
        "text": [
            {(row.doc_id, row.chunk_index) for row, _ in graph.find_text(word, ONTOLOGY)} for word in ("zen", "text")
        ],
        "match": [graph.match(ontology, norms) for ontology in (ONTOLOGY, OTHER)],
        "marks": (graph.marked([cid(label) for label in LABELS]), [graph.marks_of(cid(label)) for label in LABELS]),
        "next": [next_n(graph, owner) for owner in (*owners, *map(cid, LABELS))],
        "names": [name_taken(graph, ONTOLOGY, name) for name in ("zen", "koan", "koans", "chan", "way")],
        "popular": graph.popular(ONTOLOGY, 3),
        "sample": graph.sample(ONTOLOGY, 2, 5),
        "changes": sorted(map(repr, graph.changes(0) or [])),
    }


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=40, stateful_step_count=10, deadline=None)
