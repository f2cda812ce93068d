"""Noun phrases that can be the end of a relationship: whole, general, and not pointing elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Token

Phrase = tuple[int, int]
"""The first token of a noun phrase without its determiner, and the token after its last."""

_POINTING = frozenset(("this", "that", "these", "those", "such", "same", "another", "which", "what", "whose"))
QUANTIFIERS = frozenset(
    """all any both each either enough every few half least less many more most much neither no none only several some
    two three four five six seven eight nine ten""".split()  # noqa: SIM905 - reads better as a paragraph
)
LOOSE = frozenset(
    """various different certain common typical popular modern other new many several numerous some standard
    existing""".split()  # noqa: SIM905 - reads better as a paragraph
)
"""Modifiers that may be cut from a class, of which members are listed."""
_UNLIKE = frozenset(
    """former fake virtual so-called alleged would-be first second third last next previous own following above below
    similar particular specific given said""".split()  # noqa: SIM905 - reads better as a paragraph
)
_MODIFYING = frozenset(("amod", "compound", "nmod"))


def phrase_of(head: Token, *, restricted: bool = False, loose: bool = False) -> Phrase | None:
    """Return the whole noun phrase of a head, or None where the phrase is no general name of a thing.

    The phrase has no possessive, number, quantifier or pointing word, no plural inside, and no "of" after it. A phrase
    with a preposition or clause after it counts only where it may be ``restricted``. Of a ``loose`` phrase leading
    modifiers such as "various" are cut.
    """
    if head.pos_ not in ("NOUN", "PROPN"):
        return None
    for child in head.children:
        word = child.lower_
        if child.dep_ in ("poss", "nummod", "quantmod", "predet", "neg") and not (child.i > head.i):
            return None
        if word in _POINTING or word in _UNLIKE or (word in QUANTIFIERS and not loose) or child.tag_ in ("JJS", "JJR"):
            return None
        if child.i > head.i and child.dep_ == "prep" and (child.lower_ == "of" or not restricted):
            return None
        if child.i > head.i and child.dep_ in ("relcl", "acl") and not (restricted or set_off(child)):
            return None
    first = head.i
    while first > head.sent.start and _belongs(head.doc[first - 1], head):
        first -= 1
    while loose and first < head.i and head.doc[first].lower_ in (LOOSE | QUANTIFIERS):
        first += 1
    if head.doc[first].text == "-" or (first > head.sent.start and head.doc[first - 1].text in ("-", "/", "'", "’")):
        return None
    if any(token.tag_ in ("NNS", "NNPS") for token in head.doc[first : head.i]):
        return None
    end = head.i + 1
    if end < head.sent.end and head.doc[end].pos_ == "NUM" and head.text[0].isupper():
        end += 1
    if end < head.sent.end and (head.doc[end].pos_ in ("NOUN", "PROPN", "NUM") or head.doc[end].text in ("-", "/")):
        return None
    return first, end


def _belongs(token: Token, head: Token) -> bool:
    if token.text == "-":
        return True
    at: Token = token
    while at.head != at and at != head:
        if at.dep_ not in _MODIFYING and at.dep_ not in ("punct", "npadvmod", "advmod"):
            return False
        at = at.head
    return bool(at == head and token.dep_ not in ("punct",) and token.pos_ not in ("DET", "ADV", "PRON"))


def article(head: Token) -> str:
    """Return "a" for an indefinite article, "the" for a definite one, else ''."""
    for child in head.children:
        if child.dep_ == "det":
            return "a" if child.lower_ in ("a", "an") else child.lower_
    return ""


def is_plural(head: Token) -> bool:
    return head.tag_ in ("NNS", "NNPS")


def set_off(token: Token) -> bool:
    """Return whether the token's subtree is set off: by a comma before it, and by punctuation or the end after it."""
    first, end = token.left_edge.i, token.right_edge.i + 1
    closed = end >= len(token.doc) or token.doc[end - 1].is_punct or token.doc[end].is_punct
    return closed and first > 0 and token.doc[first - 1].text == ","


def conjuncts(noun: Token, most: int = 20) -> list[Token]:
    """Return the nouns that are joined to ``noun`` by commas and conjunctions, without it, in order."""
    found: list[Token] = []
    at: Token = noun
    while len(found) < most:
        joined = (child for child in at.children if child.dep_ == "conj" and child.pos_ in ("NOUN", "PROPN"))
        following = next(joined, None)
        if following is None:
            break
        found.append(following)
        at = following
    return found
