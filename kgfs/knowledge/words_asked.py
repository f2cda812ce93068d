"""The forms of a question's words, and whether they occur at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgfs.domain.word_forms import forms_of, words_in
from kgfs.render.search import FUNCTION_WORDS

if TYPE_CHECKING:  # numpy, which is loaded where something is searched
    from kgfs.stores.words.scoring import WordView


def forms_asked(question: str) -> list[str]:
    """Return the forms that a question asks for, each once, in order; function words only where there are no others."""
    forms = list(dict.fromkeys(form for word in words_in(question) for form in forms_of(word)))
    return [form for form in forms if form not in FUNCTION_WORDS] or forms


def occurring(view: WordView, question: str, ontology: str) -> bool:
    """Return whether one of the words occurs in an ontology ('' for all): by its stem, or a part of a code name."""
    return bool(view.occurring(forms_asked(question), ontology))
