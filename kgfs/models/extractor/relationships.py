"""Relationships that a sentence states, read off its grammar. A doubtful relationship is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.models.extractor.definitions import set_off
from kgfs.models.extractor.vocabulary import ADJECTIVES, PASSIVES, PREPOSITIONS, VERBS, Meaning

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_CARRIERS = frozenset(
    ("aim", "allow", "attempt", "continue", "design", "intend", "make", "mean", "serve", "start", "try", "tend")
)
"""Verbs whose subject is also the subject of the infinitive after them."""
_POINTING = frozenset(
    ("this", "that", "these", "those", "such", "another", "other", "each", "any", "no", "both", "which", "what")
)
_SUPPOSING = frozenset(
    (
        "propose",
        "suggest",
        "suppose",
        "imagine",
        "argue",
        "assume",
        "wish",
        "hope",
        "want",
        "consider",
        "need",
        "claim",
        "imply",
        "think",
    )
)
"""Verbs that do not assert the content of their clause."""
_CONDITIONS = frozenset(("if", "unless", "whether", "once", "until"))
_OCCASIONS = frozenset(("when", "whenever", "where", "wherever"))
_PERHAPS = frozenset(("perhaps", "possibly", "potentially", "maybe"))
_DOUBT = frozenset(("would", "should"))
_MERELY_POSSIBLE = frozenset(("may", "might", "could"))
_ENUMERATED = 4


@dataclass(frozen=True, slots=True)
class Stated:
    """A relationship between the heads of two noun phrases, as the sentence states it."""

    subject: Token
    type: str
    object: Token
    confidence: float


def stated(sentence: Span) -> Iterator[Stated]:
    """Yield the relationships that the sentence asserts.

    Questions, conditions, negations and fragments without a verb assert nothing.
    """
    if sentence.text.rstrip().endswith("?") or sentence.root.pos_ not in ("VERB", "AUX"):
        return
    for token in sentence:
        if token.pos_ in ("VERB", "AUX") and _asserted(token):
            yield from _of_verb(token)
        if token.pos_ in ("NOUN", "PROPN"):
            yield from _of_noun(token)


def _of_verb(verb: Token) -> Iterator[Stated]:
    subjects, passive = _subjects(verb)
    if not subjects:
        return
    doubt = 0.85 if any(child.lower_ in _DOUBT for child in verb.children if child.dep_ == "aux") else 1.0
    if verb.dep_ == "acl":
        doubt *= 0.8  # the parser often guesses wrong which noun such a clause belongs to
    for meaning, ends in _meanings(verb, passive=passive):
        for subject in subjects:
            for end in ends:
                yield _directed(subject, meaning, end, doubt)


def _meanings(verb: Token, *, passive: bool) -> Iterator[tuple[Meaning, list[Token]]]:
    lemma = verb.lemma_.lower()
    if lemma == "be" and not passive:
        yield from _copula(verb)
    elif passive:
        for child in verb.children:
            if child.dep_ == "agent" and lemma in VERBS:
                meaning = VERBS[lemma]
                yield Meaning(meaning.type, meaning.confidence, not meaning.inverse), _objects(child, "pobj")
            elif child.dep_ == "prep" and (lemma, child.lower_) in PASSIVES:
                yield PASSIVES[lemma, child.lower_], _objects(child, "pobj")
    else:
        if lemma in VERBS:
            yield VERBS[lemma], _objects(verb, "dobj")
        for child in verb.children:
            if child.dep_ == "prep" and (lemma, child.lower_) in PREPOSITIONS:
                yield PREPOSITIONS[lemma, child.lower_], _objects(child, "pobj")


def _copula(verb: Token) -> Iterator[tuple[Meaning, list[Token]]]:
    for said in verb.children:
        if said.dep_ not in ("attr", "acomp"):
            continue
        for child in said.children:
            known = ADJECTIVES.get((said.lemma_.lower(), child.lower_)) if child.dep_ == "prep" else None
            if known:
                yield known, _objects(child, "pobj")
                return
        if said.dep_ == "attr" and said.pos_ in ("NOUN", "PROPN"):
            determiner = next((child.lower_ for child in said.children if child.dep_ == "det"), "")
            plural = said.tag_ in ("NNS", "NNPS") and not determiner
            if determiner in ("a", "an") or plural:
                yield Meaning("IS_A", 0.75 if determiner else 0.65), [said]


def _of_noun(noun: Token) -> Iterator[Stated]:
    many = noun.tag_ in ("NNS", "NNPS")
    for child in noun.children:
        if noun.dep_ == "pobj" and noun.head.lower_ == "of":
            break  # of 'packages of software such as rpm' it is unclear which noun is meant
        such = any(word.lower_ == "such" for word in child.children)
        if many and child.dep_ == "prep" and child.lower_ == "as" and such:
            for example in _objects(child, "pobj"):
                yield Stated(example, "IS_A", noun, 0.75)
        elif child.dep_ == "prep" and child.lower_ in ("including", "like") and many:
            for example in _objects(child, "pobj"):
                yield Stated(example, "IS_A", noun, 0.65 if child.lower_ == "including" else 0.55)
        elif child.dep_ == "acl" and child.lower_ == "using" and _specific(noun):
            for used in _objects(child, "dobj"):
                yield Stated(noun, "USES", used, 0.65)
        elif (
            child.dep_ == "appos"
            and set_off(child)
            and any(word.lower_ in ("a", "an") for word in child.children if word.dep_ == "det")
        ):
            yield Stated(noun, "IS_A", child, 0.65)
    modifiers = {word.lower_ for word in noun.children}
    if many and noun.dep_ == "conj" and "other" in modifiers and not modifiers & _PERHAPS:
        named = noun
        while named.dep_ == "conj" and named.head is not named:
            named = named.head
            if named.lemma_ != noun.lemma_:
                yield Stated(named, "IS_A", noun, 0.75)


def _directed(subject: Token, meaning: Meaning, end: Token, doubt: float) -> Stated:
    confidence = round(meaning.confidence * doubt, 3)
    if meaning.inverse:
        return Stated(end, meaning.type, subject, confidence)
    return Stated(subject, meaning.type, end, confidence)


def _asserted(verb: Token) -> bool:
    at: Token = verb
    while True:
        for child in at.children:
            if (
                child.dep_ == "neg"
                or child.lower_ == "longer"
                or (child.dep_ == "aux" and child.lower_ in _MERELY_POSSIBLE)
            ):
                return False
            if _conditional(child) or (child.dep_ == "advcl" and any(_conditional(word) for word in child.children)):
                return False
        if at.dep_ == "advcl" and any(child.lower_ in _OCCASIONS for child in at.children):
            return False
        if at.dep_ not in ("xcomp", "conj", "ccomp", "advcl") or at.head is at:
            return True
        if at.dep_ in ("ccomp", "advcl") and (at.tag_ == "VB" or at.head.lemma_.lower() in _SUPPOSING):
            return False
        at = at.head


def _conditional(token: Token) -> bool:
    return token.dep_ in ("mark", "advmod") and token.lower_ in _CONDITIONS


def _subjects(verb: Token) -> tuple[list[Token], bool]:
    """Return the heads of the verb's subjects, and whether the verb is passive."""
    at, passive = verb, any(child.dep_ == "auxpass" for child in verb.children)
    for _ in range(4):
        own = [child for child in at.children if child.dep_ in ("nsubj", "nsubjpass")]
        if own:
            named = [noun for subject in own for noun in _antecedents(subject, at)]
            heads = [head for noun in named for head in (noun, *_conjuncts(noun))]
            return [head for head in heads if _speaks(head) and not _restricted(head, at)], passive
        if at.dep_ == "acl" and at.tag_ in ("VBN", "VBG"):
            named = [at.head] if _speaks(at.head) and _specific(at.head) else []
            return named, passive or at.tag_ == "VBN"
        if at.dep_ == "conj" and at.head.pos_ in ("VERB", "AUX"):
            if not passive and at.tag_ == "VBN" and any(child.dep_ == "auxpass" for child in at.head.children):
                passive = True
            at = at.head
        elif at.dep_ == "xcomp" and at.head.lemma_.lower() in _CARRIERS and not _objects(at.head, "dobj"):
            at = at.head
        else:
            return [], passive
    return [], passive


