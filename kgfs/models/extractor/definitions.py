"""The sentences that define a concept, and the words of the definition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.models.extractor.noun_phrases import set_off

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_ARTICLES = frozenset(("a", "an", "one"))
_SAYING = {"refer": "to", "stand": "for"}
_DEFINED = frozenset(("define", "describe", "know", "call", "name", "term"))
_POINTING = frozenset(("this", "that", "these", "those", "such", "another", "each", "any", "no", "some", "one"))
_SHORT_TERM = 6
"""The largest number of words before the colon."""
_ACRONYM = re.compile(r"[A-Z]{2,6}s?")


@dataclass(frozen=True, slots=True)
class Defining:
    """A definition: ``defined`` is the head of the defined noun phrase, and the tokens ``first:last`` define it."""

    defined: Token
    first: int
    last: int


def defining(sentence: Span, *, listed: bool = False) -> Iterator[Defining]:
    """Yield the definitions in a sentence.

    The forms are: 'X is a …', 'X means …', 'X refers to …', 'X is defined as …', 'X, a … that …', '… is called X',
    'Extended Kind of Sum (EKS)', and in a list item (``listed``) 'X: …'.
    """
    if sentence.text.rstrip().endswith("?"):
        return
    root = sentence.root
    last = _without_stop(sentence)
    if listed:
        for at in range(sentence.start + 1, min(sentence.start + _SHORT_TERM, last - 2)):
            if sentence.doc[at].text == ":":
                yield Defining(sentence.doc[at - 1], at + 1, last)
                break
    if root.pos_ in ("VERB", "AUX"):
        subject = next((child for child in root.children if child.dep_ in ("nsubj", "nsubjpass")), None)
        denied = any(child.dep_ == "neg" for child in root.children)
        if subject is not None and not denied:
            yield from _by_verb(root, subject, last)
    for token in sentence:
        if _ACRONYM.fullmatch(token.text) and (first := _expansion(token, sentence.start)) is not None:
            yield Defining(token, first, token.i - 1)
        elif token.dep_ == "appos" and token.pos_ == "NOUN" and _article(token) and set_off(token):
            first, end = token.left_edge.i, min(token.right_edge.i + 1, last)
            if _names(token.head) and end - first >= 3:
                yield Defining(token.head, first, end)


def _by_verb(root: Token, subject: Token, last: int) -> Iterator[Defining]:
    lemma = root.lemma_.lower()
    if lemma == "be" and _names(subject):
        said = next(
            (child for child in root.children if child.dep_ == "attr" and child.pos_ in ("NOUN", "PROPN")), None
        )
        if said is not None and (
            _article(said) or (said.tag_ == "NNS" and subject.tag_ in ("NNS", "NNPS") and not _determined(said))
        ):
            yield Defining(subject, said.left_edge.i, last)
    elif lemma in ("mean", "denote", "designate") and subject.dep_ == "nsubj" and _names(subject):
        if root.i + 1 < last:
            yield Defining(subject, root.i + 1, last)
    elif lemma in _SAYING and subject.dep_ == "nsubj" and _names(subject):
        said = next((child for child in root.children if child.dep_ == "prep" and child.lower_ == _SAYING[lemma]), None)
        if said is not None and said.i + 1 < last:
            yield Defining(subject, said.i + 1, last)
    elif lemma in _DEFINED and subject.dep_ == "nsubjpass":
        said = next((child for child in root.children if child.dep_ == "prep" and child.lower_ == "as"), None)
        named = next(
            (child for child in root.children if child.dep_ in ("oprd", "attr") and child.pos_ in ("NOUN", "PROPN")),
            None,
        )
        if lemma in ("define", "describe") and said is not None and _names(subject) and said.i + 1 < last:
            yield Defining(subject, said.i + 1, last)
        elif lemma in ("call", "name", "term") and named is not None and subject.pos_ == "NOUN":
            yield Defining(named, subject.left_edge.i, subject.right_edge.i + 1)


def _names(noun: Token) -> bool:
    return noun.pos_ in ("NOUN", "PROPN") and not any(
        child.lower_ in _POINTING or child.dep_ == "poss"
        for child in noun.children
        if child.dep_ in ("det", "poss", "nummod")
    )


def _expansion(acronym: Token, start: int) -> int | None:
    """Return the index of the first word whose initials make the acronym, in 'Words Like These (WLT)', or None."""
    doc, at = acronym.doc, acronym.i - 1
    if at < start or doc[at].text != "(" or acronym.i + 1 >= len(doc) or doc[acronym.i + 1].text != ")":
        return None
    letters = acronym.text.rstrip("s")
    for letter in reversed(letters):
        at -= 1
        while (
            at > start
            and not doc[at].text.lower().startswith(letter.lower())
            and (doc[at].is_stop or doc[at].text == "-")
        ):
            at -= 1
        if at < start or not doc[at].text.lower().startswith(letter.lower()):
            return None
    return at


def _article(noun: Token) -> bool:
    return any(child.dep_ in ("det", "nummod") and child.lower_ in _ARTICLES for child in noun.children)


def _determined(noun: Token) -> bool:
    return any(child.dep_ in ("det", "poss") for child in noun.children)


def _without_stop(sentence: Span) -> int:
    last = int(sentence.end)
    while last > sentence.start and (sentence.doc[last - 1].is_punct or sentence.doc[last - 1].is_space):
        last -= 1
    return last
