"""Whether the words of a question occur at all."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kgfs.domain.forms import plurals, singular
from kgfs.domain.word_forms import forms_of, plain, words_in
from kgfs.render.search import forms_asked, telling_words
from kgfs.stores.graph.sqlite import Graph

if TYPE_CHECKING:  # numpy, which is loaded where something is searched
    from kgfs.stores.words.scoring import WordView


ASKED = 40
"""The words of a question of which it is asked whether they occur."""
FEW = 3
"""The documents that a rare word is in, at most."""
LEAST, LONG = 4, 8
"""The letters of a word that may be misspelled by one letter, and by two."""
MOST = 12
"""The number of words of a question of which near spellings are looked for."""


def rare(
    graph: Graph, question: str, ontology: str, doc_ids: Collection[str] | None, found: Collection[str]
) -> tuple[str, frozenset[str]]:
    """Return the word of the question that the fewest documents have, and these documents; ('', none) where more than FEW have
    each.

    What has the word in the singular or the plural has it; what only shares its stem does not: *several* is not *severance*.
    An ontology of '' and ``doc_ids`` of None are all; of the documents ``found`` the titles count.
    """
    best, having = "", frozenset[str]()
    for word in dict.fromkeys(telling_words(question)[:ASKED]):
        those = graph.few_documents_with(_numbers(word), FEW, ontology)
        few = those if doc_ids is None else those.intersection(doc_ids)
        if len(those) <= FEW and few and (not best or len(few) < len(having)):
            best, having = word, few
    titles = graph.documents_among(sorted(found)) if best else {}
    return best, having | {doc_id for doc_id, row in titles.items() if has_word(best, row.source_title)}


def has_word(word: str, *texts: str) -> bool:
    """Return whether one of the texts has the word, in the singular or the plural."""
    return any(not _numbers(word).isdisjoint(map(plain, words_in(text))) for text in texts)


def _numbers(word: str) -> frozenset[str]:
    """Return a word in the singular and in the plural."""
    word = plain(word)
    return frozenset({word, *plurals(singular(word))})


def strange(view: WordView, question: str) -> frozenset[str]:
    """Return the words of LEAST letters or more that occur nowhere in the home: they may be misspelled."""
    words = {word for word in telling_words(question)[:ASKED] if len(word) >= LEAST and word.isalpha()}
    return frozenset(word for word in words if not view.occurring(forms_of(word)))


def occurring(view: WordView, question: str, ontology: str) -> bool:
    """Return whether one of the words occurs in an ontology ('' for all): by its stem, a part of a code name, or a near
    spelling."""
    from kgfs.stores.words.spelling import is_near

    forms = forms_asked(question)
    if view.occurring(forms, ontology):
        return True
    able = [form for form in forms if len(form) >= LEAST and form.isalpha()][:MOST]
    return any(is_near(view, form, 2 if len(form) >= LONG else 1, ontology) for form in able)
