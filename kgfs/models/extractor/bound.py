"""Pairs of phrases that the grammar of one sentence binds: subject and object of one verb, or a participle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

MOST_WORDS = 60
"""Words of the longest sentence whose labels count as said together."""
_MOST_ARCS = 5
_MOST_PARTICIPLE_ARCS = 4
_MOST_CONJUNCTS = 2
_MOST_BESIDE = 4
"""The most arcs between the object of a verb and that of a preposition beside it: "it publishes X on Y"."""
_SUBJECT = frozenset(("nsubj", "nsubjpass"))
_BORDERS = frozenset(
    ("advcl", "ccomp", "csubj", "csubjpass", "relcl", "acl", "parataxis", "conj", "pcomp", "xcomp", "appos", "mark")
)
"""Arcs at which another clause or an item of a list begins."""
_HANGING = frozenset(("acl", "relcl"))
_ATTACHED = frozenset(("prep", "pobj", "compound", "nmod", "amod", "poss"))
"""Arcs inside a noun phrase: "the syntax of a comprehension"."""


def is_counted(sentence: Span) -> bool:
    """Return whether labels of the sentence count as said together: it has a finite verb and is not too long."""
    if sum(1 for word in sentence if word.is_alpha) > MOST_WORDS:
        return False
    return any(word.tag_ in ("VBZ", "VBP", "VBD", "MD") for word in sentence)


def is_bound(one: Token, other: Token) -> bool:
    """Return whether the grammar binds two heads of phrases.

    They are subject and object or complement of one verb, with no clause border between them and at most five arcs; or
    one governs the other by a participle or relative clause, within four arcs, or by a preposition; or object and
    prepositional object stand beside each other; or both are items of one list, next to each other or to a third.
    """
    up, across = _ancestors(one), _ancestors(other)
    places = {token.i: at for at, token in enumerate(up)}
    meeting = next((at for at, token in enumerate(across) if token.i in places), None)
    if meeting is None:
        return False
    top = across[meeting]
    left, right = up[: places[top.i]], across[:meeting]
    if left and right:
        return len(left) + len(right) <= _MOST_ARCS and top.pos_ in ("VERB", "AUX") and _by_verb(left, right)
    chain = left or right
    if 0 < len(chain) <= _MOST_CONJUNCTS and all(token.dep_ == "conj" for token in chain):
        return top.pos_ in ("NOUN", "PROPN")
    if 0 < len(chain) <= _MOST_PARTICIPLE_ARCS and all(token.dep_ in _ATTACHED for token in chain):
        return any(token.dep_ == "prep" for token in chain) and top.pos_ in ("NOUN", "PROPN")
    if not 0 < len(chain) <= _MOST_PARTICIPLE_ARCS or chain[-1].dep_ not in _HANGING:
        return False
    return not any(token.dep_ in _BORDERS for token in chain[:-1])


def _by_verb(left: list[Token], right: list[Token]) -> bool:
    if any(token.dep_ in _BORDERS for token in (*left, *right)):
        return False
    sides = left[-1].dep_ in _SUBJECT, right[-1].dep_ in _SUBJECT
    beside = {left[-1].dep_, right[-1].dep_} == {"dobj", "prep"} and len(left) + len(right) <= _MOST_BESIDE
    return sides[0] != sides[1] or beside


def _ancestors(token: Token) -> list[Token]:
    """Return the token and all that govern it, the nearest first."""
    found = [token]
    while found[-1].head != found[-1]:
        found.append(found[-1].head)
    return found
