"""Tell whether a sentence asserts what one of its verbs says.

A sentence does not where it asks, denies, supposes, requests, reports another's opinion or tells of a single event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

LONGEST = 45
"""Words of the longest sentence that is read for relationships. The grammar of longer ones is often misread."""

_MODALS = frozenset(
    ("may", "might", "could", "would", "should", "shall", "must", "can", "ca", "will", "wo", "'ll", "’ll", "'d", "’d")
)
_PERSONS = frozenset(("i", "we", "you", "he", "she"))
_CONDITIONS = frozenset(("if", "unless", "whether", "until", "provided", "assuming", "suppose", "lest", "otherwise"))
_DENYING = frozenset(
    ("not", "n't", "n’t", "never", "longer", "hardly", "rarely", "barely", "neither", "nor", "without")
)
_PARTLY = frozenset(
    "commonly frequently generally largely mainly mostly normally occasionally often partly primarily rarely sometimes typically usually".split()  # noqa: SIM905
)
"""Adverbs by which a sentence says of some what the verb says."""
_PLACES = frozenset(("where", "whereby", "wherever"))
"""Words at the start of a part of a sentence, which explains what the sentence before it shows."""
_CLAUSES = frozenset(("ccomp", "advcl", "relcl", "acl", "xcomp", "csubj", "csubjpass", "parataxis", "pcomp"))


def is_readable(sentence: Span) -> bool:
    """Return whether relationships may be read from the sentence: no question, not too long, with a stop or verb."""
    text = sentence.text.rstrip().rstrip("\"'”’)")
    return not text.endswith(("?", ":")) and sum(1 for word in sentence if word.is_alpha) <= LONGEST


def is_asserted(verb: Token) -> bool:
    """Return whether the sentence asserts what a main verb says of its subject, in general and at present.

    The verb must stand in the main clause (a clause joined to it by a conjunction counts), in the present tense, without
    modal, negation or condition, and no person may be its subject.
    """
    if verb.tag_ in ("VB", "VBG"):
        return False
    at: Token = verb
    while True:
        if not _states(at, passive=at == verb):
            return False
        if at.dep_ == "ROOT" or at.head == at:
            return True
        if at.dep_ != "conj" or at.head.pos_ not in ("VERB", "AUX"):
            return False
        at = at.head


def _states(verb: Token, *, passive: bool) -> bool:
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass")]
    if any(helper.lower_ in _MODALS for helper in helpers):
        return False
    if any(child.dep_ == "neg" or child.lower_ in _DENYING for child in verb.children):
        return False
    finite = next((helper for helper in helpers if helper.tag_ in ("VBZ", "VBP", "VBD")), verb)
    if finite.tag_ not in ("VBZ", "VBP") or (verb.tag_ == "VBG" and passive):
        return False
    for child in verb.children:
        if child.dep_ in ("nsubj", "nsubjpass") and child.lower_ in _PERSONS:
            return False
        if child.dep_ == "advcl" and any(word.lower_ in _CONDITIONS for word in child.children):
            return False
        if child.dep_ in ("mark", "advmod") and child.lower_ in (_CONDITIONS | _PARTLY | _PLACES):
            return False
        if verb.lemma_ == "be" and child.dep_ == "advcl" and any(word.lower_ == "when" for word in child.children):
            return False
    return True


def in_clause(token: Token) -> bool:
    """Return whether the token stands in a subordinate clause."""
    at: Token = token
    while at.head != at:
        if at.dep_ in _CLAUSES:
            return True
        at = at.head
    return False
