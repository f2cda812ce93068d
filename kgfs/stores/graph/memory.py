"""The graph in plain Python: no index, no increment. Everything is worked out anew from the shown documents at each
commit, so it is slow and easily right; tests hold the other implementations against it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from kgfs.domain import RELATIONSHIP_TYPES, Mention, normalise_label
from kgfs.errors import BadInputError, StoreError
from kgfs.render.concept import SHOWN_EVIDENCE, SHOWN_RELATED, ConceptPage, EvidenceLine, RelatedLine, render
from kgfs.render.summary import summarise, surface_forms
from kgfs.stores.graph.contract import (
    EVERYTHING,
    Batch,
    Change,
    Concept,
    ConceptRow,
    DocumentRow,
    Fault,
    Graph,
    InstanceRow,
    Lag,
    Mark,
    Publication,
    Redaction,
    Related,
    RelationshipRow,
    Said,
    Scope,
    SourceRow,
)
from kgfs.stores.graph.hiding import hidden_name, is_hidden
from kgfs.stores.graph.memory_adopting import joined
from kgfs.stores.graph.memory_forgetting import without
from kgfs.stores.graph.memory_merging import saying
from kgfs.stores.graph.memory_view import Edition, View, compared, ends, words_of
from kgfs.stores.graph.merging import check
from kgfs.stores.graph.sampling import draw


class MemoryGraph:
    """See the module. One process; any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._clears = 0
        self._reset()
        self._seen = (0, 0)

    def _reset(self) -> None:
        self._view = View()
        self._staged: dict[tuple[str, str], Edition] = {}
        self._commits: dict[str, int] = {}
        self._epoch = 0
        self._feed: list[Change] = []
        self._feed_above = 0
        self._names: dict[tuple[str, str], str] = {}
        self._rows: dict[str, tuple[str, str]] = {}
        self._norms: dict[str, str] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self._last_n: dict[str, int] = {}
        self._changed_at: dict[str, int] = {}

    # ------------------------------------------------------------------------------------------- writing

    def stage(self, commit_id: str, document: str, batch: Batch) -> None:
        with self._lock:
            if commit_id in self._commits:
                return
            edition = self._staged.setdefault((commit_id, document), Edition())
            edition.sources |= {row.chunk_index: row for row in batch.sources}
            edition.instances |= {(row.owner, row.n): row for row in batch.instances}

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
        self, commit_id: str, said: Sequence[Said], at: int, marks: Sequence[Mark] = (), unmarked: Sequence[Mark] = ()
    ) -> int:
        with self._lock:
            if commit_id in self._commits:
                return self._commits[commit_id]
            editions = saying(self._view.editions, said)
            changed = {doc_id for doc_id, edition in editions.items() if edition is not self._view.editions[doc_id]}
            for one in said:
                if one.doc_id in self._view.editions:
                    check(one)
                    self._check_names(one.concepts)
            for doc_id in changed:
                others = (edition for other, edition in editions.items() if other != doc_id)
                taken = {key for edition in others for key in edition.instances}
                if clash := taken & editions[doc_id].instances.keys():
                    raise StoreError(f"Evidence numbers belong to another document's quote: {sorted(clash)}.")
            for one in said:
                if one.doc_id in self._view.editions:
                    self._meet(one.concepts)
                    for row in one.instances:
                        self._last_n[row.owner] = max(self._last_n.get(row.owner, 0), row.n)
            gone = {(mark.mark, mark.concept_id) for mark in unmarked}
            self._marks = {key: mark for key, mark in self._marks.items() if key not in gone}
            self._marks |= {(mark.mark, mark.concept_id): mark for mark in marks}
            return self._commit(commit_id, editions, at)

    def redact(self, concepts: Sequence[str], relationships: Sequence[RelationshipRow]) -> Redaction:
        with self._lock:
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
            self._view = joined(self._view, built._view, ontology) if ontology else built._view
            self._staged, self._commits, self._epoch = {}, commits if ontology else built._commits, epoch
            self._feed, self._feed_above = [], epoch
            self._names, self._rows, self._norms, self._last_n = names, rows, norms, last_n
            self._changed_at = {**changed_at, **built._changed_at}
            self._clears += 1
            return epoch

    # --------------------------------------------------------------------------------- working it all out

    def _commit(self, commit_id: str, editions: dict[str, Edition], at: int) -> int:
        self._epoch += 1
        before, after = self._view, self._work_out(editions, at)
        self._view = after
        for one, other in ((before.editions, editions), (editions, before.editions)):
            for edition in (edition for doc_id, edition in one.items() if other.get(doc_id) is not edition):
                ontology = edition.told.document.ontology
                self._changed_at[ontology] = max(at, self._changed_at.get(ontology, 0))
        self._feed += self._differences(before, after)
        self._commits[commit_id] = self._epoch
        return self._epoch

    def _work_out(self, editions: dict[str, Edition], at: int) -> View:
        view = View(editions=editions)
        for edition in editions.values():
            view.instances |= edition.instances
            for told in edition.told.concepts:
                view.mentions.setdefault(told.concept_id, []).append(told.mention)
        for edition in editions.values():
            for row in edition.told.relationships:
                evidence = view.evidence(row.relationship_id)
                if evidence:
                    known = self._view.relationships.get(row.relationship_id)
                    same = known and evidence == self._view.evidence(row.relationship_id)
                    view.relationships[row.relationship_id] = (row, known[1] if known and same else at)
        for concept_id, mentions in view.mentions.items():
            ontology, name = self._rows[concept_id]
            summary = summarise(mentions)
            view.concepts[concept_id] = Concept(
                concept_id=concept_id,
                ontology=ontology,
                norm=self._norms[concept_id],
                name=name,
                label=summary.label,
                aliases=summary.aliases,
                description=summary.description,
                kind=summary.kind,
                evidence=len(view.evidence(concept_id)),
                related=sum(
                    (r.subject == concept_id) + (r.object == concept_id) for r, _ in view.relationships.values()
                ),
                size=0,
                mtime=at,
            )
        for concept_id, concept in view.concepts.items():
            page = view.pages[concept_id] = self._page(view, concept)
            content = render(page)
            former = self._view.pages.get(concept_id)
            same_page = former is not None and render(former) == content
            mtime = self._view.concepts[concept_id].mtime if same_page else at
            view.concepts[concept_id] = replace(concept, size=len(content), mtime=mtime)
        return view

    def _page(self, view: View, concept: Concept) -> ConceptPage:
        evidence = view.evidence(concept.concept_id)
        return ConceptPage(
            concept_id=concept.concept_id,
            ontology=concept.ontology,
            label=concept.label,
            aliases=concept.aliases,
            kind=concept.kind,
            description=concept.description,
            documents=len({mention.doc_id for mention in view.mentions[concept.concept_id]}),
            evidence_count=concept.evidence,
            related_count=concept.related,
            evidence=tuple(
                EvidenceLine(
                    row.n, row.quote, view.editions[row.doc_id].told.document.source_title, row.line_start, row.line_end
                )
                for row in evidence[:SHOWN_EVIDENCE]
            ),
            related=tuple(
                RelatedLine(row.type, row.name, row.label, row.confidence)
                for row in view.related(concept.concept_id)[:SHOWN_RELATED]
            ),
        )

    def _differences(self, before: View, after: View) -> list[Change]:
        found: list[Change] = []

        def tell(what: str, kind: str, ontology: str, owner: str, name: str) -> None:
            found.append(Change(self._epoch, what, kind, ontology, owner, name))

        for what, key in compared(before.editions, after.editions):
            ontology = (after.editions.get(key) or before.editions[key]).told.document.ontology
            tell(what, "document", ontology, ontology, key)
        moved: set[str] = set()
        for what, (owner, n) in compared(before.instances, after.instances):
            moved.add(owner)
            doc_id = (after.instances.get((owner, n)) or before.instances[owner, n]).doc_id
            edition = after.editions.get(doc_id) or before.editions[doc_id]
            tell(what, "evidence", edition.told.document.ontology, owner, str(n))
        for what, concept_id in compared(
            {key: render(page) for key, page in before.pages.items()},
            {key: render(page) for key, page in after.pages.items()},
        ):
            ontology, name = self._rows[concept_id]
            tell(what, "concept", ontology, ontology, name)
        ends_before, ends_after = ends(before), ends(after)
        for end in ends_before | ends_after:
            what = (
                "changed" if end in ends_before and end in ends_after else "added" if end in ends_after else "removed"
            )
            concept, type_, name, relationship_id, _ = end
            if relationship_id in moved:
                tell(what, "related", self._rows[concept][0], concept, f"{type_}/{name}")
        return found

    # ------------------------------------------------------------------------------------------- reading

    def refresh(self) -> None:
        """Reads see the newest commit anyway."""

    def lag(self) -> Lag | None:
        return None

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

    def documents(self, ontology: str, after: str = "", limit: int = 1000) -> list[DocumentRow]:
        rows = [edition.told.document for _, edition in sorted(self._view.editions.items())]
        return [row for row in rows if row.ontology == ontology and row.doc_id > after][:limit]

    def source(self, doc_id: str, chunk_index: int) -> SourceRow | None:
        edition = self._view.editions.get(doc_id)
        return edition.sources.get(chunk_index) if edition else None

    def sources(self, doc_id: str, after: int = -1, limit: int = 1000) -> list[SourceRow]:
        edition = self._view.editions.get(doc_id)
        return [row for index, row in sorted(edition.sources.items()) if index > after][:limit] if edition else []

    def source_by_chunk_id(self, chunk_id: str) -> SourceRow | None:
        found = [row for row in self._sources() if row.chunk_id == chunk_id]
        return min(found, key=lambda row: (row.doc_id, row.chunk_index), default=None)

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

    def concept_names(self, ontology: str, after: str = "", limit: int = 1000) -> list[tuple[str, str, int]]:
        found = [c for c in self._view.concepts.values() if c.ontology == ontology and c.concept_id > after]
        return [(c.name, c.concept_id, c.mtime) for c in sorted(found, key=lambda c: c.concept_id)[:limit]]

    def concept_listed(self, ontology: str, name: str) -> tuple[str, int] | None:
        found = self.concept_named(ontology, name)
        return (found.concept_id, found.mtime) if found else None

    def concepts_of(self, doc_id: str) -> list[Concept]:
        edition = self._view.editions.get(doc_id)
        ids = {concept.concept_id for concept in edition.told.concepts} if edition else set()
        return sorted((self._view.concepts[concept_id] for concept_id in ids), key=lambda c: c.name)

    def documents_of(self, concept_id: str) -> list[str]:
        mentions = self._view.mentions.get(concept_id, [])
        return [doc_id for _, doc_id in sorted({(mention.deposit, mention.doc_id) for mention in mentions})]

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
        best: dict[str, tuple[int, int, str]] = {}
        for concept in self._view.concepts.values():
            if concept.ontology != ontology:
                continue
            mentions = self._view.mentions[concept.concept_id]
            founded = min(mention.deposit for mention in mentions)
            ranked = [(0, concept.norm), (1, normalise_label(concept.label))]
            ranked += [(2, normalise_label(form)) for form in surface_forms(mentions)]
            said = {
                normalise_label(form) for m in self._in_scope(concept.concept_id, scope) for form in (m.label, *m.forms)
            }
            for rank, form in ranked:
                if scope != EVERYTHING and form not in said:
                    continue
                claim = (rank, founded, concept.concept_id)
                best[form] = min(best.get(form, claim), claim)
        return {norm: best[norm][2] for norm in norms if norm in best}

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        return self._told_marks(lambda mark: mark.mark in marks)

    def marks_of(self, concept_id: str) -> list[Mark]:
        return self._told_marks(lambda mark: mark.concept_id == concept_id)

    def _told_marks(self, wanted: Callable[[Mark], bool]) -> list[Mark]:
        found = [mark for _, mark in sorted(self._marks.items()) if wanted(mark)]
        names = [self._rows.get(mark.concept_id, ("", ""))[1] for mark in found]
        return [replace(m, name="" if is_hidden(name) else name) for m, name in zip(found, names, strict=True)]

    def next_n(self, owner: str) -> int:
        return self._last_n.get(owner, 0) + 1

    def name_taken(self, ontology: str, name: str) -> str | None:
        return self._names.get((ontology, name)) or self._names.get((ontology, hidden_name(ontology, name)))

    def _concepts_in(self, ontology: str, scope: Scope) -> list[Concept]:
        found = [concept for concept in self._view.concepts.values() if concept.ontology == ontology]
        return [concept for concept in found if self._in_scope(concept.concept_id, scope)]

    def popular(self, ontology: str, limit: int, scope: Scope = EVERYTHING) -> list[Concept]:
        found = self._concepts_in(ontology, scope)
        if scope.since:
            weights = self._weights(ontology, scope)
            return sorted(found, key=lambda c: (-weights[c.concept_id], c.concept_id))[:limit]
        return sorted(found, key=lambda c: (-(c.related + c.evidence), c.concept_id))[:limit]

    def _weights(self, ontology: str, scope: Scope) -> Counter[str]:
        """Relationships and evidence by concept, as the documents in the scope say."""
        weights: Counter[str] = Counter()
        relationships: dict[str, RelationshipRow] = {}
        for doc_id, edition in self._view.editions.items():
            document = edition.told.document
            if document.ontology != ontology or document.deposit < scope.since or doc_id == scope.but:
                continue
            weights.update(row.owner for row in edition.instances.values() if row.owner_kind == "concept")
            said = {row.owner for row in edition.instances.values() if row.owner_kind == "relationship"}
            relationships |= {
                row.relationship_id: row for row in edition.told.relationships if row.relationship_id in said
            }
        for row in relationships.values():
            weights.update((row.subject, row.object))
        return weights

    def sample(self, ontology: str, limit: int, seed: int, scope: Scope = EVERYTHING) -> list[Concept]:
        ids = sorted(concept.concept_id for concept in self._concepts_in(ontology, scope))
        drawn = draw(
            f"{ontology}:{seed}",
            limit,
            len(ids),
            lambda at, wanted: [i for i in ids if i >= at][:wanted],
            lambda: ids,
        )
        return [self._view.concepts[concept_id] for concept_id in drawn]

    def close(self) -> None:
        """Nothing is held."""
