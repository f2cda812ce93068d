"""The concepts that a question names, and those that it may mean where a word of it is spelled in no known way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from kgfs.domain.forms import form_key
from kgfs.domain.identity import normalise_label
from kgfs.domain.word_forms import words_in
from kgfs.knowledge.words_asked import ASKED, LEAST
from kgfs.render.search import FUNCTION_WORDS, NamedConcept
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Concept

LONGEST = 5
"""The most words of a name that is looked for in a question."""
MOST = 8
"""The number of concepts that are listed."""
FORMS_SCANNED = 20_000
"""The number of names with one first letter that a misspelt one is compared with."""


def named(graph: Graph, ontologies: Iterable[tuple[str, str]], question: str) -> tuple[NamedConcept, ...]:
    """Return the concepts whose names or aliases are in the question, the longest names first.

    ``ontologies`` are (id, path from the searched folder to that of the ontology: '' or ``<Ontology>/``).
    """
    keys = [form_key(normalise_label(words)) for words in _runs(words_in(question)[:ASKED])]
    found: dict[str, NamedConcept] = {}
    for ontology, folder in ontologies:
        with_key = graph.joined.with_keys(ontology, set(keys))
        ids = list(dict.fromkeys(one for key in keys for one in with_key.get(key, ())))[:MOST]
        known = graph.concepts_by_id(ids)
        found |= {one: _shown(known[one], folder) for one in ids if one in known}
    return tuple(found.values())[:MOST]


def meant(
    graph: Graph, ontologies: Iterable[tuple[str, str]], question: str, strange: Collection[str]
) -> tuple[NamedConcept, ...]:
    """Return the concepts that a question may mean: a word of it is ``strange``, as it occurs nowhere, and with one or two
    letters changed it is the name of a concept, or in one with the words beside it. Each label once: a suggestion is a way
    to spell, whichever and however many concepts are spelled so."""
    words = words_in(question)[:ASKED]
    if not strange:
        return ()
    asked = [normalise_label(run) for run in _runs(words) if not set(run.split()).isdisjoint(strange)]
    found: dict[str, NamedConcept] = {}
    for ontology, folder in ontologies:
        for norm in asked:
            most = 2 if len(norm) >= 2 * LEAST else 1
            near = [
                (distance, form)
                for form in graph.names_like(ontology, norm[0], len(norm) - most, len(norm) + most, FORMS_SCANNED)
                if 0 < (distance := _distance(norm, form, most)) <= most
            ]
            if near:
                ids = graph.match(ontology, [form for _, form in sorted(near)[:MOST]])
                known = graph.concepts_by_id(list(ids.values()))
                for one in (known[concept_id] for concept_id in ids.values() if concept_id in known):
                    found.setdefault(normalise_label(one.label), _shown(one, folder))
    return tuple(found.values())[:MOST]


def _runs(words: Sequence[str]) -> Iterator[str]:
    """Yield the runs of words, the longest first, without function words alone."""
    for length in range(min(LONGEST, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if any(word.casefold() not in FUNCTION_WORDS for word in run):
                yield " ".join(run)


def _shown(concept: Concept, folder: str) -> NamedConcept:
    return NamedConcept(concept.name, concept.label, folder)


def _distance(one: str, other: str, most: int) -> int:
    """Return how many letters are changed, left out, added or exchanged with the next; ``most + 1`` for more than ``most``."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, char in enumerate(one, 1):
        fresh = [at]
        for to, letter in enumerate(other, 1):
            cost = min(row[to] + 1, fresh[to - 1] + 1, row[to - 1] + (char != letter))
            if before and at > 1 and to > 1 and char == other[to - 2] and one[at - 2] == letter:
                cost = min(cost, before[to - 2] + 1)
            fresh.append(cost)
        if min(fresh) > most:
            return most + 1
        before, row = row, fresh
    return row[-1]
