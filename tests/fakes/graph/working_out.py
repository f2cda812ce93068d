"""How the in-memory graph works out what readers see, and what its feed tells of a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kgfs.domain.knowledge import holds
from kgfs.render.concept import SHOWN_EVIDENCE, SHOWN_RELATED, ConceptPage, EvidenceLine, RelatedLine, render
from kgfs.render.summary import summarise
from kgfs.stores.graph.vocabulary import Change, Concept, InstanceRow
from tests.fakes.graph.view import Edition, View

Key = TypeVar("Key")


def work_out(
    before: View, editions: dict[str, Edition], at: int, rows: Mapping[str, tuple[str, str]], norms: Mapping[str, str]
) -> View:
    """What readers see of these editions from time ``at``; what is as it was ``before`` keeps its time. ``rows`` has the
    ontology and name of each concept, ``norms`` the form it was founded by."""
    view = View(editions=editions)
    for edition in editions.values():
        view.instances |= edition.instances
        for told in edition.told.concepts:
            view.mentions.setdefault(told.concept_id, []).append(told.mention)
    for edition in editions.values():
        for row in edition.told.relationships:
            evidence = view.evidence(row.relationship_id)
            different = len({reported.quote for reported in evidence})
            if evidence and holds(row.type, different, max(reported.confidence for reported in evidence)):
                known = before.relationships.get(row.relationship_id)
                same = known and evidence == before.evidence(row.relationship_id)
                view.relationships[row.relationship_id] = (row, known[1] if known and same else at)
    for concept_id, mentions in view.mentions.items():
        ontology, name = rows[concept_id]
        summary = summarise(mentions)
        view.concepts[concept_id] = Concept(
            concept_id=concept_id,
            ontology=ontology,
            norm=norms[concept_id],
            name=name,
            label=summary.label,
            aliases=summary.aliases,
            description=summary.description,
            kind=summary.kind,
            evidence=len(view.evidence(concept_id)),
            related=sum((r.subject == concept_id) + (r.object == concept_id) for r, _ in view.relationships.values()),
            size=0,
            mtime=at,
        )
    for concept_id, concept in view.concepts.items():
        page = view.pages[concept_id] = _page(view, concept)
        content = render(page)
        former = before.pages.get(concept_id)
        same_page = former is not None and render(former) == content
        mtime = before.concepts[concept_id].mtime if same_page else at
        view.concepts[concept_id] = replace(concept, size=len(content), mtime=mtime)
    return view


def _page(view: View, concept: Concept) -> ConceptPage:
    evidence = sorted(view.evidence(concept.concept_id), key=lambda row: (not row.defines, -row.confidence, row.n))
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
                row.n,
                row.quote,
                view.editions[row.doc_id].told.document.source_title,
                row.line_start,
                row.line_end,
                row.section_path,
            )
            for row in evidence[:SHOWN_EVIDENCE]
        ),
        related=tuple(
            RelatedLine(row.type, row.name, row.label, view.measure(row))
            for row in view.strongest(concept.concept_id)[:SHOWN_RELATED]
        ),
        telling=None if concept.description else _telling(view, evidence),
    )


def _telling(view: View, evidence: Sequence[InstanceRow]) -> EvidenceLine | None:
    saying = [row for row in evidence if row.confidence > 0]
    row = min(saying, key=lambda row: (not row.defines, -row.confidence, row.n), default=None)
    if row is None:
        return None
    title = view.editions[row.doc_id].told.document.source_title
    return EvidenceLine(row.n, row.quote, title, row.line_start, row.line_end, row.section_path)


def differences(epoch: int, before: View, after: View, rows: Mapping[str, tuple[str, str]]) -> list[Change]:
    """What the feed tells of the commit that made ``before`` to ``after``."""
    found: list[Change] = []

    def tell(what: str, kind: str, ontology: str, owner: str, name: str) -> None:
        found.append(Change(epoch, what, kind, ontology, owner, name))

    for what, key in _compared(before.editions, after.editions):
        ontology = (after.editions.get(key) or before.editions[key]).told.document.ontology
        tell(what, "document", ontology, ontology, key)
    for relationship_id in before.relationships.keys() ^ after.relationships.keys():
        row, _ = before.relationships.get(relationship_id) or after.relationships[relationship_id]
        if row.type == "RELATED_TO":
            for doc_id in {reported.doc_id for reported in after.evidence(relationship_id)}:
                if before.editions.get(doc_id) == after.editions[doc_id]:
                    tell("changed", "document", row.ontology, row.ontology, doc_id)
    moved: set[str] = set()
    for what, (owner, n) in _compared(before.instances, after.instances):
        moved.add(owner)
        doc_id = (after.instances.get((owner, n)) or before.instances[owner, n]).doc_id
        edition = after.editions.get(doc_id) or before.editions[doc_id]
        tell(what, "evidence", edition.told.document.ontology, owner, str(n))
    for what, concept_id in _compared(
        {key: render(page) for key, page in before.pages.items()},
        {key: render(page) for key, page in after.pages.items()},
    ):
        ontology, name = rows[concept_id]
        tell(what, "concept", ontology, ontology, name)
    ends_before, ends_after = _ends(before), _ends(after)
    for end in ends_before | ends_after:
        what = "changed" if end in ends_before and end in ends_after else "added" if end in ends_after else "removed"
        concept, type_, name, relationship_id, _ = end
        if relationship_id in moved:
            tell(what, "related", rows[concept][0], concept, f"{type_}/{name}")
    return found


def _ends(view: View) -> set[tuple[str, str, str, str, bool]]:
    return {(c, r.type, r.name, r.relationship_id, r.incoming) for c in view.concepts for r in view.related(c)}


def _compared(before: Mapping[Key, object], after: Mapping[Key, object]) -> list[tuple[str, Key]]:
    removed = [("removed", key) for key in before if key not in after]
    added = [("added", key) for key in after if key not in before]
    changed = [("changed", key) for key in after if key in before and after[key] != before[key]]
    return removed + added + changed
