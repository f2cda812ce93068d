"""Read a question: its words, how much each one says of what is asked, and the kind of answer it asks for. Pure functions.

The weight of a word is how rare it is times the share of its part of speech. Rarity mixes how common the word is in English
(its rank) with how many Sources of the home have it: the rank counts as BACKGROUND Sources, so that it decides in a home of
one note, and the home's own texts decide in a large one. A word that frames the question counts as less rare than it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from kgfs.domain.word_forms import forms_of, words_in
from kgfs.render.search import FUNCTION_WORDS, telling_words

BACKGROUND = 300
"""The number of Sources that the rank of a word counts for."""
SOURCE_WORDS = 150
"""The words of a Source, about, for the odds that it has a word of some rank."""
ZIPF = 0.1
"""The share of a word of rank r among all words of English texts is about ZIPF / r."""
PARTS = {"PROPN": 1.3, "NUM": 1.2, "NOUN": 1.0, "ADJ": 0.7, "VERB": 0.6, "AUX": 0.6, "ADV": 0.4}
"""The share of a word's rarity that counts, by its part of speech."""
LONGEST_NAME = 4
"""Words of a name of a concept that is looked for in a question."""
FRAME = 0.3
"""The share of its rarity that a word has which frames a question and says little of its subject."""
FRAME_WORDS = frozenset(
    """mean meant happen say said tell told call called get got use used work make made many much long often old new kind way
    thing reason difference different differ compare compared allow need must may might should shall""".split()  # noqa: SIM905
)
_ASKED = (
    ("date", re.compile(r"\bwhen\b|\bwhat (?:year|date|day|month)\b|\bwhich (?:year|date|day|month)\b")),
    (
        "number",
        re.compile(
            r"\bhow (?:many|much|long|old|fast|large|big|far|often)\b|\bcosts?\b|\bprice\b|\bwhat (?:share|percentage|number)\b"
        ),
    ),
    ("name", re.compile(r"\bwho(?:se|m)?\b")),
    ("reason", re.compile(r"\bwhy\b")),
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question that is looked for."""

    text: str
    form: str
    """The form that is compared with the forms of texts."""
    rarity: float
    """Its idf; FRAME of that for a word that frames the question."""
    weight: float
    """How much its absence says that the answer is absent: rarity times the share of its part of speech."""
    others: tuple[frozenset[str], ...] = ()
    """The forms of each other name of the concept that it names, or is a part of the name of."""

    def stands_in(self, forms: Collection[str]) -> bool:
        """Return whether the word, or another name of its concept, is among these forms."""
        return self.form in forms or any(all(form in forms for form in other) for other in self.others)


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    words: tuple[Word, ...]
    asked: str
    """date, number, name or reason; '' for anything else."""
    total: int
    """The number of Sources that the rarities rest on, the background's included."""

    @property
    def tells(self) -> bool:
        """Return whether any word says what is asked about: function words alone do not."""
        return any(word.text.lower() not in FUNCTION_WORDS for word in self.words)

    @property
    def forms(self) -> frozenset[str]:
        return frozenset(word.form for word in self.words)


@cache
def _frame_forms() -> frozenset[str]:
    return frozenset(form for word in FRAME_WORDS for form in forms_of(word)[:1])


def kind_asked(question: str) -> str:
    lowered = question.lower()
    return next((kind for kind, pattern in _ASKED if pattern.search(lowered)), "")


def weighed(
    question: str,
    parts: Mapping[str, str],
    rank: Callable[[str], int],
    held: Mapping[str, int],
    sources: int,
    aliases: Mapping[str, Sequence[frozenset[str]]] | None = None,
) -> Question:
    """Return the question with its words weighed.

    ``parts`` are parts of speech (Universal Dependencies) by word, where a grammar has read the question; else names and
    numbers are told by their shape. ``held`` has the number of Sources that have each form, of ``sources``; ``aliases`` the forms
    of the other names of the concepts that the question names, by each form of the name that it uses.
    """
    words: dict[str, Word] = {}
    first = next(iter(words_in(question)), "")
    for text in telling_words(question):
        form = forms_of(text)[0]
        if form in words:
            continue
        odds = 1 - math.exp(-SOURCE_WORDS * ZIPF / rank(text))
        frame = FRAME if form in _frame_forms() else 1.0
        rarity = frame * math.log((sources + BACKGROUND + 1) / (held.get(form, 0) + BACKGROUND * odds + 0.5))
        share = PARTS.get(parts.get(text) or _shape(text, first), 1.0)
        words[form] = Word(text, form, rarity, rarity * share, tuple((aliases or {}).get(form, ())))
    return Question(question, tuple(words.values()), kind_asked(question), sources + BACKGROUND)


def share_of(question: Question, forms: Collection[str]) -> float:
    """Return the share of the question's rarity that words with these forms have."""
    whole = math.fsum(word.rarity for word in question.words)
    return math.fsum(word.rarity for word in question.words if word.stands_in(forms)) / whole if whole else 0.0


def words_among(question: Question, forms: Collection[str]) -> float:
    """Return the share of the question's words that are among the forms, all words alike."""
    return sum(word.stands_in(forms) for word in question.words) / max(len(question.words), 1)


def heaviest_missing(question: Question, forms: Collection[str]) -> float:
    """Return the weight of the heaviest word that is not among the forms; 0 where none is missing."""
    return max((word.weight for word in question.words if not word.stands_in(forms)), default=0.0)


def named_in(question: str) -> list[str]:
    """Return the runs of at most LONGEST_NAME words of a question that may name a concept, the longest first."""
    words = words_in(question)
    runs = [words[at : at + n] for n in range(LONGEST_NAME, 0, -1) for at in range(len(words) - n + 1)]
    return list(dict.fromkeys(" ".join(run) for run in runs if run[0].lower() not in FUNCTION_WORDS))


def _shape(text: str, first: str) -> str:
    if text.isdigit():
        return "NUM"
    inner = any(char.isupper() or char.isdigit() or char == "_" for char in text[1:])
    return "PROPN" if inner or (text[:1].isupper() and text != first) else "NOUN"
