"""Tell which numbers and names of a statement stand nowhere in what it may rest on.

A model puts a statement into its own words, so most words differ. Numbers and capitalised names must not: they are compared by
value and by stem. Months, weekdays and years are values, too, in whatever way they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta

from kgfs.domain.function_words import WORDS as FUNCTION_WORDS
from kgfs.domain.word_forms import forms_of, plain, stem

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november")
MONTHS = {name[:length]: n for n, name in enumerate((*_MONTHS, "december"), 1) for length in (3, len(name))}
MONTHS["sept"] = 9
DAYS = {
    name[:length]: n
    for n, name in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
    for length in (3, len(name))
}
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
WORDS = {word: float(n) for n, word in enumerate(_SMALL.split())}
WORDS |= {word: float(n) for n, word in enumerate(_ORDINALS.split())}
WORDS |= {
    word: 10.0 * n for n, word in enumerate(["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 3)
}
WORDS |= {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "dozen": 12.0, "half": 0.5}
WORDS |= {"twice": 2.0, "double": 2.0, "once": 1.0, "quarter": 0.25}
_SCALES = {"k": 1e3, "m": 1e6, "bn": 1e9, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_COUNTED = (3.0, 99.0)
"""Number words between these are judged: "one of them", "the second", "half" and "a thousand" count nothing."""

_TOKEN = re.compile(
    r"(?P<number>\d[\d,. \u00a0\u202f]*\d|\d)(?P<unit>\s?(?:k|m|bn|thousand|million|billion)\b)?|(?P<word>[^\W\d_][\w'’]*(?:[-.&][\w'’]+)*)",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_SENTENCE = re.compile(r"(?:^|[.!?:;]\s+|\n\s*)[\"'“‘(\[*_`]*$")
_PIECE = re.compile(r"[^\W_]+")
_RELATIVE = re.compile(
    r"\b(last|previous|past|next|coming|this|current)\s+(year|month|week|"
    + "|".join(MONTHS)
    + r"|"
    + "|".join(DAYS)
    + r")\b"
    r"|\b(yesterday|today|tomorrow)\b",
    re.IGNORECASE,
)
_CLOSED = frozenset(FUNCTION_WORDS["en"])

Common = Callable[[str], bool]
"""Tells whether a word is an ordinary word of the language."""


class Grounds:
    """What a statement may rest on: the words and numbers of a document, and what is known around it."""

    def __init__(
        self,
        text: str,
        *around: str,
        labels: Iterable[str] = (),
        domains: Iterable[str] = (),
        date: str = "",
        common: Common = lambda word: False,
    ) -> None:
        """Look through everything once. ``date`` is the document's own, such as ``2025-06-30``; '' if it has none."""
        self._numbers: set[float] = set()
        self._rounded: set[float] = set()
        """What the numbers come to without their decimals, which a statement may leave out."""
        self._verbatim: set[str] = set()
        self._stems: set[str] = set()
        self._lower: set[str] = set()
        self._months: set[int] = set()
        self._days: set[int] = set()
        self._common = common
        self.year = int(date[:4]) if re.match(r"\d{4}-", date) else 0
        """The year of the document's own date; 0 if it has none."""
        for piece in (text, *around, *labels, *domains, date):
            self._take(piece)
        self._take_date(date, text)

    def invented(self, statement: str) -> tuple[str, ...]:
        """Return the numbers and capitalised names of a statement that stand nowhere, in order."""
        return tuple(shown for shown, stands in self._judged(statement) if not stands)

    def added(self, statement: str, source: str) -> tuple[str, ...]:
        """Return the numbers and names that stand here and not in ``source``, a part of the document."""
        part = Grounds(source, common=self._common)
        lacking = {*part.invented(statement)}
        return tuple(dict.fromkeys(shown for shown, stands in self._judged(statement) if stands and shown in lacking))

    def _take(self, text: str) -> None:
        for found in _TOKEN.finditer(text):
            if found["number"]:
                values = _values(found["number"], found["unit"])
                self._numbers.update(values)
                self._rounded.update(map(float, map(round, values)), map(float, map(int, values)))
                self._verbatim.update(_VERSION.findall(found["number"]))
                self._take_numeric_date(found["number"], text, found.end())
            else:
                self._take_word(found["word"])

    def _take_word(self, word: str) -> None:
        low = plain(word)
        self._stems.update(_stems(word))
        if word[:1].islower():
            self._lower.add(low)
        for piece in _PIECE.findall(low):
            if piece in WORDS:
                self._numbers.add(WORDS[piece])
            if piece in MONTHS:
                self._months.add(MONTHS[piece])
            if piece in DAYS:
                self._days.add(DAYS[piece])
            if piece.isdigit():
                self._numbers.add(float(piece))

    def _take_numeric_date(self, number: str, text: str, end: int) -> None:
        """Take the month of a date in figures: ``2025-07-04``, ``07/2025``, ``4.7.2025``."""
        found = re.match(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?", text[end - len(number) : end + 6])
        if found and 1 <= int(found[2]) <= 12:
            self._months.add(int(found[2]))
            if found[3]:
                self._days.update(_weekday(int(found[1]), int(found[2]), int(found[3])))
        found = re.match(r"(?:(\d{1,2})[./])?(\d{1,2})[./](\d{4})", text[end - len(number) : end + 8])
        if found:
            self._months.update(int(part) for part in (found[1], found[2]) if part and 1 <= int(part) <= 12)

    def _take_date(self, own: str, text: str) -> None:
        """Take what "last year" and the like come to by the document's date."""
        try:
            at = date.fromisoformat(own)
        except ValueError:
            return
        self._months.add(at.month)
        for found in _RELATIVE.finditer(text):
            step = {"l": -1, "p": -1, "n": 1, "c": 1, "y": -1}.get((found[1] or found[3])[0].lower(), 0)
            step = 0 if (found[1] or "").lower() == "current" else 1 if (found[3] or "").lower() == "tomorrow" else step
            word = (found[2] or "day").lower()
            if word == "day":
                self._take_day(at + timedelta(days=step))
            elif word == "month":
                months = at.year * 12 + at.month - 1 + step
                self._months.add(months % 12 + 1)
                self._numbers.add(float(months // 12))
            elif word in MONTHS:
                self._numbers.update((float(at.year), float(at.year + step)))
            else:
                self._numbers.add(float(at.year + step))

    def _take_day(self, at: date) -> None:
        self._numbers.update((float(at.year), float(at.day)))
        self._months.add(at.month)
        self._days.add(at.weekday())

    def _judged(self, statement: str) -> Iterator[tuple[str, bool]]:
        """Yield each number and name of a statement, and whether it stands here."""
        for found in _TOKEN.finditer(statement):
            if found["number"]:
                yield found[0].strip(), self._has_number(found["number"], found["unit"])
                continue
            word = found["word"]
            low = plain(word).removesuffix("'s").removesuffix("’s")
            if low in WORDS and not (word[:1].isupper() and low in self._lower):
                if _COUNTED[0] <= WORDS[low] <= _COUNTED[1]:
                    yield word, WORDS[low] in self._numbers or bool({*_stems(word)} & self._stems)
            elif any(char.isdigit() for char in word) and not _is_name(word):
                yield word, all(part in self._stems for part in _stems(word)[1:])
            elif _is_name(word) and not self._begins(statement, found.start(), word, low):
                yield word, self._has_name(word, low)

    def _begins(self, statement: str, at: int, word: str, low: str) -> bool:
        """Return whether a word is only capitalised because its sentence begins with it."""
        if any(char.isupper() for char in word[1:]) or not _SENTENCE.search(statement[:at]):
            return False
        return low in _CLOSED or low in self._lower or self._common(low)

    def _has_number(self, number: str, unit: str | None) -> bool:
        if versions := _VERSION.findall(number):
            return all(one in self._verbatim for one in versions)
        values = _values(number, unit)
        whole = "." not in number
        return any(value in self._numbers or (whole and value in self._rounded) for value in values)

    def _has_name(self, word: str, low: str) -> bool:
        if low in MONTHS:
            return MONTHS[low] in self._months
        if low in DAYS:
            return DAYS[low] in self._days
        if low in _CLOSED:
            return True
        wanted = _stems(word)
        return wanted[0] in self._stems or all(part in self._stems for part in wanted[1:] or wanted)


def _is_name(word: str) -> bool:
    return word[:1].isupper() or any(char.isupper() for char in word)


def _stems(word: str) -> list[str]:
    """Return the stem of a word, and those of its parts: of hyphens, dots, capitals within."""
    bare = re.sub(r"['’]s?$", "", word)
    pieces = [form for piece in _PIECE.findall(bare) for form in forms_of(piece)]
    return [stem(plain(bare)), *pieces]


def _values(number: str, unit: str | None) -> list[float]:
    """Return what a number can mean: with commas between thousands, or as a decimal, or as several numbers."""
    scale = _SCALES.get((unit or "").strip().lower(), 1.0)
    found: list[float] = []
    for one in re.findall(
        r"\d+(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?", number
    ):
        digits = re.sub(r"[ \u00a0\u202f]", "", one)
        thousands = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits)
        plain_ = float(digits.replace(",", "") if thousands else digits.replace(",", "."))
        found += [plain_ * scale] if scale != 1.0 else [plain_]
    return found


def _weekday(year: int, month: int, day: int) -> list[int]:
    try:
        return [date(year, month, day).weekday()]
    except ValueError:
        return []
