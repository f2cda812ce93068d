"""One name for different things: which of a concept's definitions speak of something else than the others. Pure functions.

Two documents mean different things by a name where what they define it as shares no word ("a liquid metal", "the planet
closest to the sun"), and hardly any word of their other sentences about it is the same. A document that says little of it is
taken to mean what the others mean.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kgfs.domain.word_forms import forms_in
from kgfs.render.search import FUNCTION_WORDS

FEWEST = 5
"""Words besides the name that a document must say of a thing to be taken for one that means another thing."""
SHARED = 0.1
"""The share of the words of one meaning that a document of another one has at most."""
MOST = 5
"""The most meanings that are told."""

_DEFINED = re.compile(r"\b(?:is|are|was|were)\s+(?:an?|the|one\s+of\s+the)\s+(?P<what>[^,.;:()]+)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Said(Generic[Line]):
    """A piece of evidence of a concept."""

    document: int
    defines: bool
    quote: str
    line: Line


@dataclass(slots=True)
class _Meaning(Generic[Line]):
    line: Line
    what: set[str]
    words: set[str] = field(default_factory=set)


def meanings_of(names: Iterable[str], evidence: Collection[Said[Line]]) -> tuple[Line, ...]:
    """Return a definition of each thing that a name is used for, or () where it is used for one.

    ``names`` are the concept's names. ``evidence`` comes best first, and so do the definitions.
    """
    own = {form for name in names for form in forms_in(name)}
    words: dict[int, set[str]] = {}
    defined: dict[int, Said[Line]] = {}
    for one in evidence:
        words.setdefault(one.document, set()).update(_words(one.quote) - own)
        if one.defines and _DEFINED.search(one.quote):
            defined.setdefault(one.document, one)
    found: list[_Meaning[Line]] = []
    for document, one in defined.items():
        said = words[document]
        what = _what(one.quote) - own
        if not what or len(said) < FEWEST:
            continue
        known = next((each for each in found if each.what & what or _are_near(each.words, said)), None)
        if known is None:
            found.append(known := _Meaning(one.line, set()))
        known.what |= what
        known.words |= said
    return tuple(each.line for each in found[:MOST]) if len(found) > 1 else ()


def _are_near(one: set[str], other: set[str]) -> bool:
    return len(one & other) > SHARED * min(len(one), len(other))


def _what(quote: str) -> set[str]:
    """Return the words of what a sentence defines its subject as, up to the first function word."""
    found = _DEFINED.search(quote)
    taken: list[str] = []
    for word in _WORD.findall(found["what"]) if found else ():
        if word.lower() in FUNCTION_WORDS:
            break
        taken.append(word)
    return {form for word in taken for form in forms_in(word)}


def _words(quote: str) -> set[str]:
    return {form for word in _WORD.findall(quote) if word.lower() not in FUNCTION_WORDS for form in forms_in(word)}
