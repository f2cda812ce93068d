"""Any history of publications, replacements and forgettings: the graph is as one that is built anew."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kgfs.render.concept import render
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Batch, DocumentContent, Mark, Publication
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, name_taken, prepared

OTHER = "ba9876543210"
DOC_IDS = [letter * 16 for letter in "abcde"]
CLAIMS = [
    ("Acme grew by 5 % in 2024.", "It grew."),
    ("In 2024 Acme had growth.", "It grew."),
    ("!Acme fell.", "It fell."),
]
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
        draw(st.lists(st.sampled_from(CLAIMS), max_size=2, unique=True)),
    )


class Histories(RuleBasedStateMachine):
    """A graph, and beside it what its documents say now: a new graph that is told just that must answer the same."""

    @initialize()
    def start(self) -> None:
        self.graph = Graph()
        self.said: dict[str, tuple[Batch, Publication]] = {}
        self.marks: dict[tuple[str, str], Mark] = {}
        self.staged: set[str] = set()
        self.commits = 0

    def teardown(self) -> None:
        if hasattr(self, "graph"):
            self.graph.close()

    def commit(self) -> tuple[str, int]:
        self.commits += 1
        return f"commit {self.commits}", 1000 * self.commits

    @rule(data=st.data(), doc_id=st.sampled_from(DOC_IDS), leaving=st.lists(st.sampled_from(DOC_IDS), max_size=2))
    def publish(self, data: st.DataObject, doc_id: str, leaving: list[str]) -> None:
        commit_id, at = self.commit()
        batch, publication = prepared(self.graph, data.draw(documents(doc_id)), commit_id, leaving, at)
        self.graph.stage(commit_id, doc_id, batch)
        epoch = self.graph.publish(publication)
        assert self.graph.publish(publication) == self.graph.published(commit_id) == epoch == self.graph.epoch()
        for left in leaving:
            self.said.pop(left, None)
        self.said[doc_id] = (batch, publication)

    @rule(doc_ids=st.lists(st.sampled_from(DOC_IDS), max_size=2), labels=st.lists(st.sampled_from(LABELS), max_size=2))
    def forget(self, doc_ids: list[str], labels: list[str]) -> None:
        """Without labels with cascade ``orphans``, else ``all``."""
        commit_id, at = self.commit()
        concepts = {cid(label) for label in labels}
        assert self.graph.forget(commit_id, doc_ids, at, [*concepts]) == self.graph.epoch()
        assert not any(self.graph.concept(concept) for concept in concepts)
        for doc_id in doc_ids:
            self.said.pop(doc_id, None)
        self.said = {doc_id: without(concepts, *said) for doc_id, said in self.said.items()}

    @rule(data=st.data(), doc_id=st.sampled_from(DOC_IDS), labels=st.lists(st.sampled_from(LABELS), max_size=2))
    def reassign(self, data: st.DataObject, doc_id: str, labels: list[str]) -> None:
        """The document says something else from now on, or nothing if it is not shown; and persons said something."""
        doc, shown = data.draw(documents(doc_id)), self.graph.document(doc_id)
        doc = replace(doc, deposit=shown.deposit if shown else doc.deposit)  # which no word changes
        commit_id, at = self.commit()
        batch, publication = prepared(self.graph, doc, commit_id, (), at)
        reported = [DocumentContent(doc_id, publication.concepts, publication.relationships, batch.rows["instance"])]
        marks = [Mark(cid(one), ONTOLOGY, cid(other), one < other) for one in labels for other in labels]
        unmarked = data.draw(st.lists(st.sampled_from(marks), max_size=1)) if marks else []
        self.graph.reassign(commit_id, reported, at, marks, unmarked)
        for mark in unmarked:
            self.marks.pop((mark.mark, mark.concept_id), None)
        self.marks |= {(mark.mark, mark.concept_id): mark for mark in marks}
        if doc_id in self.said:
            before, published = self.said[doc_id]
            told = replace(published, concepts=publication.concepts, relationships=publication.relationships)
            said = {**batch.rows, "claim": before.rows.get("claim", [])}
            self.said[doc_id] = (replace(before, rows=said), told)

    @rule(labels=st.lists(st.sampled_from(LABELS), max_size=3))
    def redact(self, labels: list[str]) -> None:
        before = seen(self.graph)
        redaction = self.graph.redact([cid(label) for label in labels], [])
        self.graph.impose(redaction)
        assert seen(self.graph) == before, "nothing that is shown is redacted"

    @rule(data=st.data(), doc_id=st.sampled_from(DOC_IDS), again=st.booleans())
    def abandon(self, data: st.DataObject, doc_id: str, again: bool) -> None:
        commit_id, at = self.commit()
        batch, _ = prepared(self.graph, data.draw(documents(doc_id)), commit_id, (), at)
        self.graph.stage(commit_id, doc_id, batch)
        self.graph.abandon(commit_id)
        if again:
            self.graph.stage(commit_id, doc_id, batch)
            self.staged.add(commit_id)

    @rule()
    def clear(self) -> None:
        self.graph.clear()
        self.said, self.marks, self.staged = {}, {}, set()
        assert self.graph.epoch() == 0 and self.graph.changes(0) == []

    @invariant()
    def is_as_built_anew(self) -> None:
        if not hasattr(self, "graph"):
            return
        assert self.graph.faults() == []
        assert self.graph.staged() == sorted(self.staged)
        anew = Graph()
        try:
            for doc_id, (batch, publication) in sorted(self.said.items()):
                anew.stage(publication.commit_id, doc_id, batch)
                anew.publish(replace(publication, supersedes=()))
            anew.reassign("marks", [], 1, [*self.marks.values()])
            assert seen(self.graph) == seen(anew)
        finally:
            anew.close()
        for concept in self.graph.concepts(ONTOLOGY):
            page = self.graph.page(concept.concept_id)
            assert page is not None
            assert len(render(page)) == concept.size


def without(gone: set[str], batch: Batch, publication: Publication) -> tuple[Batch, Publication]:
    """Return what a document says when these concepts are struck out."""
    concepts = [row for row in publication.concepts if row.concept_id not in gone]
    relationships = [row for row in publication.relationships if not gone & {row.subject, row.object}]
    owners = {row.concept_id for row in concepts} | {row.relationship_id for row in relationships}
    instances = [row for row in batch.rows["instance"] if row.owner in owners]
    return replace(batch, rows={**batch.rows, "instance": instances}), replace(
        publication, concepts=concepts, relationships=relationships
    )


def seen(graph: Graph) -> dict[str, Any]:
    """All that a reader can ask, but for times and what counts the past: epochs and the numbers and names of the dead."""
    concepts = [concept for ontology in (ONTOLOGY, OTHER) for concept in graph.concepts(ontology)]
    ids = [concept.concept_id for concept in concepts]
    owners = ids + [related.relationship_id for id_ in ids for related in graph.related(id_)]
    norms = sorted({label.casefold() for label in [*LABELS, "the way", "it"]})
    found = {
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
        "marks": [
            [replace(mark, name="") for mark in marks]  # a mark shows the name of a concept that died, too
            for marks in (graph.marked([cid(one) for one in LABELS]), *(graph.marks_of(cid(one)) for one in LABELS))
        ],
        "names": [name_taken(graph, concept.ontology, concept.name) for concept in concepts],
        "claims": [
            (graph.claims.living(ontology, "metric"), graph.claims.counts(ontology), graph.claims.rejected(ontology))
            for ontology in (ONTOLOGY, OTHER)
        ],
        "claimed": [
            (graph.claims.of_document(d), [graph.claims.evidence(row.claim_id) for row in graph.claims.of_document(d)])
            for d in DOC_IDS
        ],
        "popular": graph.popular(ONTOLOGY, 3),
        "sample": graph.sample(ONTOLOGY, 2, 5),
    }
    return {name: timeless(value) for name, value in found.items()}


def timeless(value: Any) -> Any:
    """Return a value without the times in it."""
    if is_dataclass(value):
        return {field.name: timeless(getattr(value, field.name)) for field in fields(value) if field.name != "mtime"}
    if isinstance(value, list | tuple):
        return [timeless(each) for each in value]
    return value


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=30, stateful_step_count=10, deadline=None)
