"""What the in-memory graph answers: the contract's ``GraphReader``, by looking through all that is shown."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kgfs.domain.identity import norm_hash, normalise_label
from kgfs.domain.knowledge import Mention
from kgfs.render.concept import ConceptPage
from kgfs.render.summary import surface_forms
from kgfs.stores.graph.hiding import hidden_name, is_hidden
from kgfs.stores.graph.sampling import draw, stepwise
from kgfs.stores.graph.vocabulary import (
    EVERYTHING,
    Change,
    Concept,
    DocumentRow,
    EarlierText,
    Fault,
    InstanceRow,
    Mark,
    Related,
    RelationshipRow,
    Scope,
    SourceRow,
)
from tests.fakes.graph.view import View, words_of


class MemoryReads:
    """One process; any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._clears = 0
        self._reset()
        self._seen = (0, 0)

    def _reset(self) -> None:
        self._view = View()
        self._commits: dict[str, int] = {}
        self._epoch = 0
        self._feed: list[Change] = []
        self._feed_above = 0
        self._names: dict[tuple[str, str], str] = {}
        self._rows: dict[str, tuple[str, str]] = {}
        self._norms: dict[str, str] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self._earlier: dict[str, EarlierText] = {}
        self._last_n: dict[str, int] = {}
        self._changed_at: dict[str, int] = {}
        self._followed: int | None = None

    def epoch(self) -> int:
        return self._epoch

    def published(self, commit_id: str) -> int | None:
        return self._commits.get(commit_id)

    def faults(self) -> list[Fault]:
        return []  # all that is shown is worked out from the editions at each commit

    def changed(self) -> bool:
        with self._lock:
            state = (self._clears, self._epoch)
            moved, self._seen = state != self._seen, state
            return moved

    def changes(self, after: int, limit: int = 10000) -> list[Change] | None:
        with self._lock:
            if after > self._epoch or after < self._feed_above:
                return None
            found: list[Change] = []
            for epoch in range(after + 1, self._epoch + 1):
                more = [change for change in self._feed if change.epoch == epoch]
                if found and len(found) + len(more) > limit:
                    break
                found += more
            return found

    def counts(self, ontology: str = "") -> Mapping[str, int]:
        view = self._view
        documents = (
            self.documents(ontology, limit=1 << 60) if ontology else [e.told.document for e in view.editions.values()]
        )
        editions = [view.editions[document.doc_id] for document in documents]
        return {
            "documents": len(editions),
            "sources": sum(len(edition.sources) for edition in editions),
            "concepts": sum(ontology in ("", concept.ontology) for concept in view.concepts.values()),
            "relationships": sum(ontology in ("", row.ontology) for row, _ in view.relationships.values()),
            "instances": sum(len(edition.instances) for edition in editions),
        }

    def changed_at(self, ontology: str) -> int:
        return self._changed_at.get(ontology, 0)

    def document(self, doc_id: str) -> DocumentRow | None:
        edition = self._view.editions.get(doc_id)
        return edition.told.document if edition else None

    def earlier_text(self, doc_id: str) -> EarlierText | None:
        return self._earlier.get(doc_id)

    def documents(self, ontology: str, after: str = "", limit: int = 1000) -> list[DocumentRow]:
        rows = [edition.told.document for _, edition in sorted(self._view.editions.items())]
        return [row for row in rows if row.ontology == ontology and row.doc_id > after][:limit]

    def source(self, doc_id: str, chunk_index: int) -> SourceRow | None:
        edition = self._view.editions.get(doc_id)
        return edition.sources.get(chunk_index) if edition else None

    def sources(self, doc_id: str, after: int = -1, limit: int = 1000) -> list[SourceRow]:
        edition = self._view.editions.get(doc_id)
        return [row for index, row in sorted(edition.sources.items()) if index > after][:limit] if edition else []

    def chunk_ids_held(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        found = [row for row in self._sources() if row.chunk_id in chunk_ids]
        found.sort(key=lambda row: (row.doc_id, row.chunk_index), reverse=True)
        return {row.chunk_id: (row.doc_id, row.chunk_index) for row in found}

    def _sources(self, ontology: str = "") -> Iterable[SourceRow]:
        for edition in self._view.editions.values():
            if ontology in ("", edition.told.document.ontology):
                yield from edition.sources.values()

    def find_text(self, words: str, ontology: str = "", limit: int = 10) -> list[tuple[SourceRow, float]]:
        """The score is the number of occurrences: which Sources are found is held against the contract, not the score."""
        wanted = set(words_of(words))
        scored = [
            (row, float(sum(word in wanted for word in words_of(row.full_text))))
            for row in self._sources(ontology)
            if not row.gated
        ]
        found = [(row, score) for row, score in scored if score]
        return sorted(found, key=lambda hit: (-hit[1], hit[0].doc_id, hit[0].chunk_index))[:limit]

    def concept(self, concept_id: str) -> Concept | None:
        return self._view.concepts.get(concept_id)

    def concept_named(self, ontology: str, name: str) -> Concept | None:
        return self.concept(self._names.get((ontology, name), ""))

    def concepts(self, ontology: str, after: str = "", limit: int = 1000) -> list[Concept]:
        found = [c for c in self._view.concepts.values() if c.ontology == ontology and c.name > after]
        return sorted(found, key=lambda c: c.name)[:limit]

    def concepts_of(self, doc_id: str) -> list[Concept]:
        edition = self._view.editions.get(doc_id)
        ids = {concept.concept_id for concept in edition.told.concepts} if edition else set()
        return sorted((self._view.concepts[concept_id] for concept_id in ids), key=lambda c: c.name)

    def documents_of(self, concept_ids: Collection[str]) -> dict[str, list[str]]:
        mentions = {id_: self._view.mentions.get(id_, []) for id_ in concept_ids}
        return {
            id_: [doc_id for _, doc_id in sorted({(mention.deposit, mention.doc_id) for mention in some})]
            for id_, some in mentions.items()
        }

    def page(self, concept_id: str) -> ConceptPage | None:
        return self._view.pages.get(concept_id)

    def instance(self, owner: str, n: int) -> InstanceRow | None:
        return self._view.instances.get((owner, n))

    def instances(self, owner: str, after: int = 0, limit: int = 1000) -> list[InstanceRow]:
        return [row for row in self._view.evidence(owner) if row.n > after][:limit]

    def instances_of(self, doc_id: str) -> list[InstanceRow]:
        edition = self._view.editions.get(doc_id)
        rows = edition.instances.values() if edition else ()
        return sorted(rows, key=lambda row: (row.char_start, row.char_end, row.owner, row.n))

    def related_types(self, concept_id: str) -> list[str]:
        return sorted({related.type for related in self._view.related(concept_id)})

    def related(self, concept_id: str, type_: str = "", after: str = "", limit: int = 1000) -> list[Related]:
        after_type, _, after_name = (type_, "", after) if type_ else after.partition("/")
        found = [
            related
            for related in self._view.related(concept_id)
            if type_ in ("", related.type) and (related.type, related.name) > (after_type, after_name)
        ]
        keys = {(related.type, related.name) for related in found[:limit]}
        return [related for related in found if (related.type, related.name) in keys]

    # ------------------------------------------------------------------------------------- for matching

    def _in_scope(self, concept_id: str, scope: Scope) -> list[Mention]:
        mentions = self._view.mentions[concept_id]
        return [mention for mention in mentions if mention.deposit >= scope.since and mention.doc_id != scope.but]

    def match(self, ontology: str, norms: Sequence[str], scope: Scope = EVERYTHING) -> dict[str, str]:
        best: dict[str, tuple[int, int, str, str]] = {}
        for concept in self._view.concepts.values():
            if concept.ontology != ontology:
                continue
            mentions = self._view.mentions[concept.concept_id]
            founded = min(mention.deposit for mention in mentions)
            ranked = [(0, concept.norm), (1, normalise_label(concept.label))]
            ranked += [(2, normalise_label(form)) for form in surface_forms(mentions)]
            reported = {
                normalise_label(form) for m in self._in_scope(concept.concept_id, scope) for form in (m.label, *m.forms)
            }
            for rank, form in ranked:
                if scope != EVERYTHING and form not in reported:
                    continue
                claim = (rank, founded, norm_hash(concept.norm), concept.concept_id)
                best[form] = min(best.get(form, claim), claim)
        return {norm: best[norm][3] for norm in norms if norm in best}

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        return self._told_marks(lambda mark: mark.mark in marks)

    def marks_of(self, concept_id: str) -> list[Mark]:
        return self._told_marks(lambda mark: mark.concept_id == concept_id)

    def _told_marks(self, wanted: Callable[[Mark], bool]) -> list[Mark]:
        found = [mark for _, mark in sorted(self._marks.items()) if wanted(mark)]
        names = [self._rows.get(mark.concept_id, ("", ""))[1] for mark in found]
        return [replace(m, name="" if is_hidden(name) else name) for m, name in zip(found, names, strict=True)]

    def next_numbers(self, owners: Collection[str]) -> dict[str, int]:
        return {owner: self._last_n.get(owner, 0) + 1 for owner in owners}

    def names_taken(self, ontology: str, names: Collection[str]) -> dict[str, str]:
        holders = {
            n: self._names.get((ontology, n)) or self._names.get((ontology, hidden_name(ontology, n))) for n in names
        }
        return {name: holder for name, holder in holders.items() if holder}

    def _concepts_in(self, ontology: str, scope: Scope) -> list[Concept]:
        found = [concept for concept in self._view.concepts.values() if concept.ontology == ontology]
        return [concept for concept in found if self._in_scope(concept.concept_id, scope)]

    def popular(self, ontology: str, limit: int, scope: Scope = EVERYTHING) -> list[Concept]:
        found = self._concepts_in(ontology, scope)
        if scope.since:
            weights = self._weights(ontology, scope)
            return sorted(found, key=lambda c: (-weights[c.concept_id], norm_hash(c.norm), c.concept_id))[:limit]
        return sorted(found, key=lambda c: (-(c.related + c.evidence), norm_hash(c.norm), c.concept_id))[:limit]

    def _weights(self, ontology: str, scope: Scope) -> Counter[str]:
        """Relationships and evidence by concept, as the documents in the scope say."""
        weights: Counter[str] = Counter()
        relationships: dict[str, RelationshipRow] = {}
        for doc_id, edition in self._view.editions.items():
            document = edition.told.document
            if document.ontology != ontology or document.deposit < scope.since or doc_id == scope.but:
                continue
            weights.update(row.owner for row in edition.instances.values() if row.owner_kind == "concept")
            reported = {row.owner for row in edition.instances.values() if row.owner_kind == "relationship"}
            relationships |= {
                row.relationship_id: row for row in edition.told.relationships if row.relationship_id in reported
            }
        for row in relationships.values():
            weights.update((row.subject, row.object))
        return weights

    def sample(self, ontology: str, limit: int, seed: int, scope: Scope = EVERYTHING) -> list[Concept]:
        ids = sorted((norm_hash(concept.norm), concept.concept_id) for concept in self._concepts_in(ontology, scope))
        drawn = draw(
            seed,
            limit,
            len(ids),
            stepwise(lambda at, wanted: [id_ for hash_, id_ in ids if hash_ >= at][:wanted]),
            lambda: [id_ for _, id_ in ids],
        )
        return [self._view.concepts[concept_id] for concept_id in drawn]
