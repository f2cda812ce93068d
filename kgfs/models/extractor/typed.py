"""Typed relationships that a sentence asserts, read off its grammar. A doubtful one is left out.

The patterns and filters are those that were true in nine of ten cases when readers judged them. Verbs that were true in
less are not typed; ``bound`` relates their subjects and objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.models.extractor.assertions import in_clause, is_asserted, is_readable
from kgfs.models.extractor.noun_phrases import Phrase, article, conjuncts, is_plural, phrase_of, set_off

if TYPE_CHECKING:
    from spacy.tokens import Span, Token


@dataclass(frozen=True, slots=True)
class Stated:
    """A relationship between two noun phrases of one sentence, given as tokens of its Doc."""

    subject: Phrase
    type: str
    object: Phrase
    confidence: float


VERBS = {
    "cause": ("CAUSES", 0.75),
    "use": ("USES", 0.75),
    "create": ("CREATES", 0.75),
    "support": ("SUPPORTS", 0.8),
    "replace": ("REPLACES", 0.8),
    "supersede": ("REPLACES", 0.9),
    "prevent": ("PREVENTS", 0.75),
}
"""Verb → type and confidence, for subject and direct object. The passive with "by" swaps the ends."""
PREPOSITIONS = {
    ("lead", "to"): ("CAUSES", 0.75),
    ("result", "in"): ("CAUSES", 0.75),
    ("inherit", "from"): ("EXTENDS", 0.85),
}
_OF = {
    "part": ("PART_OF", 0.85),
    "component": ("PART_OF", 0.85),
    "subclass": ("IS_A", 0.9),
    "subtype": ("IS_A", 0.9),
    "kind": ("IS_A", 0.9),
    "type": ("IS_A", 0.9),
    "form": ("IS_A", 0.85),
    "variant": ("IS_A", 0.85),
    "species": ("IS_A", 0.9),
    "genus": ("IS_A", 0.9),
}
"""Noun of "X is (a) … of Y" → type and confidence."""
_ROLES = frozenset(
    """ability advantage aim alternative answer approach aspect attempt benefit bonus bug burden candidate case cause challenge
    change choice compromise concern condition consequence contribution danger decision decline detail difference difficulty
    disadvantage drawback effect effort error exception extension extent fact factor failure feature focus function goal group hint
    idea implication improvement increase indication instance issue item key kind limitation list lot majority matter
    means measure member mistake must need nuisance number obstacle opportunity option part piece place point possibility
    precondition prerequisite priority problem process product proof proposal purpose question reason reflection requirement
    response responsibility result risk role rule series set sign solution source specification standard start step success
    sum superset subset symptom target task term thing threat topic trick value variation victim violation waste way win
    word""".split()  # noqa: SIM905 - reads better as a paragraph
)
"""Predicates that tell a role or a judgement instead of a class."""
_JUDGING = frozenset(
    """bad better best big common compelling convenient crucial difficult easy essential excellent fundamental good great
    hard huge important interesting key large major main minor natural necessary nice only perfect poor popular possible
    powerful practical primary real reasonable serious significant similar simple single small special strong typical useful
    valid valuable viable vital wonderful worse worst""".split()  # noqa: SIM905 - reads better as a paragraph
)
_CALLED = frozenset(("call", "name", "term", "dub"))


def typed(sentence: Span) -> Iterator[Stated]:
    """Yield the typed relationships that a sentence asserts."""
    if not is_readable(sentence):
        return
    for token in sentence:
        if token.pos_ in ("NOUN", "PROPN"):
            yield from _listed(token)
            yield from _apposed(token)
            yield from _called(token)
        if token.pos_ in ("VERB", "AUX") and is_asserted(token):
            yield from _by_verb(token)


def _all_are(members: list[Token], kind: Token, confidence: float) -> Iterator[Stated]:
    class_ = phrase_of(kind, restricted=True, loose=True)
    if class_ is None or article(kind) or kind.lemma_.lower() in _ROLES:
        return
    for member in members:
        end = phrase_of(member)
        if end is not None and article(member) != "the":
            yield Stated(end, "IS_A", class_, confidence)


def _listed(kind: Token) -> Iterator[Stated]:
    """Yield the members that follow or precede a class: "Ys such as X", "Ys including X", "X and other Ys"."""
    if not is_plural(kind):
        return
    doc, at = kind.doc, kind.i + 1
    if at < kind.sent.end and doc[at].text in (",", "("):
        at += 1
    if at < kind.sent.end and not in_clause(kind) and _stands_alone(kind):
        such = doc[at].lower_ == "such" and at + 1 < kind.sent.end and doc[at + 1].lower_ == "as"
        marker = doc[at + 1] if such else doc[at]
        if such or marker.lower_ in ("like", "including"):
            members = [child for child in marker.children if child.dep_ in ("pobj", "dobj") and child.i > marker.i]
            for member in members[:1]:
                if marker.head == kind or such or doc[marker.i - 1].text == ",":
                    yield from _all_are([member, *conjuncts(member)], kind, 0.85)
    if any(child.dep_ == "amod" and child.lower_ == "other" for child in kind.children) and kind.dep_ == "conj":
        first = kind
        members = []
        while first.dep_ == "conj" and first.head.pos_ in ("NOUN", "PROPN"):
            first = first.head
            members.append(first)
        joined = doc[kind.left_edge.i - 1].lower_ == "and"
        if joined:
            yield from _all_are(members[::-1], kind, 0.9)


def _stands_alone(kind: Token) -> bool:
    """Return whether the class is no part of a larger noun phrase, but for one with "of"."""
    if kind.dep_ != "pobj":
        return kind.dep_ != "conj"
    return kind.head.lower_ == "of" or kind.head.head.pos_ not in ("NOUN", "PROPN")


def _apposed(noun: Token) -> Iterator[Stated]:
    """Yield the class of "X, a Y, …"."""
    if noun.dep_ != "appos" or article(noun) != "a" or is_plural(noun) or not set_off(noun):
        return
    named = noun.head
    end, class_ = phrase_of(named), phrase_of(noun, restricted=True)
    adjacent = end is not None and end[1] == noun.left_edge.i - 1
    if end and class_ and adjacent and article(named) != "the" and not _is_judgement(noun):
        yield Stated(end, "IS_A", class_, 0.85)


def _called(kind: Token) -> Iterator[Stated]:
    """Yield "a Y called X", "Ys known as X"."""
    for verb in kind.children:
        if verb.dep_ != "acl" or verb.tag_ != "VBN" or verb.i != kind.i + 1 or article(kind) == "the":
            continue
        lemma = verb.lemma_.lower()
        if lemma in _CALLED:
            names = [child for child in verb.children if child.dep_ in ("oprd", "attr", "dobj") and child.i > verb.i]
        elif lemma == "know":
            through = [child for child in verb.children if child.lower_ == "as" and child.i == verb.i + 1]
            names = [noun for child in through for noun in child.children if noun.dep_ == "pobj"]
        else:
            continue
        class_ = phrase_of(kind, restricted=True, loose=True)
        for name in names[:1]:
            end = phrase_of(name, restricted=True)
            if class_ and end and kind.lemma_.lower() not in _ROLES:
                yield Stated(end, "IS_A", class_, 0.85)


def _by_verb(verb: Token) -> Iterator[Stated]:
    subject = next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")), None)
    if subject is None or subject.pos_ not in ("NOUN", "PROPN") or conjuncts(subject):
        return
    named = phrase_of(subject)
    lemma = verb.lemma_.lower()
    if lemma == "include" and is_plural(subject) and not article(subject) and verb.tag_ == "VBP":
        members = [child for child in verb.children if child.dep_ == "dobj"]
        for member in members[:1]:
            yield from _all_are([member, *conjuncts(member)], subject, 0.85)
        return
    if named is None or (article(subject) == "the" and named[1] - named[0] == 1):
        return
    if lemma == "be":
        yield from _is_a(verb, subject, named)
        return
    passive = any(child.dep_ == "auxpass" for child in verb.children)
    for child in verb.children:
        key = (lemma, child.lower_)
        if child.dep_ == "dobj" and lemma in VERBS and not passive:
            yield from _between(named, *VERBS[lemma], child)
        elif child.dep_ == "agent" and lemma in VERBS and passive:
            yield from _between(named, *VERBS[lemma], _object(child), swapped=True)
        elif child.dep_ == "prep" and key in PREPOSITIONS and not passive:
            yield from _between(named, *PREPOSITIONS[key], _object(child))
        elif child.dep_ == "prep" and key in (("consist", "of"), ("compose", "of")):
            yield from _between(named, "PART_OF", 0.85, _object(child), swapped=True)


def _between(
    named: Phrase, type_: str, confidence: float, noun: Token | None, *, swapped: bool = False
) -> Iterator[Stated]:
    other = phrase_of(noun) if noun is not None else None
    if noun is None or other is None or (article(noun) == "the" and other[1] - other[0] == 1):
        return
    yield Stated(other, type_, named, confidence) if swapped else Stated(named, type_, other, confidence)


def _object(preposition: Token) -> Token | None:
    return next((child for child in preposition.children if child.dep_ == "pobj"), None)


def _is_a(verb: Token, subject: Token, named: Phrase) -> Iterator[Stated]:
    attribute = next(
        (child for child in verb.children if child.dep_ == "attr" and child.pos_ in ("NOUN", "PROPN")), None
    )
    if attribute is None or conjuncts(attribute) or verb.i > attribute.i or subject.i > verb.i:
        return
    of = next((child for child in attribute.children if child.dep_ == "prep" and child.lower_ == "of"), None)
    whole = _object(of) if of is not None else None
    if (
        attribute.lemma_.lower() in _OF
        and whole is not None
        and article(attribute) in ("", "a")
        and not _is_judgement(attribute, frozenset())
    ):
        yield from _between(named, *_OF[attribute.lemma_.lower()], whole)
        return
    class_ = phrase_of(attribute, restricted=True)
    if class_ is None or _is_judgement(attribute):
        return
    singular = article(attribute) == "a" and not is_plural(attribute) and not is_plural(subject)
    plural = is_plural(attribute) and is_plural(subject) and not article(attribute) and not article(subject)
    if singular or plural:
        yield Stated(named, "IS_A", class_, 0.85)


def _is_judgement(noun: Token, roles: frozenset[str] = _ROLES) -> bool:
    if noun.lemma_.lower() in roles:
        return True
    return any(child.dep_ == "amod" and (child.lower_ in _JUDGING or child.tag_ == "JJS") for child in noun.children)
