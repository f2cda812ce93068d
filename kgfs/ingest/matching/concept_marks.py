"""Marks that tell later matching what a person decided about concepts; see ``stores.graph.vocabulary.Mark``.

A mark is joined to at most one concept. Where a mark is kept apart from a concept, it is joined to another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.domain.identity import concept_id_of
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Concept

Moved = Sequence[tuple[str, str]]
"""(``source_id`` of the document, normalised label) of each mention that moves to another concept."""

Written = tuple[tuple[str, ...], tuple[str, ...]]
"""The marks to set and the marks to remove, encoded as in facts."""


def marks_of_merge(graph: Graph, ontology: str, kept: Concept, gone: Sequence[Concept], moved: Moved) -> Written:
    """Return the marks that a merge of the concepts ``gone`` into ``kept`` sets and removes.

    Marks of a concept that goes move to the one that stays. Every moved label is joined to the concept that stays,
    unless the label means another concept where no mark decides.
    """
    ids = {kept.concept_id, *(concept.concept_id for concept in gone)}
    set_, dropped = _Marks(), _Marks()
    former = [mark for concept in gone for mark in graph.marks_of(concept.concept_id)]
    for mark in former:
        dropped.add(mark.mark, mark.concept_id, joined=mark.joined)
        if mark.joined or not any(m.joined and m.concept_id in ids for m in graph.marked([mark.mark])):
            set_.add(mark.mark, kept.concept_id, joined=mark.joined)
    here = {mark.mark for mark in former if mark.joined}
    norms = {concept.norm for concept in gone}
    for source_id, norm in moved:
        dropped.add(concept_id_of(source_id, ""), kept.concept_id, joined=False)
        if concept_id_of(source_id, norm) not in here:
            norms.add(norm)
    means = graph.match(ontology, sorted(norms))
    for norm in norms:
        if means.get(norm, kept.concept_id) in ids:
            set_.add(concept_id_of(ontology, norm), kept.concept_id, joined=True)
    return set_.written(), dropped.written()


def marks_of_split(
    graph: Graph, ontology: str, concept_id: str, goal: str, moved: Moved, *, by_label: bool, by_document: bool
) -> Written:
    """Return the marks that a split of mentions from a concept sets and removes.

    The moved labels are joined to ``goal`` and kept apart from ``concept_id``: in the whole ontology or,
    ``by_document``, in the mentions of these documents only. Where documents but no labels were named, all labels
    that these documents will ever have are kept apart from ``concept_id``.
    """
    set_, dropped = _Marks(), _Marks()
    joined_here = {mark.mark for mark in graph.marks_of(concept_id) if mark.joined}
    chosen: set[str] = set()
    for source_id, norm in moved:
        own = concept_id_of(source_id, norm)
        chosen.add(own if by_document or own in joined_here else concept_id_of(ontology, norm))
        if by_document and not by_label:
            set_.add(concept_id_of(source_id, ""), concept_id, joined=False)
    for mark in chosen:
        for former in graph.marked([mark]):
            if former.joined and former.concept_id != goal:
                dropped.add(mark, former.concept_id, joined=True)
        set_.add(mark, goal, joined=True)
        set_.add(mark, concept_id, joined=False)
    return set_.written(), dropped.written()


class _Marks:
    """Marks as facts encode them. Of two entries for one mark and concept, a joined one wins."""

    def __init__(self) -> None:
        self._joined: dict[tuple[str, str], bool] = {}

    def add(self, mark: str, concept_id: str, *, joined: bool) -> None:
        self._joined[mark, concept_id] = joined or self._joined.get((mark, concept_id), False)

    def written(self) -> tuple[str, ...]:
        return tuple(f"{'+' if joined else '-'}{mark}={of}" for (mark, of), joined in sorted(self._joined.items()))
