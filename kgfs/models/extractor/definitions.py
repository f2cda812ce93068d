"""The sentences that define a concept, and the words of the definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.models.extractor.noun_phrases import article, is_plural, phrase_of, set_off

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

FEWEST, MOST = 3, 40
"""The numbers of words of a definition."""
_SHORT_TERM = 6
"""The largest number of words before the colon."""
_POINTING = frozenset(("this", "these", "those", "such", "we", "i", "you", "he", "she", "our", "your", "my"))
_HEDGING = frozenset(("may", "might", "could", "would", "should", "must", "will", "can", "not", "n't", "never"))
_JUDGING = frozenset(
    """problem issue reason example way thing result consequence question matter choice concern fact case lot goal idea
    requirement mistake pain step start solution improvement resource term""".split()  # noqa: SIM905 - reads better as a paragraph
)
_CLASSES = frozenset(("type", "kind", "form", "sort", "variant", "family", "class"))
_EVALUATING = frozenset(
    "bad better best big common essential good great hard helpful important interesting major nice popular simple useful worse".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Defining:
    """A definition: ``defined`` is the head of the defined noun phrase, and the tokens ``first:last`` define it."""

    defined: Token
    first: int
    last: int


def defining(sentence: Span, *, listed: bool = False, marked: bool = False) -> Iterator[Defining]:
    """Yield the definitions in a sentence.

    The forms are 'X is a Y that …', 'Xs are Ys that …', 'X, a Y that …', 'X refers to …', and in a list item
    (``listed``) 'X: …', where X is ``marked`` up or the text begins with an article. A class alone defines nothing.
    """
    if sentence.text.rstrip().endswith("?"):
        return
    for found in (*_glossary(sentence, listed=listed, marked=marked), *_by_verb(sentence.root), *_apposed(sentence)):
        first, last = found.first, _without_stop(sentence, found.last)
        opened = sum((word.text == "(") - (word.text == ")") for word in sentence.doc[first:last])
        if opened > 0 and last < sentence.end and sentence.doc[last].text == ")":
            last += 1
        if last < sentence.end and not _is_border(sentence.doc[last]):
            last = _without_stop(sentence, sentence.end)  # the grammar cut it
        words = sentence.doc[first:last]
        count = sum(1 for word in words if not word.is_punct and not word.is_space)
        if FEWEST <= count <= MOST and not any(word.lower_ in _POINTING for word in words):
            yield Defining(found.defined, first, last)


def _is_border(token: Token) -> bool:
    """Return whether a definition may end before a token: a mark, but no bracket, or the start of another clause."""
    return (token.is_punct and token.text not in "([-/") or token.pos_ in ("CCONJ", "SCONJ")


def names_a_thing(phrase: Span) -> bool:
    """Return whether the words below a term say what it is: a noun phrase with something after its noun."""
    root = phrase.root
    if (
        any(char in phrase.text for char in "#<=")
        or root.pos_ not in ("NOUN", "PROPN")
        or root.i == phrase.end - 1
        or phrase[0].lower_ in (_POINTING | {"the"})
    ):
        return False
    return FEWEST <= sum(1 for word in phrase if not word.is_punct and not word.is_space) <= MOST


def _glossary(sentence: Span, *, listed: bool, marked: bool) -> Iterator[Defining]:
    if not listed:
        return
    doc = sentence.doc
    for at in range(sentence.start + 1, min(sentence.start + _SHORT_TERM, sentence.end - 3)):
        if doc[at].text in (":", "–", "—") or (doc[at].text == "-" and doc[at].whitespace_ and doc[at - 1].whitespace_):
            asserts = any(
                word.pos_ in ("VERB", "AUX") and word.dep_ in ("ROOT", "ccomp") for word in doc[at : sentence.end]
            )
            if marked or (doc[at + 1].lower_ in ("a", "an", "the") and not asserts):
                yield Defining(doc[at - 1], at + 1, sentence.end)
            return


def _by_verb(root: Token) -> Iterator[Defining]:
    subject = next((child for child in root.children if child.dep_ == "nsubj"), None)
    if root.pos_ not in ("VERB", "AUX") or root.tag_ not in ("VBZ", "VBP") or subject is None:
        return
    if phrase_of(subject) is None or subject.left_edge.i != root.sent.start or subject.i > root.i:
        return
    if any(child.lower_ in _HEDGING for child in root.children):
        return
    lemma = root.lemma_.lower()
    if lemma == "be":
        told = next((child for child in root.children if child.dep_ == "attr" and child.pos_ == "NOUN"), None)
        if told is not None and told.i > root.i and _says_what(told, subject):
            yield Defining(subject, told.left_edge.i, told.right_edge.i + 1)
    elif lemma == "refer":
        told = next((child for child in root.children if child.dep_ == "prep" and child.lower_ == "to"), None)
        if told is not None and told.i == root.i + 1 and not is_pointed(subject):
            yield Defining(subject, told.i + 1, told.right_edge.i + 1)


def is_pointed(noun: Token) -> bool:
    """Return whether the noun stands for one that the text named before: 'the name refers to …'."""
    return article(noun) == "the"


def _says_what(attribute: Token, subject: Token) -> bool:
    """Return whether a predicate names a class and what sets the thing apart in it."""
    if article(attribute) != "a" and not (is_plural(attribute) and is_plural(subject) and not article(attribute)):
        return False
    if attribute.lemma_.lower() in _JUDGING or (
        is_pointed(subject) and not any(c.dep_ == "compound" for c in subject.children)
    ):
        return False
    children = list(attribute.children)
    if any(child.lower_ in _EVALUATING or child.tag_ in ("JJS", "RBS") for child in children):
        return False
    rest = [child for child in children if child.i > attribute.i and child.dep_ in ("relcl", "acl", "prep", "appos")]
    if attribute.lemma_.lower() in _CLASSES and len(rest) == 1 and rest[0].lower_ == "of":
        inner = next((child for child in rest[0].children if child.dep_ == "pobj"), None)
        return inner is not None and inner.right_edge.i > inner.i  # "a kind of matcher" is a class alone
    return bool(rest)


def _apposed(sentence: Span) -> Iterator[Defining]:
    for noun in sentence:
        if noun.dep_ != "appos" or noun.pos_ != "NOUN" or article(noun) != "a" or not set_off(noun):
            continue
        phrase = phrase_of(noun.head)
        if phrase is not None and phrase[1] == noun.left_edge.i - 1 and _says_what(noun, noun.head):
            yield Defining(noun.head, noun.left_edge.i, noun.right_edge.i + 1)


def _without_stop(sentence: Span, last: int) -> int:
    while last > sentence.start and (sentence.doc[last - 1].is_punct or sentence.doc[last - 1].is_space):
        if sentence.doc[last - 1].text in (")", '"', "”"):
            break
        last -= 1
    return last
