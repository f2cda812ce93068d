"""Find the sentences that say what the subject of a question is: by what is known of concepts, by how sentences and sections begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgfs.domain.forms import form_key
from kgfs.knowledge.ask.gathering import Gathered
from kgfs.knowledge.ask.scoring import Candidate
from kgfs.knowledge.ask.subject import Subject, is_titled, says_what
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import InstanceRow

MOST = 4
"""The concepts of an ontology that a name is looked up for."""

BY_CONCEPT, BY_SENTENCE, BY_SECTION, BY_EVIDENCE = 4, 3, 2, 1
"""How well a sentence is known to say what the subject is: it defines the concept; it says "X is a …"; it begins the section, or
the document, that is named so; it is the best evidence of a concept without a definition, which is better than no answer."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The best evidence of a concept of the subject's name."""

    instance: InstanceRow
    subject: Subject


def evidence_of(graph: Graph, subjects: Sequence[Subject], ontologies: Sequence[str]) -> list[Evidence]:
    """Return the best evidence of each concept that has the name of a subject, and of each thing that the name is used for; of
    the first subject that any concept has."""
    for subject in subjects:
        found: list[Evidence] = []
        key = form_key(subject.norm)
        for ontology in ontologies:
            for concept_id in graph.joined.with_keys(ontology, {key}).get(key, ())[:MOST]:
                found += [Evidence(instance, subject) for instance in graph.definitions(concept_id)]
        if found:
            return found
    return []


def leads(gathered: Gathered, subjects: Sequence[Subject], evidence: Sequence[Evidence]) -> tuple[int, set[int]]:
    """Return how well any candidate is known to say what the subject is, and the numbers of those known so well; 0 and none."""
    found: dict[int, int] = {}
    for at, rank in _ranks(gathered, subjects, evidence):
        found[at] = max(rank, found.get(at, 0))
    best = max(found.values(), default=0)
    return best, {at for at, rank in found.items() if rank == best}


def _ranks(gathered: Gathered, subjects: Sequence[Subject], evidence: Sequence[Evidence]) -> Iterator[tuple[int, int]]:
    begun: set[int] = set()
    entered: set[int] = set()
    for at, (one, position) in enumerate(zip(gathered.candidates, gathered.positions, strict=True)):
        opens = one.section not in begun and one.kind != "meta"
        titles = position.section_path[-1:]
        if opens and one.document not in entered:
            titles = (*titles, position.document.source_title, position.document.original_filename.rpartition(".")[0])
        if opens:
            begun.add(one.section)
            entered.add(one.document)
        for each in evidence:
            instance = each.instance
            if instance.doc_id != position.document.doc_id or not position.start <= instance.char_start < position.end:
                continue
            if _stands_within(gathered, one, each.subject):
                yield at, BY_CONCEPT if instance.defines else BY_EVIDENCE
        for subject in subjects:
            if not _stands_within(gathered, one, subject):
                continue
            if says_what(one.text, subject):
                yield at, BY_SENTENCE
            if opens and is_titled(titles, subject):
                yield at, BY_SECTION


def _stands_within(gathered: Gathered, candidate: Candidate, subject: Subject) -> bool:
    """Return whether the words that say within what the subject is asked for stand in the sentence's section."""
    return not subject.within or any(form in gathered.sections[candidate.section].counts for form in subject.within)
