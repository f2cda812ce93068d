"""Which concepts of a document are, by their names alone, kinds of what their last words name."""

from __future__ import annotations

from collections.abc import Mapping

from kgfs.domain.forms import form_key
from kgfs.models.contract import Signs

SENTENCES = 2
"""The fewest sentences in which both names stand whole."""


def kinds(key: str, signs: Mapping[str, Signs]) -> tuple[str, ...]:
    """Return the keys (:mod:`kgfs.domain.forms`) of what the candidate with this key is a kind of by its name, longest first.

    ``signs`` are those of all candidates of the document, by key. Whether a kind is a concept of the ontology is not
    known here.
    """
    own = signs.get(key)
    if own is None or not own.restricts or own.whole < SENTENCES:
        return ()
    words = key.split(" ")
    ends = (" ".join(words[at:]) for at in range(1, len(words)))
    found = (end for end in ends if end in signs and signs[end].whole >= SENTENCES and not signs[end].participle)
    return tuple(dict.fromkeys(form_key(end) for end in found))
