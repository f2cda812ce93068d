"""What later matching must know of a person's word on concepts; see ``stores.graph.vocabulary.Mark``.

For each mark at most one concept is joined, and where one is kept apart another one is joined.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.domain.identity import concept_id_of
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.vocabulary import Concept

Moved = Sequence[tuple[str, str]]
"""(source_id of the document, normalised label) of mentions that go to another concept."""

Written = tuple[tuple[str, ...], tuple[str, ...]]
"""The marks that are set and those that go, as facts write them."""


def marks_of_merge(graph: Graph, ontology: str, kept: Concept, gone: Sequence[Concept], moved: Moved) -> Written:
    """What was said of a concept that goes is said of the one that stays; its labels are that one from now on, but those
    that mean another concept wherever nothing else was said."""
    ids = {kept.concept_id, *(concept.concept_id for concept in gone)}
    set_, dropped = _Marks(), _Marks()
    said = [mark for concept in gone for mark in graph.marks_of(concept.concept_id)]
    for mark in said:
        dropped.add(mark.mark, mark.concept_id, joined=mark.joined)
        if mark.joined or not any(m.joined and m.concept_id in ids for m in graph.marked([mark.mark])):
            set_.add(mark.mark, kept.concept_id, joined=mark.joined)
    here = {mark.mark for mark in said if mark.joined}
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
    """Of labels everywhere or, where documents were named, of those documents' mentions alone; where no label was named,
    of all labels that they will ever have."""
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
    """As facts write them; of two about one mark and concept a joined one stands."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], bool] = {}

    def add(self, mark: str, concept_id: str, *, joined: bool) -> None:
        self._said[mark, concept_id] = joined or self._said.get((mark, concept_id), False)

    def written(self) -> tuple[str, ...]:
        return tuple(f"{'+' if joined else '-'}{mark}={of}" for (mark, of), joined in sorted(self._said.items()))
