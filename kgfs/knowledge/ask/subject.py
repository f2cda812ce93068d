"""Read what a question wants defined: "What is X?", "What does X mean?", "What is X in Y?". Pure functions.

Such a question is answered by the sentence that says what X is, wherever other sentences have more of its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgfs.domain.forms import form_key, plurals, singular
from kgfs.domain.identity import normalise_label
from kgfs.domain.word_forms import forms_in
from kgfs.render.search import FUNCTION_WORDS

LONGEST = 5
"""The most words of a subject."""
LONGEST_QUESTION = 500
"""The most characters of a question that wants something defined."""

_ARTICLE = r"(?:(?:an?|the)\s+)?"
_ASKED = (
    rf"(?:what|who)(?:\s+(?:is|are|was|were)|['’]s)\s+{_ARTICLE}(?P<subject>.+?)(?:\s+(?:used\s+)?for)?",
    rf"what\s+(?:do|does|did)\s+{_ARTICLE}(?P<subject>.+?)\s+(?:mean|do|stand\s+for)",
    rf"(?:define|explain)\s+{_ARTICLE}(?P<subject>.+?)",
    rf"what\s+is\s+meant\s+by\s+{_ARTICLE}(?P<subject>.+?)",
)
_ASKING = tuple(re.compile(rf"\s*{form}\s*[?.!]*\s*", re.IGNORECASE) for form in reversed(_ASKED))
_WITHIN = re.compile(rf"\s+(?:in|on|within|according\s+to|under)\s+{_ARTICLE}", re.IGNORECASE)
_OPENING = r"[\s*_`\"'“‘(>-]{0,40}"  # not any number: two such runs would be tried in all ways on a line of dashes
_CLOSING = r"[*_`\"'”’]*(?:\s*\([^()\n]{1,60}\))?(?:,[^,.\n]{1,60},)?"
_MORE = r"(?=(?:\W+\w+){3})"
_BY_VERB = (
    rf"\s+(?:(?:is|are|was|were)\s+(?:(?:simply|just|basically|essentially)\s+)?(?:an?\b|(?:the|any|one|where|when|how|what)\b{_MORE})"
    rf"|(?:refers?\s+to|means?|stands\s+for|describes?)\b{_MORE})"
)
_BY_MARK = rf"(?:\s*:|\s+[–—-]|—)[*_`]*{_MORE}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about."""

    name: str
    within: frozenset[str]
    """The forms of the words that say where: those of Y in "X in Y"."""

    @property
    def norm(self) -> str:
        return singular(normalise_label(self.name))


def subjects_of(question: str) -> list[Subject]:
    """Return what the question wants defined, as a whole and, where it says within what, without that; [] for any other question."""
    question = " ".join(question.split())
    if len(question) > LONGEST_QUESTION:
        return []
    matches = (form.fullmatch(question) for form in _ASKING)
    asked = next((str(match["subject"]) for match in matches if match), "").strip(" \"'“”`*")
    found = [Subject(asked, frozenset())]
    if within := _WITHIN.search(asked):
        found.append(Subject(asked[: within.start()], frozenset(forms_in(asked[within.end() :]))))
    return [one for one in found if _may_be_named(one.name)]


def _may_be_named(name: str) -> bool:
    words = name.split()
    return 0 < len(words) <= LONGEST and any(word.lower() not in FUNCTION_WORDS for word in words)


def says_what(text: str, subject: Subject) -> bool:
    """Return whether a sentence begins with the subject and goes on to say what it is: "X is a …", "X: …", "X refers to …"."""
    return _saying(subject.norm).match(text) is not None


@lru_cache(8)
def _saying(norm: str) -> re.Pattern[str]:
    """Return the beginning of such a sentence. A question has a few subjects, and thousands of sentences are held against them."""
    names = "|".join(_pattern(name) for name in plurals(norm))
    named = rf"(?:{names}){_CLOSING}(?:{_BY_VERB}|{_BY_MARK})|[\w /-]{{3,60}}\((?:{names})\){_BY_VERB}"
    return re.compile(rf"{_OPENING}{_ARTICLE}{_OPENING}(?:{named})", re.IGNORECASE)


def _pattern(name: str) -> str:
    return r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s-]+", name) if word)


def is_titled(titles: Sequence[str], subject: Subject) -> bool:
    """Return whether one of the titles is the name of the subject, alone or beside its short or long form in brackets."""
    key = form_key(subject.norm)
    return any(form_key(normalise_label(name)) == key for title in titles for name in _names_in(title))


def _names_in(title: str) -> Sequence[str]:
    before, bracket, inside = title.partition("(")
    return (title, before, inside.rstrip(") ")) if bracket else (title,)
