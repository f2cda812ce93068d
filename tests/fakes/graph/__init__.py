"""The graph in plain Python: no index, no increment. Everything is worked out anew from the shown documents at each
commit, so it is slow and easily right; tests hold the other implementations against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgfs.domain.knowledge import RELATIONSHIP_TYPES
from kgfs.errors import BadInputError, StoreError
from kgfs.stores.graph.hiding import hidden_name, is_hidden
from kgfs.stores.graph.merging import check
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import (
    Batch,
    ConceptRow,
    DocumentContent,
    EarlierText,
    Mark,
    Publication,
    Redaction,
    RelationshipRow,
)
from tests.fakes.graph.adopting import joined
from tests.fakes.graph.forgetting import without
from tests.fakes.graph.merging import saying
from tests.fakes.graph.reading import MemoryReads
from tests.fakes.graph.view import Edition
from tests.fakes.graph.working_out import differences, work_out


class MemoryGraph(MemoryReads):
    """See the module. One process; any number of threads."""

    def _reset(self) -> None:
        super()._reset()
        self._staged: dict[tuple[str, str], Edition] = {}

    def stage(self, commit_id: str, document: str, batch: Batch) -> None:
        with self._lock:
            if commit_id in self._commits:
                return
            edition = self._staged.setdefault((commit_id, document), Edition())
            edition.sources |= {row.chunk_index: row for row in batch.sources}
            edition.instances |= {(row.owner, row.n): row for row in batch.rows.get("instance", ())}

    def publish(self, publication: Publication) -> int:
        with self._lock:
            if publication.commit_id in self._commits:
                return self._commits[publication.commit_id]
            doc_id = publication.document.doc_id
            edition = self._staged.get((publication.commit_id, doc_id), Edition())
            editions = {k: v for k, v in self._view.editions.items() if k not in (doc_id, *publication.supersedes)}
            self._check(publication, edition, editions)
            edition.publication = publication
            self._staged.pop((publication.commit_id, doc_id), None)
            self._meet(publication.concepts)
            for owner, n in edition.instances:
                self._last_n[owner] = max(self._last_n.get(owner, 0), n)
            return self._commit(publication.commit_id, {**editions, doc_id: edition}, publication.at)

    def _meet(self, concepts: Sequence[ConceptRow]) -> None:
        for concept in concepts:
            if concept.concept_id not in self._rows or is_hidden(self._rows[concept.concept_id][1]):
                self._rename(concept.concept_id, concept.ontology, concept.name)
            if concept.concept_id not in self._view.concepts:
                self._norms[concept.concept_id] = concept.norm

    def _check(self, publication: Publication, edition: Edition, others: Mapping[str, Edition]) -> None:
        mentioned = {concept.concept_id for concept in publication.concepts}
        owners = mentioned | {row.relationship_id for row in publication.relationships}
        for owner, n in edition.instances:
            if owner not in owners:
                raise BadInputError(f"Evidence was staged for {owner}, which the publication does not mention.")
            if any((owner, n) in other.instances for other in others.values()):
                raise StoreError(f"Evidence number {n} of {owner} belongs to another document's quote.")
        for row in publication.relationships:
            if not {row.subject, row.object} <= mentioned:
                raise BadInputError(f"Relationship {row.relationship_id} joins concepts not mentioned with it.")
            if row.type not in RELATIONSHIP_TYPES:
                raise BadInputError(f"'{row.type}' is no relationship type.")
        self._check_names(publication.concepts)

    def _check_names(self, concepts: Sequence[ConceptRow]) -> None:
        names = dict(self._names)
        for concept in concepts:
            known = concept.concept_id in self._rows or concept.concept_id in names.values()
            if not known and (concept.ontology, hidden_name(concept.ontology, concept.name)) in names:
                raise StoreError(f"The directory name '{concept.name}' was another concept's.")
            if (
                not known
                and names.setdefault((concept.ontology, concept.name), concept.concept_id) != concept.concept_id
            ):
                raise StoreError(f"The directory name '{concept.name}' is or was another concept's.")

    def abandon(self, commit_id: str) -> None:
        with self._lock:
            self._staged = {key: edition for key, edition in self._staged.items() if key[0] != commit_id}

    def forget(self, commit_id: str, doc_ids: Sequence[str], at: int, concepts: Sequence[str] = ()) -> int:
        with self._lock:
            if commit_id in self._commits:
                return self._commits[commit_id]
            left = {k: v for k, v in self._view.editions.items() if k not in doc_ids}
            return self._commit(commit_id, without(self._view, left, concepts), at)

    def reassign(
        self,
        commit_id: str,
        contents: Sequence[DocumentContent],
        at: int,
        marks: Sequence[Mark] = (),
        unmarked: Sequence[Mark] = (),
    ) -> int:
        with self._lock:
            if commit_id in self._commits:
                return self._commits[commit_id]
            editions = saying(self._view.editions, contents)
            changed = {doc_id for doc_id, edition in editions.items() if edition is not self._view.editions[doc_id]}
            for one in contents:
                if one.doc_id in self._view.editions:
                    check(one)
                    self._check_names(one.concepts)
            for doc_id in changed:
                others = (edition for other, edition in editions.items() if other != doc_id)
                taken = {key for edition in others for key in edition.instances}
                if clash := taken & editions[doc_id].instances.keys():
                    raise StoreError(f"Evidence numbers belong to another document's quote: {sorted(clash)}.")
            for one in contents:
                if one.doc_id in self._view.editions:
                    self._meet(one.concepts)
                    for row in one.instances:
                        self._last_n[row.owner] = max(self._last_n.get(row.owner, 0), row.n)
            gone = {(mark.mark, mark.concept_id) for mark in unmarked}
            self._marks = {key: mark for key, mark in self._marks.items() if key not in gone}
            self._marks |= {(mark.mark, mark.concept_id): mark for mark in marks}
            return self._commit(commit_id, editions, at)

    def redact(
        self, concepts: Sequence[str], relationships: Sequence[RelationshipRow], doc_ids: Sequence[str] = ()
    ) -> Redaction:
        with self._lock:
            for doc_id in doc_ids:
                self._earlier.pop(doc_id, None)
            known = {concept: self._rows[concept] for concept in sorted(set(concepts)) if concept in self._rows}
            dead = {concept: row for concept, row in known.items() if concept not in self._view.concepts}
            for concept, (ontology, name) in dead.items():
                self._rename(concept, ontology, hidden_name(ontology, name))
            living = {concept for concept in known if concept in self._view.concepts}
            shown = living | {related.concept_id for concept in living for related in self._view.related(concept)}
            self._feed, self._feed_above = [], self._epoch
            ontologies = sorted({ontology for ontology, _ in known.values()})
            return Redaction(
                names=tuple((concept, *self._rows[concept]) for concept in dead),
                numbers=tuple((concept, self._last_n.get(concept, 0)) for concept in known),
                relationships=tuple(
                    (
                        *(row.relationship_id, row.ontology, row.subject, row.type, row.object),
                        *(self._last_n.get(row.relationship_id, 0), self._joined_at(row.relationship_id)),
                    )
                    for row in relationships
                ),
                concept_times=tuple((concept, self._view.concepts[concept].mtime) for concept in sorted(shown)),
                changed_at=tuple((o, self._changed_at[o]) for o in ontologies if o in self._changed_at),
            )

    def _rename(self, concept: str, ontology: str, name: str) -> None:
        former = self._rows.get(concept)
        if former is not None:
            self._names.pop(former, None)
        self._rows[concept] = (ontology, name)
        self._names[ontology, name] = concept

    def _joined_at(self, relationship_id: str) -> int:
        known = self._view.relationships.get(relationship_id)
        return known[1] if known else 0

    def impose(self, redaction: Redaction) -> None:
        with self._lock:
            for concept, ontology, name in redaction.names:
                self._rename(concept, ontology, name)
            numbers = [*redaction.numbers, *((row[0], row[5]) for row in redaction.relationships)]
            for owner, n in numbers:
                self._last_n[owner] = max(self._last_n.get(owner, 0), n)
            for concept, mtime in redaction.concept_times:
                if concept in self._view.concepts:
                    self._view.concepts[concept] = replace(self._view.concepts[concept], mtime=mtime)
            for row in redaction.relationships:
                if row[0] in self._view.relationships:
                    self._view.relationships[row[0]] = (self._view.relationships[row[0]][0], row[6])
            for ontology, at in redaction.changed_at:
                self._changed_at[ontology] = max(at, self._changed_at.get(ontology, 0))

    def staged(self) -> list[str]:
        with self._lock:
            return sorted({commit_id for commit_id, _ in self._staged})

    def clear(self) -> None:
        with self._lock:
            self._reset()
            self._clears += 1

    def aside(self) -> MemoryGraph:
        return MemoryGraph()

    def adopt(self, built: Graph, ontology: str = "") -> int:
        assert isinstance(built, MemoryGraph)
        with self._lock:
            commits, epoch = {**self._commits, **built._commits}, max(self._epoch + 1, built._epoch)
            names = {key: name for key, name in self._names.items() if ontology and key[0] != ontology} | built._names
            rows = {key: row for key, row in self._rows.items() if ontology and row[0] != ontology} | built._rows
            norms = {key: norm for key, norm in self._norms.items() if key in rows} | built._norms
            last_n = {**(self._last_n if ontology else {}), **built._last_n}
            changed_at = {of: at for of, at in self._changed_at.items() if ontology and of != ontology}
            self._marks = {k: m for k, m in self._marks.items() if ontology and m.ontology != ontology} | built._marks
            if not ontology:
                self._followed = built._followed
            self._view = joined(self._view, built._view, ontology) if ontology else built._view
            self._staged, self._commits, self._epoch = {}, commits if ontology else built._commits, epoch
            self._feed, self._feed_above = [], epoch
            self._names, self._rows, self._norms, self._last_n = names, rows, norms, last_n
            self._changed_at = {**changed_at, **built._changed_at}
            self._clears += 1
            return epoch

    def _commit(self, commit_id: str, editions: dict[str, Edition], at: int) -> int:
        self._epoch += 1
        before, after = self._view, work_out(self._view, editions, at, self._rows, self._norms)
        self._view = after
        for doc_id in before.editions.keys() - editions.keys():
            row, sources = before.editions[doc_id].told.document, before.editions[doc_id].sources
            size = sources[max(sources)].byte_end if sources else 0
            self._earlier[doc_id] = EarlierText(row.reading, size, row.text_sha256 == row.content_hash)
        for one, other in ((before.editions, editions), (editions, before.editions)):
            for edition in (edition for doc_id, edition in one.items() if other.get(doc_id) is not edition):
                ontology = edition.told.document.ontology
                self._changed_at[ontology] = max(at, self._changed_at.get(ontology, 0))
        self._feed += differences(self._epoch, before, after, self._rows)
        self._commits[commit_id] = self._epoch
        return self._epoch

    def close(self) -> None:
        """Nothing is held."""
