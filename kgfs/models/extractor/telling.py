"""What a sentence says of a phrase in it: how much (E), and whether it is worth showing as evidence (Q).

E adds up the phrase's grammatical role, the form of the sentence and what weakens it. Q is a logistic function of E and
of what makes a sentence hard to understand alone. ``docs/knowledge.md`` states both.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

ROLES = {"dobj": 1.0, "attr": 0.9, "appos": 0.9, "oprd": 2.2, "pobj": 0.3, "conj": 0.3}
OTHER_ROLE = 0.3
PART = 0.35
"""Factor of the role of a phrase that is only the end of a longer noun phrase."""
Q_BIAS = -0.1

_PLACED = frozenset("above below following previous preceding aforementioned latter former here".split())  # noqa: SIM905
"""Words that point to another place of the text."""
_CHATTING = frozenset(
    """actually anyway apparently basically definitely frankly honestly kinda literally maybe obviously okay perhaps pretty probably
    really sorta totally well yeah yes""".split()  # noqa: SIM905 - reads better as a paragraph
)
"""Words of speech, which tells its listeners and not a reader."""
_DEMONSTRATIVE = frozenset(("this", "these", "those", "such"))
_CONNECTIVES = frozenset(("however", "therefore", "thus", "moreover", "furthermore", "instead", "otherwise", "hence"))
_MODALS = frozenset(("can", "must", "may", "should", "will", "might", "could", "would", "shall"))
_POINTING = frozenset(("this", "that", "these", "those", "such", "its", "their", "his", "her", "our", "my", "your"))
_TELLING = frozenset(("mean", "contain", "consist", "include", "comprise", "describe", "denote", "define"))
_CALLED = frozenset(("call", "name", "know", "term"))
_SUBJECTS = ("nsubj", "nsubjpass")
_SYMBOL = re.compile(r"[^\w\s.,;:'\"()-]")


@dataclass(frozen=True, slots=True)
class Form:
    """What holds for a whole sentence, whichever phrase it is asked about."""

    worth: float
    """What the form adds to E; below zero for most sentences that are hard to understand alone."""
    telling: float
    """What the form adds to the log odds of Q."""


@dataclass(frozen=True, slots=True)
class PhraseScore:
    """What one sentence says of one phrase."""

    says: float
    """E."""
    telling: float
    """Q, 0 to 1."""
    subject: bool
    """Whether the phrase is a subject of the main clause."""
    pointed: bool
    """Whether a demonstrative or possessive stands before the phrase."""


def form_of(sentence: Span, *, record: bool = False) -> Form | None:
    """Return the form of a sentence, or None for one without a finite verb, which says nothing.

    ``record`` tells that it is a speaker's turn or a line of minutes.
    """
    tags = {word.tag_ for word in sentence}
    root = sentence.root
    if root.pos_ not in ("VERB", "AUX") or not tags & {"VBZ", "VBP", "VBD", "MD", "VB"}:
        return None
    worth = telling = 0.0
    finite = _finite(root)
    if finite in ("VBZ", "VBP"):
        worth, telling = 0.5, 0.3
    elif finite == "VBD":
        worth -= 0.4
    if any(child.lower_ in _MODALS for child in root.children if child.dep_ == "aux"):
        telling += 0.4
    subject = next((child for child in root.children if child.dep_ in _SUBJECTS), None)
    if subject is None:
        if root.tag_ == "VB":
            worth -= 0.6
    elif subject.pos_ == "PRON":
        pronoun = subject.lower_
        worth -= 1.8 if pronoun == "i" else 0.9 if pronoun in ("we", "you") else 2.2
        telling -= 0.9 if record else 0.5
    elif any(child.dep_ == "poss" for child in subject.children):
        telling -= 0.6
    if subject is not None and any(child.lower_ in ("this", "these", "such") for child in subject.children):
        worth -= 1.5
        telling -= 1.0
    if subject is None and root.tag_ == "VB":
        telling -= 0.8
    if any(child.dep_ == "mark" for child in root.children) or (subject is not None and subject.tag_ == "EX"):
        worth, telling = worth - 1.0, telling - 0.8
    if any(word.lower_ in _PLACED for word in sentence):
        telling -= 0.7
    if any(_is_unresolved(word, subject) for word in sentence):
        telling -= 0.7
    if "..." in sentence.text or "…" in sentence.text or any(word.lower_ in _CHATTING for word in sentence):
        telling -= 0.6
    early = [word.lower_ for word in sentence[:8] if word.pos_ == "PRON"]
    lost = sum(word in ("it", "this", "them", "they", "these", "those") for word in early)
    worth -= 0.8 * lost
    telling -= 1.0 * bool(lost)
    text = sentence.text.strip()
    last = text[-1:]
    if last == "?":
        worth, telling = worth - 3, telling - 3.1
    elif last == ":":
        worth, telling = worth - 2, telling - 1.0
    elif last not in ".!)\"'”’":
        worth, telling = worth - 0.8, telling - 0.6
    if text[:1].islower():
        worth, telling = worth - 1.6, telling - 1.0
    words = sum(word.is_alpha for word in sentence)
    worth -= 2 if words < 6 else 2.5 if words > 60 else 0.8 if words > 42 else 0
    telling -= 1.2 if words < 6 else 1.2 if words > 60 else 0
    first = sentence[0].lower_
    if first in ("and", "but", "or", "so"):
        worth, telling = worth - 0.8, telling - 0.6
    elif first in _CONNECTIVES:
        worth, telling = worth - 0.4, telling - 0.6
    if len(_SYMBOL.findall(text)) > 0.22 * len(text):
        worth -= 1.5
    if record:
        telling -= 0.5
    return Form(worth, telling)


def _is_unresolved(word: Token, subject: Token | None) -> bool:
    """Return whether a word points to what another sentence names: "these issues", "has done that"."""
    if word.lower_ in _DEMONSTRATIVE and word.dep_ == "det":
        return word.head is not subject
    return word.lower_ in ("that", "this") and word.dep_ in ("dobj", "pobj")


def score_of(
    sentence: Span, form: Form, first: int, last: int, *, part: bool, strong: bool, earliest: bool
) -> PhraseScore:
    """Return what the sentence says of its tokens ``first:last`` (indices of the Doc).

    ``part``: they are only the end of a longer phrase. ``strong``: they are emphasised. ``earliest``: the document has
    not mentioned them before, as far as the passage tells.
    """
    doc, root = sentence.doc, sentence.root
    head = doc[first:last].root
    role, subject, relative = _role(head, root)
    says = role * PART if part else role
    telling = 0.0
    if subject:
        verb = head.head if head.dep_ in _SUBJECTS else root
        says, telling = _by_predicate(verb, says, telling)
    if head.dep_ == "oprd" and head.head.lemma_.lower() in _CALLED:
        says, telling = says + 2.2, telling + 0.4
    at = first - sentence.start
    before = doc[first - 1].lower_ if at > 0 else ""
    if before == "in" and at == 1 and last < sentence.end and doc[last].text == ",":
        says += 1
    if at <= 1:
        says += 0.4
    if strong:
        says += 0.5
    pointed = before in _POINTING or (at > 0 and doc[first - 1].tag_ == "POS")
    if before == "the":
        says, telling = says - 0.5, telling - 0.8
    elif before in ("this", "these", "such", "that"):
        says, telling = says - 1.2, telling - 2.3
    elif pointed:
        says, telling = says - 0.6, telling - 2.3
    if relative:
        telling -= 1.8
    if before in ("like", "(") and not subject:
        telling -= 0.8
    if any(child.dep_ == "poss" for child in head.children) and subject:
        telling -= 2.9
    says += form.worth
    odds = Q_BIAS + 0.27 * says + telling + form.telling + 0.5 * earliest - 0.9 * min(at, 40) / 20
    return PhraseScore(round(says, 2), round(1 / (1 + math.exp(-odds)), 3), subject, pointed)


def _by_predicate(verb: Token, says: float, telling: float) -> tuple[float, float]:
    lemma = verb.lemma_.lower()
    if lemma == "be":
        attribute = next((child for child in verb.children if child.dep_ == "attr"), None)
        if attribute is not None and any(child.lower_ in ("a", "an") for child in attribute.children):
            return says + 1.2, telling + 1.0
        return says + 0.6, telling
    return (says + 0.9 if lemma in _TELLING else says), telling


def _role(head: Token, root: Token) -> tuple[float, bool, bool]:
    """Return the weight of the role, whether the phrase is a subject, and whether of a relative clause."""
    at, conjoined = head, False
    while at.dep_ == "conj" and at.head is not at and at.head.pos_ in ("NOUN", "PROPN"):
        at, conjoined = at.head, True
    if at.dep_ in _SUBJECTS:
        verb = at.head
        if verb.dep_ == "relcl":
            return 0.6, False, True
        if verb is root or (verb.dep_ == "conj" and verb.head is root):
            return (2.0 if conjoined else 3.0), True, False
        return 1.6, False, False
    return ROLES.get(at.dep_, OTHER_ROLE) * (0.7 if conjoined else 1), False, False


def _finite(root: Token) -> str:
    """Return the tag of the word that carries the tense of the main verb."""
    if root.tag_ in ("VBZ", "VBP", "VBD"):
        return root.tag_
    aux = next((child for child in root.children if child.dep_ in ("aux", "auxpass")), None)
    return aux.tag_ if aux is not None else ""
