"""How like each other Sources are by their words, where no model says how near they are in meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kgfs.domain.word_forms import forms_in
from kgfs.knowledge.ranking import ChunkRef
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import SourceRow
from kgfs.stores.words.scoring import WordView


def by_words(
    graph: Graph, view: WordView, places: Sequence[ChunkRef], sources: Mapping[ChunkRef, SourceRow] | None = None
) -> list[list[float]]:
    """Return the cosines of the Sources' forms, weighted by TF-IDF, as a square matrix."""
    import numpy as np

    from kgfs.stores.words.segment import hash_of

    rows = sources if sources is not None else graph.sources_at(places)
    bags = [Counter(forms_in(rows[place].full_text)) if place in rows else Counter[str]() for place in places]
    terms = {form: at for at, form in enumerate({form: None for bag in bags for form in bag})}
    if not terms:
        return []
    counts = view.counts(np.array([hash_of(form) for form in terms], np.uint64))
    idf = np.log(1 + max(view.rows, 1) / (counts + 1.0))
    weights = np.zeros((len(bags), len(terms)))
    for at, bag in enumerate(bags):
        weights[at, [terms[form] for form in bag]] = [*bag.values()]
    weights = np.log1p(weights) * idf
    weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), 1e-12)
    cosines: list[list[float]] = np.round(weights @ weights.T, 6).tolist()
    return cosines
