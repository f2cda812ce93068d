"""The forms of a noun in other languages than English: number and case are folded, and nothing else.

Snowball's stemmers fold more: *navigateur* and *navigation*, *Entfernen* and *Entfernung* would be one thing. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_UMLAUTS = str.maketrans("äöü", "aou")
_GERMAN = (("innen", 8), ("en", 5), ("es", 6), ("e", 5), ("s", 5), ("n", 6))
"""Endings, and the letters of the shortest word that is taken for having each. Not *er*: Eigentum and Eigentümer are two."""
_ACUTE = str.maketrans("áéíóú", "aeiou")


def stem(word: str, language: str) -> str:
    """Return what the forms of a word in lower case share; the word itself in a language that is not read."""
    fold = _FOLDS.get(language)
    return fold(word) if fold and len(word) > 3 and word.isalpha() else word


def _german(word: str) -> str:
    """Fold cases and most plurals: Schnappschuss, Schnappschüsse, Schnappschüssen; geänderte, geänderten."""
    word = word.translate(_UMLAUTS)
    if word.endswith("ss"):
        return word
    for ending, shortest in _GERMAN:
        if word.endswith(ending) and len(word) >= shortest:
            return word[: -len(ending)]
    return word


def _french(word: str) -> str:
    if word.endswith("aux") and len(word) > 5 and not word.endswith("eaux"):
        return f"{word[:-3]}al"
    return word[:-1] if word.endswith(("s", "x")) and not word.endswith(("ss", "us", "is")) else word


def _spanish(word: str) -> str:
    word = word.translate(_ACUTE)
    if word.endswith("ces"):
        return f"{word[:-3]}z"
    if word.endswith("es") and len(word) > 4 and word[-3] in "lrndsjy":
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("is", "us")) else word


def _italian(word: str) -> str:
    for several, one in (("chi", "co"), ("che", "ca"), ("ghi", "go"), ("ghe", "ga")):
        if word.endswith(several):
            word = word[:-3] + one
    return word[:-1] if word[-1] in "aeio" else word


def _portuguese(word: str) -> str:
    for several, one in (("ões", "ão"), ("ães", "ão"), ("ais", "al"), ("éis", "el"), ("óis", "ol"), ("ns", "m")):
        if word.endswith(several) and len(word) > len(several) + 1:
            return word[: -len(several)] + one
    if word.endswith("es") and word[-3] in "rzs":
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def _dutch(word: str) -> str:
    if word.endswith("en") and len(word) > 5:
        word = word[:-2]
        return word[:-1] if len(word) > 2 and word[-1] == word[-2] else word
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


_FOLDS: Mapping[str, Callable[[str], str]] = {
    "de": _german,
    "fr": _french,
    "es": _spanish,
    "it": _italian,
    "pt": _portuguese,
    "nl": _dutch,
}
READ = frozenset(_FOLDS)
"""The languages that are read by counts with their own function words."""
