"""Phrases of a parsed paragraph that may be concepts.

They are runs of nouns with their modifiers, noun chunks, and the parts of runs that can stand alone.
The quality of the extraction depends more on the candidates than on their ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_DASHES = frozenset("-–/")
_LEADING = frozenset(("DET", "PRON", "NUM", "PUNCT", "ADV", "ADP", "CCONJ", "SCONJ", "SPACE", "PART", "SYM"))
_MODIFIERS = frozenset(("amod", "compound", "nmod"))
_VAGUE = frozenset(
    """new different various certain possible specific particular following existing current additional similar good better best
    main major important available necessary useful first second third last next previous whole entire actual original own
    other same such more most many several few further given proposed appropriate corresponding resulting interesting obvious
    single multiple non much little sure""".split()  # noqa: SIM905 - reads better as a paragraph
)
"""Modifiers that do not change the concept when they start a phrase."""
_UNIT = re.compile(r"[a-z]{1,3}\.?|[b-df-hj-np-tv-z]{4}\.?")
"""A unit of measure: g, ml, h., tbsp."""
MAX_RUN = 8
"""The longest run, in words. Longer runs are lists without commas, tables, or noise."""


@dataclass(slots=True)
class Phrase:
    """The tokens ``start:end`` of a paragraph."""

    start: int
    end: int
    run: bool = False
    """Whether the phrase is the longest run of nouns and modifiers around it."""
    chunk: bool = False
    """Whether the grammar takes the phrase for a whole noun phrase, without its determiners."""

    @property
    def whole(self) -> bool:
        return self.run or self.chunk


def phrases(doc: Doc) -> list[Phrase]:
    """Return all candidate phrases in order of the text, each span once."""
    found: dict[tuple[int, int], Phrase] = {}

    def note(start: int, end: int) -> Phrase:
        return found.setdefault((start, end), Phrase(start, end))

    for start, end in _named_of(doc):
        note(start, end).run = True
    for start, end in _runs(doc):
        if end - start == 1 and start > 0 and doc[start - 1].lower_ == "this":
            continue
        note(start, end).run = True
        for part in _parts(doc, start, end):
            note(*part)
    for chunk in doc.noun_chunks:
        start, end = _trim(doc, chunk.start, chunk.end)
        pointed = end - start == 1 and doc[chunk.start].lower_ == "this"
        if _cuts_a_word(doc, start, end):
            continue
        if 0 < end - start <= MAX_RUN and not pointed and _ends(doc, start, end):
            note(start, end).chunk = True
    return [found[span] for span in sorted(found)]


def _cuts_a_word(doc: Doc, start: int, end: int) -> bool:
    """Return whether a hyphen or slash binds a phrase to the word before or behind it: "spec" of "hac-spec"."""
    before = (
        start > 1
        and doc[start - 1].text in _DASHES
        and not doc[start - 1].whitespace_
        and not doc[start - 2].whitespace_
    )
    behind = (
        end + 1 < len(doc) and doc[end].text in _DASHES and not doc[end].whitespace_ and not doc[end - 1].whitespace_
    )
    return before or (end > 0 and behind)


def _runs(doc: Doc) -> Iterator[tuple[int, int]]:
    at, length = 0, len(doc)
    while at < length:
        stop = at
        while stop < length and (_fits(doc[stop]) or _begins(doc, stop) or (stop > at and _joins(doc, stop))):
            stop += 1
        end = stop
        while end > at and doc[end - 1].pos_ not in ("NOUN", "PROPN"):
            end -= 1
        if end == stop and is_numbered(doc, stop):
            end += 1
        first = at + _is_measured(doc, at)
        while first < end and is_vague(doc[first]):
            first += 1
        if 0 < end - first <= MAX_RUN:
            yield first, end
        at = max(stop, at + 1)


def _is_measured(doc: Doc, at: int) -> bool:
    """Return whether a token is the unit behind a number: "500 g floury potatoes"."""
    return 0 < at < len(doc) - 1 and doc[at - 1].like_num and _UNIT.fullmatch(doc[at].text) is not None


def _named_of(doc: Doc) -> Iterator[tuple[int, int]]:
    """Yield names with "of" inside: "Inversion of Control", each noun with a capital."""
    for token in doc[1:-1]:
        if token.lower_ == "of" and _is_capital(doc[token.i - 1]) and _is_capital(doc[token.i + 1]):
            first, end = token.i - 1, token.i + 2
            while first > 0 and _is_capital(doc[first - 1]) and doc[first - 1].pos_ in ("NOUN", "PROPN", "ADJ"):
                first -= 1
            while end < len(doc) and _is_capital(doc[end]):
                end += 1
            if end - first <= MAX_RUN and (first > doc[first].sent.start or doc[first].pos_ == "PROPN"):
                yield first, end


def _is_capital(token: Token) -> bool:
    return token.text[:1].isupper() and token.pos_ in ("NOUN", "PROPN", "ADJ")


def belongs_to_of(doc: Doc, start: int, end: int) -> bool:
    """Return whether a phrase is only the head, or the end, of a name with "of" or "and": "code" of "code of conduct",
    "Medical Leave Act" of "Family and Medical Leave Act"."""
    follows = end + 1 < len(doc) and doc[end].lower_ == "of" and doc[end + 1].pos_ in ("NOUN", "PROPN")
    capital = start > 1 and doc[start - 1].lower_ == "of" and _is_capital(doc[start]) and _is_capital(doc[start - 2])
    joined = start > 1 and end - start > 1 and doc[start - 1].lower_ in ("and", "&") and _is_capital(doc[start])
    named = joined and _is_capital(doc[start - 2]) and _is_capital(doc[end - 1]) and start - 2 > doc[start].sent.start
    return (follows and end - start == 1) or capital or named


def _fits(token: Token) -> bool:
    if token.dep_ == "npadvmod" and token.head.pos_ in ("VERB", "AUX"):
        return False  # a time or place: "we have Bitcoin Script today"
    return token.pos_ in ("NOUN", "PROPN", "ADJ") or (token.tag_ in ("VBN", "VBG") and token.dep_ in _MODIFIERS)


def is_numbered(doc: Doc, at: int) -> bool:
    """Return whether the token at ``at`` is a number that belongs to the name before it: 'Python 3', 'PEP 8'."""
    return 0 < at < len(doc) and doc[at].text[0].isdigit() and doc[at].pos_ == "NUM" and doc[at - 1].text[0].isupper()


def _ends(doc: Doc, start: int, end: int) -> bool:
    return doc[end - 1].pos_ in ("NOUN", "PROPN") or (end - start > 1 and is_numbered(doc, end - 1))


def is_vague(token: Token) -> bool:
    """Return whether a modifier at the start of a phrase does not change the concept."""
    return (token.lower_ in _VAGUE or token.tag_ in ("JJR", "JJS")) and bool(token.whitespace_)


def _begins(doc: Doc, at: int) -> bool:
    """Return whether the token is the first part of a hyphenated word: 'on-line', '17-month'.

    Its part of speech does not matter.
    """
    return (
        at + 2 < len(doc)
        and doc[at + 1].text in _DASHES
        and doc[at].text[0].isalnum()
        and not doc[at].whitespace_
        and not doc[at + 1].whitespace_
    )


def _joins(doc: Doc, at: int) -> bool:
    """Return whether the token is a hyphen or slash inside a word."""
    return doc[at].text in _DASHES and not doc[at - 1].whitespace_ and not doc[at].whitespace_


def _parts(doc: Doc, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run that end with a noun and cut no hyphenated word."""
    borders = [at for at in range(start, end) if at == start or doc[at - 1].whitespace_]
    for first in borders:
        for last in (*borders[1:], end):
            if last > first and (first, last) != (start, end) and doc[last - 1].pos_ in ("NOUN", "PROPN"):
                yield first, last


def _is_leading(token: Token) -> bool:
    return token.is_stop or token.pos_ in _LEADING or is_vague(token)


def _trim(doc: Doc, start: int, end: int) -> tuple[int, int]:
    while start < end and not _begins(doc, start) and _is_leading(doc[start]):
        start += 1
    while end > start and doc[end - 1].pos_ in ("PUNCT", "PART", "SPACE"):
        end -= 1
    return start, end
