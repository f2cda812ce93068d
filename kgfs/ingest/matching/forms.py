"""Which concepts of the ontology a document's concepts are by their forms, beyond equal labels and aliases.

Forms with one key (number of the last word, hyphen or space, case) are one thing, but not names in code. A name in code
is what it is called with its kind, too: ``asyncio.Task`` and "``asyncio.Task`` object". An acronym and its long form are
joined by a fact of their own (``joinings``), which can be undone; so here an acronym is no alias unless the document
introduces it itself.
"""

from __future__ import annotations

from kgfs.domain.forms import form_key
from kgfs.domain.identity import norm_hash
from kgfs.domain.knowledge import FoundConcept
from kgfs.ingest.reading.joining import KINDS, is_code
from kgfs.models.extractor import junk
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Concept, Scope
from kgfs.stores.readings import Reading


class Forms:
    """The concepts that share keys of forms with a Reading's, and the acronyms that living documents introduce."""

    def __init__(self, graph: Graph, ontology: str, reading: Reading, scope: Scope) -> None:
        self._graph = graph
        self._ontology = ontology
        self._own = set(reading.acronyms)
        keys = {key for found in reading.concepts for key in _keys(found)}
        self._by_key = graph.joined.with_keys(ontology, sorted(keys), scope)
        self._partners: dict[str, set[str]] = {}
        labels = {form_key(found.label) for found in reading.concepts}
        for one in graph.joined.introduced(ontology, sorted(labels), scope):
            self._partners.setdefault(one.short, set()).add(one.long)
            self._partners.setdefault(one.long, set()).add(one.short)

    def ids(self) -> set[str]:
        """Return the ids of all concepts with a key of any of the Reading's concepts."""
        return {concept_id for ids in self._by_key.values() for concept_id in ids}

    def of(self, found: FoundConcept) -> list[str]:
        """Return the ids of the concepts that have a key of this one, the likeliest first."""
        return [concept_id for key in _keys(found) for concept_id in self._by_key.get(key, ())]

    def same(self, found: FoundConcept, concept: Concept) -> bool:
        """Return whether a concept that shares a key with this one is the same thing."""
        key, names = form_key(found.label), {form_key(concept.label), form_key(concept.norm)}
        if key not in _keys(found) or is_code(concept.label):  # by the kind of a name in code
            return any(one in names for one in _keys(found) if one != key)
        return not self.rests_on_others(found, concept)

    def rests_on_others(self, found: FoundConcept, concept: Concept) -> bool:
        """Return whether the two are one only because other documents introduce an acronym, and are not joined yet."""
        key = form_key(found.label)
        if form_key(concept.norm) == key:
            return False
        theirs = {form_key(form) for form in (concept.label, concept.norm, *concept.aliases)}
        for partner in self._partners.get(key, set()) & theirs:
            pair = (key, partner) if (key, partner) in self._own else (partner, key)
            if pair in self._own:
                return False
            for one in ((key, partner), (partner, key)):
                if any(joining.own == norm_hash(key) for joining in self._graph.joined.joinings(self._ontology, one)):
                    return False
            return True
        return False


def _keys(found: FoundConcept) -> list[str]:
    """Return the keys under which a concept is looked up; of a name in code also those with and without what it is."""
    keys = [] if is_code(found.label) else [form_key(found.label)]
    words = found.label.split()
    if len(words) == 2 and is_code(words[0]) and junk.fold(words[1].lower()) in KINDS:
        return [*keys, form_key(words[0])]
    if len(words) == 1 and is_code(words[0]):
        return [form_key(f"{found.label} {kind}") for kind in sorted(KINDS)]
    return keys
