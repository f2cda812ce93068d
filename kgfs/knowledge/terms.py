"""Find the terms of a search: what could be looked up under its words and is no concept."""

from __future__ import annotations

from kgfs.domain.forms import LONGEST, form_key
from kgfs.render.tsv import ShownTerm
from kgfs.stores.graph.sqlite import Graph

LIMIT = 20
"""The number of terms that a search names."""


def found_terms(graph: Graph, words: str, ontology: str) -> list[ShownTerm]:
    """Return the terms that the words have, the longest first, then terms that have all the words.

    So a term that is all of the words comes first. Without an ``ontology`` (its id), terms of all.
    """
    asked = form_key(words).split(" ")
    keys = [
        form_key(" ".join(asked[first : first + count]))
        for count in range(min(LONGEST, len(asked)), 0, -1)
        for first in range(len(asked) - count + 1)
    ]
    return graph.terms.find(ontology, list(dict.fromkeys(keys)), asked, LIMIT) if words.strip() else []
