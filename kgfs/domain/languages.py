"""The language of a text, told by its function words. All functions are pure and take time linear in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from kgfs.domain.function_words import WORDS

ENGLISH = "en"
UNKNOWN = "und"
"""What a text is called whose language is none of NAMES (ISO 639-2: undetermined)."""
NAMES: Mapping[str, str] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    UNKNOWN: "unknown language",
}
SCANNED = 200_000
"""Characters from the beginning that tell the language of a document."""
FEWEST = 15
"""Words of the shortest text whose language is told against that of what it stands in."""

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTER, _LATIN = re.compile(r"[^\W\d_]"), re.compile(r"[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\ufb00-\ufb06]")
_DIFFERENT = 3
"""The fewest different function words by which another language than the expected one is told."""
_SHARE = 0.12
"""Least share of a language's function words among the words of a text in it; texts have .3 to .5."""
_AHEAD = 1.4
"""By what factor a language has more of them than the next one, where it is not the expected one."""
_POOR = 0.06
"""Share of English function words below which a long text is no English, whatever else it is."""
_LONG = 150
_SPEAKERS: Mapping[str, tuple[str, ...]] = {
    word: tuple(code for code in WORDS if word in WORDS[code]) for word in sorted(set().union(*WORDS.values()))
}


def language_of(text: str, expected: str = ENGLISH) -> str:
    """Return the code of the language of a text; UNKNOWN for one of none of NAMES.

    The script tells first: a text that is mostly in other letters than Latin ones is of none of NAMES. A text that is too
    short to tell, or has hardly any sentences, is of the ``expected`` language.
    """
    read = text[:SCANNED]
    if not read.isascii() and 2 * len(_LATIN.findall(read)) < len(_LETTER.findall(read)):
        return UNKNOWN
    words = [word.casefold() for word in _WORD.findall(_COMMENT.sub(" ", read) if "<!--" in read else read)]
    if len(words) < FEWEST:
        return expected
    counts: Counter[str] = Counter()
    for word in words:
        speakers = _SPEAKERS.get(word, ())
        for code in speakers:
            counts[code] += 1 / len(speakers)  # type: ignore[assignment]
    ordered = counts.most_common(2)
    best, most = ordered[0] if ordered else (expected, 0.0)
    second = ordered[1][1] if len(ordered) > 1 else 0.0
    if most >= _SHARE * len(words):
        different = len({word for word in words if best in _SPEAKERS.get(word, ())})
        if best == expected or (most >= _AHEAD * second and different >= _DIFFERENT):
            return best
    plain = sum(map(str.isascii, words))
    strange = plain < 0.9 * len(words) or (len(words) >= _LONG and counts[ENGLISH] < _POOR * len(words))
    if expected == ENGLISH and counts[ENGLISH] < _SHARE * len(words) and strange:
        return UNKNOWN
    return expected
