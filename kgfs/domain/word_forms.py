"""The forms by which words are found: stems, identifiers whole and in parts, characters of scripts without spaces.

A word is a run of letters, digits and ``_``, with what stands above, below and invisibly inside it: combining marks, soft hyphens,
zero-width spaces and joiners. These, case and accents do not count, so that it is found however it was typed. Where camelCase, ``_`` or digits part a word it
has the stems of the whole word and of each part as its forms; else its stem. A run of characters of a script that is written
without spaces (Chinese, Japanese, Korean, Thai …) has each character and each pair of neighbours, so that a part of the run
is found, too. All functions are pure; results are the same in all processes with the same ``FORMS``.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cached_property, lru_cache
from typing import Any

FORMS = 3
"""The version of what this module returns: what was derived by another version is derived anew."""
LONGEST = 64
"""Characters of a form; longer words are no words, and are cut."""

JOINERS = "\u00ad\u034f\u180e\u200b-\u200d\u2060\ufeff"
"""What stands inside a word unseen, as a class of characters: the soft hyphen, zero-width spaces and joiners."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
"""Marks above and below letters: accents of decomposed letters, points and vowels of Hebrew and Arabic."""
WORD = re.compile(rf"\w(?:[\w{_MARKS}{JOINERS}]*[\w{_MARKS}])?")
_PLAIN_WORD = re.compile(r"\w+")
_JOINER = re.compile(f"[{JOINERS}]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003134f]+"
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+|\d+")


def words_in(text: str) -> list[str]:
    """Return the words of a text as they stand there."""
    return (_PLAIN_WORD if text.isascii() else WORD).findall(text)


def forms_in(text: str) -> list[str]:
    """Return the forms of all words of a text, in order."""
    found: list[str] = []
    for word in words_in(text):
        found += forms_of(word)
    return found


def stems_in(text: str) -> list[str]:
    """Return the stem of each word of a text, in order; of scripts that are written without spaces, each character."""
    found: list[str] = []
    for word in map(plain, words_in(text)):
        if word.isascii() or not _UNSPACED.search(word):
            found.append(stem(word))
        else:
            found += word
    return found


@lru_cache(1 << 17)
def forms_of(word: str) -> tuple[str, ...]:
    """Return the forms of one word."""
    if word.isascii():
        return _spaced(word)
    word = plain(word, keep_case=True)
    if not _UNSPACED.search(word):
        return _spaced(word)
    found: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            found += _spaced(word[at : run.start()])
        at, piece = run.end(), run[0]
        found += piece
        found += [piece[i : i + 2] for i in range(len(piece) - 1)]
    return (*found, *(_spaced(word[at:]) if at < len(word) else ()))


def without_joiners(text: str) -> str:
    """Return a text without soft hyphens, zero-width spaces and joiners."""
    return text if text.isascii() else _JOINER.sub("", text)


def plain(word: str, *, keep_case: bool = False) -> str:
    """Return a word without accents and joiners and, unless ``keep_case``, in lower case."""
    if word.isascii():
        return word if keep_case else word.lower()
    word = without_joiners(word)
    decomposed = unicodedata.normalize("NFKD", word if keep_case else word.casefold())
    kept = "".join(char for char in decomposed if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", kept)  # syllables of Hangul are one character again


def _spaced(word: str) -> tuple[str, ...]:
    parts = _PARTS.findall(word)
    if len(parts) == 1 and parts[0] == word.strip("_"):
        return (stem(parts[0].casefold()[:LONGEST]),)
    return (stem(word.casefold()[:LONGEST]), *(stem(part.casefold()[:LONGEST]) for part in parts)) if parts else ()


@lru_cache(1 << 17)
def stem(word: str) -> str:
    """Return the Snowball stem (English) of a word in lower case."""
    return str(_stemmers.own.stemWord(word))


class _Stemmers(threading.local):
    """The stemmer of each thread: that in C is not for several at once."""

    @cached_property
    def own(self) -> Any:
        try:  # loaded where something is searched or indexed
            from Stemmer import Stemmer
        except ModuleNotFoundError:  # the same stems in twelve times the time
            from snowballstemmer import stemmer

            return stemmer("english")
        return Stemmer("english", 0)


_stemmers = _Stemmers()