def _antecedents(subject: Token, verb: Token) -> list[Token]:
    if subject.lower_ not in ("which", "that", "who") or verb.dep_ != "relcl":
        return [subject]
    return [verb.head] if _specific(verb.head) or set_off(verb) else []


def _specific(noun: Token) -> bool:
    """Return whether a restrictive clause after the noun says something about all that the noun names.

    It does not in 'modules that use …'.
    """
    return noun.tag_ == "NNP" or any(child.dep_ in ("compound", "amod", "nmod") for child in noun.children)


def _restricted(noun: Token, verb: Token) -> bool:
    """Return whether the verb applies only to those that a clause selects: 'a string which is short uses …'."""
    clauses = (child for child in noun.children if child.dep_ == "relcl" and child != verb)
    return not _specific(noun) and any(not set_off(clause) for clause in clauses)


def _objects(head: Token, relation: str) -> list[Token]:
    direct = [child for child in head.children if child.dep_ == relation]
    found = [noun for child in direct for noun in (child, *_conjuncts(child))]
    return [noun for noun in found if _speaks(noun)]


def _conjuncts(noun: Token) -> list[Token]:
    found: list[Token] = []
    at = noun
    while len(found) < _ENUMERATED:
        following = next(
            (child for child in at.children if child.dep_ == "conj" and child.pos_ in ("NOUN", "PROPN")), None
        )
        if following is None:
            break
        found.append(following)
        at = following
    return found


def _speaks(noun: Token) -> bool:
    """Return whether the noun names something by itself, without pointing back or denying."""
    if noun.pos_ not in ("NOUN", "PROPN"):
        return False
    return not any(
        child.lower_ in _POINTING or child.dep_ in ("neg", "poss")
        for child in noun.children
        if child.dep_ in ("det", "poss", "amod", "neg")
    )
