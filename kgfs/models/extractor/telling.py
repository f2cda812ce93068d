"""What a sentence says of a phrase in it: how much (E), and whether it is worth showing as evidence (Q).

E adds up the phrase's grammatical role, the form of the sentence and what weakens it. Q is a logistic function of E and
of named signs: what the sentence does with the phrase, and what makes it hard to understand alone.
``docs/knowledge.md`` states both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.models.extractor.candidates import is_vague

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

SUBJECT = 3.0
"""The weight of the subject of the main clause."""
ROLES = {"dobj": 1.0, "attr": 0.9, "appos": 0.9, "oprd": 2.2, "pobj": 0.3, "conj": 0.3}
OTHER_ROLE = 0.3
PART = 0.35
"""Factor of the role of a phrase that is only the end of a longer noun phrase."""
BIAS = -0.80
SAYS = 0.24
"""The weight of E."""
LATE = -0.055
"""The weight of each word before the phrase, up to 40."""
LENGTH = 0.022
"""The weight of each word of the sentence, up to 40."""
WEIGHTS: dict[str, float] = {
    "is a": 1.4,
    "decides": 1.2,
    "headed": 0.99,
    "explained": 0.85,
    "modal": 0.62,
    "main object": 0.59,
    "at the start": 0.52,
    "means": 0.44,
    "present": 0.39,
    "some subject": 0.37,
    "emphasised": 0.32,
    "subject of a clause": 0.31,
    "condition first": 0.27,
    "predicate": 0.27,
    "earliest": 0.24,
    "first of its paragraph": 0.24,
    "possessive subject": 0.21,
    "called": 0.19,
    "past": 0.12,
    "pronoun as subject": -0.1,
    "other role": -0.12,
    "we, you": -0.12,
    "an order": -0.13,
    "person": -0.14,
    "colon at the end": -0.16,
    "in a relative clause": -0.2,
    "no stop": -0.28,
    "adds": -0.32,
    "negated": -0.39,
    "the X": -0.46,
    "follows": -0.49,
    "long": -0.5,
    "I": -0.54,
    "small first letter": -0.6,
    "inside a subject": -0.61,
    "no subject": -0.67,
    "and first": -0.71,
    "a clause alone": -0.8,
    "part": -0.81,
    "short": -0.86,
    "record": -0.9,
    "sends elsewhere": -0.9,
    "thin": -0.92,
    "some X": -0.98,
    "early pronoun": -1.04,
    "no verb": -1.2,
    "very long": -1.2,
    "progressive": -1.35,
    "unresolved": -1.42,
    "pointing subject": -1.48,
    "symbols": -1.5,
    "example code": -1.5,
    "new X": -1.73,
    "subject of a relative clause": -1.8,
    "points to a place": -1.9,
    "connective first": -2.16,
    "its X": -2.5,
    "this X": -2.66,
    "somebody's X": -2.9,
    "question": -3.14,
}
"""The weight of each sign in the log odds of Q."""

LEANING = frozenset(
    ("early pronoun", "pointing subject", "unresolved", "connective first", "and first", "follows", "this X", "its X")
)
"""Signs that a sentence leans on the one before it."""
_ANSWERED = frozenset(
    ("early pronoun", "pronoun as subject", "pointing subject", "no subject", "the subject", "a clause alone")
)
"""Signs of a sentence that the heading above it answers."""
_EXCUSED = frozenset(
    ("we, you", "person", "I", "no subject", "an order", "short", "no stop", "no verb", "small first letter")
)
"""Signs that take nothing from a line that says what was decided."""
LATER = 0.3
"""What a sentence loses in the log odds of Q that is not the first below its heading."""
WIDENED = 0.3
"""What a quote of two sentences loses in the log odds of Q."""
_ORDINALS = frozenset("first second third fourth fifth sixth seventh eighth ninth tenth last next".split())  # noqa: SIM905
_PLACED = frozenset("above below following previous preceding aforementioned latter former here earlier later".split())  # noqa: SIM905
"""Words that point to another place of the text."""
_CHATTING = frozenset(
    """actually anyway apparently basically definitely frankly honestly kinda literally maybe obviously okay perhaps pretty probably
    really sorta totally well yeah yes""".split()  # noqa: SIM905 - reads better as a paragraph
)
"""Words of speech, which tells its listeners and not a reader."""
_DEMONSTRATIVE = frozenset(("this", "these", "those", "such"))
_AMOUNTS = frozenset(
    ("some", "several", "many", "most", "few", "all", "any", "certain", "various", "more", "no", "much")
)
_CONNECTIVES = frozenset(
    """however therefore thus moreover furthermore instead otherwise hence then additionally ultimately finally nevertheless
    consequently next yet still alternatively conversely likewise similarly accordingly meanwhile""".split()  # noqa: SIM905
)
_MODALS = frozenset(("can", "must", "may", "should", "will", "might", "could", "would", "shall"))
_POINTING = frozenset(("this", "that", "these", "those", "such", "its", "their", "his", "her", "our", "my", "your"))
_TELLING = frozenset(("mean", "contain", "consist", "include", "comprise", "describe", "denote", "define"))
_CALLED = frozenset(("call", "name", "know", "term"))
_ADDING = frozenset(("also", "too", "another", "both", "same", "other", "similarly", "likewise", "again", "either"))
"""Words that add something to what a sentence before has said."""
_CONDITIONS = frozenset(
    ("if", "when", "while", "once", "after", "since", "because", "given", "although", "though", "as")
)
_EXAMPLES = frozenset(("e.g.", "e.g", "say", "suppose", "imagine"))
_SENDING = frozenset(("see", "refer", "visit", "read", "check", "use", "follow", "submit", "contact", "email", "note"))
_PERSONS = frozenset(("i", "we", "me", "us", "my", "our", "you", "your", "he", "she"))
_SUBJECTS = ("nsubj", "nsubjpass")
_MISREAD = ("npadvmod", "nmod", "compound", "dep", "dobj", "appos", "amod", "attr")
_NOUNS = ("NOUN", "PROPN")
_CONTENT = ("NOUN", "PROPN", "VERB", "ADJ")
FEW, THIN = 2, 4
"""A sentence with fewer nouns, and fewer words of content, beside a phrase says little of it."""
_SIGNS = frozenset(("->", "=>", "==", "|", "{", "}", "+="))
_SYMBOL = re.compile(r"[^\w\s.,;:'\"()-]")
LONGEST_LEAD = 6
"""The most words of a term that a sentence begins with and explains."""
FEWEST_EXPLAINING = 4
"""The fewest words behind it."""
SHORT, LONG, LONGEST = 6, 42, 60
"""Fewer words than SHORT, or more than the others, weaken a sentence."""


@dataclass(frozen=True, slots=True)
class Form:
    """What holds for a whole sentence, whichever phrase it is asked about."""

    worth: float
    """What the form adds to E; below zero for most sentences that are hard to understand alone."""
    signs: frozenset[str]
    """The names of the signs of the sentence."""


@dataclass(frozen=True, slots=True)
class PhraseScore:
    """What one sentence says of one phrase."""

    says: float
    """E."""
    telling: float
    """Q, 0 to 1."""
    apart: float
    """Q with the sentence before it, on which it leans; Q itself where it does not lean on one."""
    subject: bool
    """Whether the phrase is a subject of the main clause."""
    pointed: bool
    """Whether a demonstrative, possessive or ordinal stands before the phrase, which belongs to a longer name."""


def form_of(sentence: Span, *, record: bool = False, decides: bool = False) -> Form | None:
    """Return the form of a sentence, or None for one without a finite verb, which says nothing.

    ``record`` tells that it is a speaker's turn or a line of minutes; ``decides`` that it says what was decided.
    """
    tags = {word.tag_ for word in sentence}
    root = sentence.root
    if root.pos_ in ("VERB", "AUX") and tags & {"VBZ", "VBP", "VBD", "MD", "VB"}:
        subject = _subject_of(root)
        signs = {*_of_verb(root), *_of_subject(root, subject), *_of_words(sentence, subject)}
    elif 0 < (lead := lead_of(sentence)) < sentence.end - FEWEST_EXPLAINING:
        signs = {"no verb", *_of_words(sentence, None)}
        if any(word.tag_ in ("VBZ", "VBP", "VBD", "MD") for word in sentence.doc[lead : sentence.end]):
            signs = (signs - {"no verb"}) | {"present"}
    elif decides:
        signs = {*_of_words(sentence, None)}
    else:
        return None
    if decides:
        signs = (signs - _EXCUSED) | {"decides"}
    elif record:
        signs.add("record")
    if sentence.start == 0:
        signs.add("first of its paragraph")
    worth = sum(_WORTH.get(sign, 0.0) for sign in signs)
    early = [word.lower_ for word in sentence[:8] if word.pos_ == "PRON"]
    worth -= 0.8 * sum(word in ("it", "this", "them", "they", "these", "those") for word in early)
    return Form(worth, frozenset(signs))


def lead_of(sentence: Span) -> int:
    """Return the token of the colon or dash behind the term that a sentence begins with and explains; -1 if there is none."""
    for word in sentence[: LONGEST_LEAD + 1]:
        dash = word.text in ("-", "–", "—") and word.i > sentence.start and bool(sentence.doc[word.i - 1].whitespace_)
        if (word.text == ":" or (dash and word.whitespace_)) and word.i > sentence.start:
            return word.i
        if word.pos_ in ("VERB", "AUX", "PRON", "SCONJ", "ADP") and word.i > sentence.start:
            return -1
    return -1


_WORTH = {
    "present": 0.5,
    "past": -0.4,
    "an order": -0.6,
    "I": -1.8,
    "we, you": -0.9,
    "pronoun as subject": -2.2,
    "pointing subject": -1.5,
    "a clause alone": -1.0,
    "question": -3.0,
    "colon at the end": -2.0,
    "no stop": -0.8,
    "small first letter": -1.6,
    "short": -2.0,
    "very long": -2.5,
    "long": -0.8,
    "and first": -0.8,
    "connective first": -0.4,
    "symbols": -1.5,
}
"""What a sign of the sentence adds to E."""


def _subject_of(verb: Token) -> Token | None:
    """Return the subject of a verb. A noun or a name directly before a finite verb without one, which the grammar misreads, is it."""
    children = list(verb.children)
    found = next((child for child in children if child.dep_ in _SUBJECTS), None)
    if found is None and verb.tag_ in ("VBZ", "VBP", "VBD"):
        before = (child for child in children if child.right_edge.i == verb.i - 1 and child.dep_ in _MISREAD)
        found = next((child for child in before if child.pos_ not in ("VERB", "AUX", "ADV")), None)
    return found


def _of_verb(root: Token) -> Collection[str]:
    signs = set()
    finite = _finite(root)
    if finite in ("VBZ", "VBP"):
        signs.add("present")
    elif finite == "VBD":
        signs.add("past")
    helping = {child.lower_ for child in root.children if child.dep_ in ("aux", "auxpass")}
    if not helping.isdisjoint(_MODALS):
        signs.add("modal")
    if not helping.isdisjoint(("will", "would", "'ll", "'d")):
        signs.add("will")
    if not helping.isdisjoint(("have", "has", "had", "'ve")):
        signs.add("perfect")
    if root.tag_ == "VBG" and not helping.isdisjoint(("is", "are", "was", "were", "am", "'re", "'s", "be")):
        signs.add("progressive")
    if any(child.dep_ == "neg" for child in root.children):
        signs.add("negated")
    if any(child.dep_ == "mark" for child in root.children):
        signs.add("a clause alone")
    return signs


def _of_subject(root: Token, subject: Token | None) -> Collection[str]:
    if subject is None:
        sends = {"sends elsewhere"} if root.lemma_.lower() in _SENDING else set()
        return {"an order", *sends} if root.tag_ == "VB" else {"no subject"}
    signs = set()
    if subject.tag_ == "EX":
        signs |= {"a clause alone", "there is"}
    if subject.pos_ == "PRON":
        said = subject.lower_
        signs.add("I" if said == "i" else "we, you" if said in ("we", "you") else "pronoun as subject")
    children = [child.lower_ for child in subject.children]
    if any(child.dep_ == "poss" for child in subject.children):
        signs.add("possessive subject")
    if any(child in ("this", "these", "such", "that", "those") for child in children):
        signs.add("pointing subject")
    elif "the" in children:
        signs.add("the subject")
    if any(child in ("a", "an") for child in children):
        signs.add("a subject")
    if any(child in ("some", "many", "several", "most", "few", "one") for child in children):
        signs.add("some subject")
    return signs


def _of_words(sentence: Span, subject: Token | None) -> Collection[str]:
    signs = set()
    words = [word.lower_ for word in sentence]
    text = sentence.text.strip()
    there = any(word.lower_ == "there" and word.tag_ != "EX" for word in sentence)
    if there or not _PLACED.isdisjoint(words):
        signs.add("points to a place")
    if not {"thus", "therefore", "hence", "then"}.isdisjoint(words[1:]):
        signs.add("follows")
    if any(_is_unresolved(word, subject) for word in sentence):
        signs.add("unresolved")
    if "..." in text or "…" in text or not _CHATTING.isdisjoint(words):
        signs.add("chat")
    if any(w.lower_ in ("it", "this", "them", "they", "these", "those") for w in sentence[:8] if w.pos_ == "PRON"):
        signs.add("early pronoun")
    if not _ADDING.isdisjoint(words[:6]):
        signs.add("adds")
    if not _PERSONS.isdisjoint(words):
        signs.add("person")
    if words[0] in _CONDITIONS:
        signs.add("condition first")
    if words[:2] in (["for", "example"], ["for", "instance"]) or not _EXAMPLES.isdisjoint(words):
        signs.add("example")
    last = text[-1:]
    if last == "?":
        signs.add("question")
    elif last == ":":
        signs.add("colon at the end")
    elif last not in ".!)\"'”’":
        signs.add("no stop")
    if text[:1].islower():
        signs.add("small first letter")
    count = sum(word.is_alpha for word in sentence)
    if count < SHORT:
        signs.add("short")
    elif count > LONGEST:
        signs.add("very long")
    elif count > LONG:
        signs.add("long")
    if words[0] in ("and", "but", "or", "so"):
        signs.add("and first")
    elif words[0] in _CONNECTIVES:
        signs.add("connective first")
    if "more" in words and not {"details", "information"}.isdisjoint(words):
        signs.add("sends elsewhere")
    if len(_SYMBOL.findall(text)) > 0.22 * len(text) or not _SIGNS.isdisjoint(words):
        signs.add("symbols")
    return signs


def _is_unresolved(word: Token, subject: Token | None) -> bool:
    """Return whether a word points to what another sentence names: "these issues", "has done that"."""
    if word.lower_ in _DEMONSTRATIVE and word.dep_ == "det":
        return subject is None or word.head != subject
    return word.lower_ in ("that", "this") and word.dep_ in ("dobj", "pobj")


def score_of(
    sentence: Span,
    form: Form,
    first: int,
    last: int,
    *,
    part: bool,
    strong: bool,
    earliest: bool,
    headed: bool = False,
    code: bool = False,
) -> PhraseScore:
    """Return what the sentence says of its tokens ``first:last`` (indices of the Doc).

    ``part``: they are only the end of a longer phrase. ``strong``: they are emphasised. ``earliest``: the document has
    not mentioned them before, as far as the passage tells. ``headed``: the heading above names them. ``code``: they are a name in code.
    """
    doc, root = sentence.doc, sentence.root
    head = doc[first:last].root
    role, subject, relative, signs = _role(head, root)
    says = role * PART if part else role
    if subject:
        verb = head.head if head.dep_ in _SUBJECTS else root
        more, predicate = _by_predicate(verb)
        says += more
        signs |= predicate
    if head.dep_ == "oprd" and head.head.lemma_.lower() in _CALLED:
        says += 2.2
        signs.add("called")
    at = first - sentence.start
    before = doc[first - 1].lower_ if at > 0 else ""
    if before == "in" and at == 1 and last < sentence.end and doc[last].text == ",":
        says += 1
        signs.add("in X,")
    if at <= 1:
        says += 0.4
        signs.add("at the start")
    if strong:
        says += 0.5
        signs.add("emphasised")
    pointed = before in _POINTING or (at > 0 and doc[first - 1].tag_ == "POS")
    if before == "the":
        says -= 0.5
        signs.add("the X")
    elif before in ("this", "these", "such", "that"):
        says -= 1.2
        signs.add("this X")
    elif pointed:
        says -= 0.6
        signs.add("its X")
    if relative:
        signs.add("subject of a relative clause")
    if at == 0 and last == lead_of(sentence) and (strong or doc[last].text == ":"):
        says += 2.5
        signs.add("explained")
    if before in _AMOUNTS or (at > 0 and doc[first - 1].like_num):
        signs.add("some X")
    elif at > 0 and doc[first - 1].pos_ == "ADJ" and is_vague(doc[first - 1]):
        signs.add("new X")
    if before in ("like", "(") and not subject:
        signs.add("like X")
    if subject and any(child.dep_ == "poss" for child in head.children):
        signs.add("somebody's X")
    names = sum(w.pos_ in _NOUNS and not first <= w.i < last for w in sentence)
    thin = names < FEW and sum(w.pos_ in _CONTENT and not first <= w.i < last for w in sentence) < THIN
    for name, holds in (("part", part), ("earliest", earliest), ("headed", headed), ("thin", thin)):
        if holds:
            signs.add(name)
    says += form.worth
    if code and "example" in form.signs:
        signs.add("example code")
    signs |= form.signs - ({"small first letter"} if at == 0 else set())
    odds = (
        BIAS
        + SAYS * says
        + LATE * min(at, 40)
        + LENGTH * min(sentence.end - sentence.start, 40)
        + sum(WEIGHTS.get(sign, 0.0) for sign in signs)
    )
    leaning = signs & LEANING
    apart = odds - sum(WEIGHTS.get(sign, 0.0) for sign in leaning) - WIDENED if leaning else odds
    pointed = pointed or before in _ORDINALS
    return PhraseScore(round(says, 2), _logistic(odds), _logistic(apart), subject, pointed)


def below_heading(sentence: Span, form: Form, *, later: bool, less: float) -> float:
    """Return the Q of a sentence below a heading for what the heading names, which counts as its subject.

    ``later``: it is not the first sentence there. ``less`` is taken from the log odds.
    """
    more, predicate = _by_predicate(sentence.root)
    signs = {*(form.signs - _ANSWERED), *predicate, "headed", "earliest"}
    content = [word for word in sentence if word.pos_ in _CONTENT]
    if len(content) < THIN and sum(word.pos_ in _NOUNS for word in content) < FEW:
        signs.add("thin")
    says = SUBJECT + more + sum(_WORTH.get(sign, 0.0) for sign in signs)
    length = LENGTH * min(sentence.end - sentence.start, 40)
    odds = BIAS + SAYS * says + length + sum(WEIGHTS.get(sign, 0.0) for sign in signs)
    return _logistic(odds - less - LATER * later)


def _logistic(odds: float) -> float:
    return round(1 / (1 + math.exp(-odds)), 3)


def _by_predicate(verb: Token) -> tuple[float, set[str]]:
    """Return what the predicate of a subject adds to E, and its signs."""
    lemma = verb.lemma_.lower()
    if lemma == "be":
        said = next((child for child in verb.children if child.dep_ == "attr"), None)
        if said is not None and any(child.lower_ in ("a", "an") for child in said.children):
            return 1.2, {"is a"}
        return 0.6, {"is"}
    done = {child.dep_ for child in verb.children}
    signs = {"does something"} if done & {"dobj", "ccomp", "xcomp", "oprd"} else {"does"}
    return (0.9, {*signs, "means"}) if lemma in _TELLING else (0.0, signs)


def _role(head: Token, root: Token) -> tuple[float, bool, bool, set[str]]:
    """Return the weight of the role, whether the phrase is a subject, whether of a relative clause, and its signs."""
    at, conjoined = head, False
    while at.dep_ == "conj" and at.head != at and at.head.pos_ in _NOUNS:
        at, conjoined = at.head, True
    signs = {"conjoined"} if conjoined else set()
    if at.dep_ in _SUBJECTS:
        verb = at.head
        if at.dep_ == "nsubjpass":
            signs.add("is done")
        if verb.dep_ == "relcl":
            return 0.6, False, True, signs
        if verb == root or (verb.dep_ == "conj" and verb.head == root):
            return (2.0 if conjoined else SUBJECT), True, False, {*signs, "main subject"}
        return 1.6, False, False, {*signs, "subject of a clause"}
    if at == _subject_of(root):
        return SUBJECT, True, False, {*signs, "main subject"}
    signs.add({"dobj": "object", "attr": "predicate", "pobj": "after a preposition"}.get(at.dep_, "other role"))
    above = [token.dep_ for token in at.ancestors]
    if any(dep in _SUBJECTS for dep in above):
        signs.add("inside a subject")
    elif at.dep_ == "dobj" and at.head == root:
        signs.add("main object")
    if any(dep in ("advcl", "relcl", "acl", "ccomp") for dep in above):
        signs.add("in a clause")
    if any(dep in ("relcl", "acl") for dep in above):
        signs.add("in a relative clause")
    return ROLES.get(at.dep_, OTHER_ROLE) * (0.7 if conjoined else 1), False, False, signs


def _finite(root: Token) -> str:
    """Return the tag of the word that carries the tense of the main verb."""
    if root.tag_ in ("VBZ", "VBP", "VBD"):
        return root.tag_
    aux = next((child for child in root.children if child.dep_ in ("aux", "auxpass")), None)
    return aux.tag_ if aux is not None else ""
