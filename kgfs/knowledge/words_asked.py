"""Whether the words of a question occur at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgfs.domain.word_forms import forms_of
from kgfs.render.search import forms_asked, telling_words

if TYPE_CHECKING:  # numpy, which is loaded where something is searched
    from kgfs.stores.words.scoring import WordView


ASKED = 40
"""The words of a question of which it is asked whether they occur."""
LEAST, LONG = 4, 8
"""The letters of a word that may be misspelled by one letter, and by two."""
MOST = 12
"""The number of words of a question of which near spellings are looked for."""


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
