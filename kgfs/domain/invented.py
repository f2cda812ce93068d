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


def _numbered(names: str, first: int) -> dict[str, int]:
    """Return the numbers of names, each written out or as its first three letters."""
    return {name[:length]: n for n, name in enumerate(names.split(), first) for length in (3, len(name))}


_MONTHS = "january february march april may june july august september october november december"
MONTHS = _numbered(_MONTHS, 1) | {"sept": 9}
DAYS = _numbered("monday tuesday wednesday thursday friday saturday sunday", 0)
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
    " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_SPELLED = {word: float(n) for words in (_SMALL, _ORDINALS) for n, word in enumerate(words.split())}
_SPELLED |= {word: 10.0 * n for n, word in enumerate(_TENS.split(), 3)} | _SCALES | {"dozen": 12.0}
_ALIKE = {"half": 0.5, "quarter": 0.25, "once": 1.0, "twice": 2.0, "double": 2.0}
"""Words that stand for a number and are no number words."""
_UNITS = {"k": 1e3, "m": 1e6, "bn": 1e9} | _SCALES
_FEWEST = 3.0
"""Number words below are not judged: "one of them" and "the second" count nothing, and two are easily counted."""

_NUMERAL = "|".join(sorted(_SPELLED, key=len, reverse=True))
_TOKEN = re.compile(
    rf"""
    (?P<date>(?<!\w)(?<!\d[-/.])
        (?:[12]\d{{3}}(?P<y>[-/.])\d{{1,2}}(?P=y)\d{{1,2}}|\d{{1,2}}(?P<d>[-/.])\d{{1,2}}(?P=d)[12]\d{{3}}
        |[12]\d{{3}}-\d\d|\d{{1,2}}/[12]\d{{3}})
        (?!\d|[-/.]\d))
    |(?P<version>\d+(?:\.\d+){{2,}})
    |(?P<number>\d{{1,3}}(?P<mark>[,. \u00a0\u202f'’])\d{{3}}(?!\d)(?:(?P=mark)\d{{3}}(?!\d))*(?:[.,]\d+)?|\d+(?:[.,]\d+)?)
        (?P<unit>\ ?(?:k|m|bn|hundred|thousand|million|billion)\b)?
    |(?P<spelled>\b(?:{_NUMERAL})(?:[\s-]{{1,2}}(?:and\s)?(?:{_NUMERAL})\b)*(?P<many>s?)\b)
    |(?P<word>[^\W\d_][\w'’]*(?:[-.&][\w'’]+)*)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BETWEEN_SENTENCES = re.compile(r"[.!?:;][^\w\s]{0,4}\s|\n")
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+){2,}")
_ENDING = re.compile(r"['’](?:s|m|re|ve|d|ll)?$|(?<=[A-Z]{2})s$")
_NEGATED = ("n't", "n’t")
_PIECE = re.compile(r"[^\W_]+")
_DIGIT_NEXT = re.compile(r"[ .,-]{0,2}\d")
_WRITTEN_DATE = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th)?[ .-]{1,2}([A-Za-z]{3,9})\.?[ ,-]{1,2}(\d{4})\b"
    r"|\b([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b"
)
_RELATIVE = re.compile(
    r"\b(last|previous|past|next|coming|following|this|current)\s+"
    rf"(year|month|week|quarter|{'|'.join((*MONTHS, *DAYS))})\b|\b(yesterday|today|tomorrow)\b",
    re.IGNORECASE,
)
_STEPS = {"last": -1, "previous": -1, "past": -1, "yesterday": -1, "this": 0, "current": 0, "today": 0}
"""How far from the document's date; what is not named lies one ahead."""
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
        """Numbers from ten without their decimals, which a statement may leave out."""
        self._versions: set[str] = set()
        self._stems: set[str] = set()
        self._written: set[str] = set()
        """Acronyms."""
        self._lower: set[str] = set()
        self._months: set[int] = set()
        self._days: set[int] = set()
        self._common = common
        self.day = _day(date)
        """The document's own; None if it has none."""
        self._part: tuple[str, Grounds] | None = None
        """The part of the document that was asked about last."""
        for piece in (text, *around, *labels, *domains, date):
            self._take(piece)
        self._take_relative(text, self.day)

    def invented(self, statement: str) -> tuple[str, ...]:
        """Return the numbers and capitalised names of a statement that stand nowhere, in order."""
        return tuple(dict.fromkeys(shown for shown, stands in self._judged(statement) if not stands))

    def added(self, statement: str, source: str) -> tuple[str, ...]:
        """Return the numbers and names that stand here and not in ``source``, a part of the document."""
        if self._part is None or self._part[0] != source:
            part = Grounds(source, common=self._common)
            part._take_relative(source, self.day)
            self._part = source, part
        lacking = {*self._part[1].invented(statement)}
        return tuple(dict.fromkeys(shown for shown, stands in self._judged(statement) if stands and shown in lacking))

    def _take(self, text: str) -> None:
        behind_number = -9
        for found in _TOKEN.finditer(text):
            if found["word"]:
                is_beside = found.start() - behind_number <= 2 or bool(_DIGIT_NEXT.match(text, found.end()))
                self._take_word(found["word"], is_beside_number=is_beside)
                continue
            behind_number = found.end()
            if found["version"]:
                self._take_version(found["version"])
            elif found["spelled"]:
                self._numbers.update(_spelled(found["spelled"]))
                self._take_word(found["spelled"], is_beside_number=False)
            elif readings := _dates(found["date"]):
                for year, month, day in readings:
                    self._numbers.update((float(year), float(day or year)))
                    self._months.add(month)
                    self._days.update(_weekday(year, month, day))
            else:
                values = {value for reading in _readings(found) for value in reading}
                self._numbers |= values
                self._rounded |= {float(round(value)) for value in values if 10 <= value < 1e15}
        for found in _WRITTEN_DATE.finditer(text):
            named, at = (found[2] or found[4]).lower(), (found[3] or found[6], found[1] or found[5])
            self._days.update(_weekday(int(at[0]), MONTHS.get(named, 0), int(at[1])))

    def _take_version(self, version: str) -> None:
        self._versions.add(version)
        self._numbers.add(float(".".join(version.split(".")[:2])))

    def _take_word(self, word: str, *, is_beside_number: bool) -> None:
        """Take a word. One in small letters is a month beside a number alone: "may", "march" and "sun" are words."""
        self._stems.update(_stems(word))
        versions = _VERSION.findall(word)
        for version in versions:
            self._take_version(version)
        if word[:1].islower():
            self._lower.add(plain(word))
        for written in _PIECE.findall(word):
            piece = plain(written)
            if written.isupper():
                self._written.add(written)
            if piece in _ALIKE:
                self._numbers.add(_ALIKE[piece])
            elif piece.isdecimal() and not versions:
                self._numbers.add(float(piece))
            if is_beside_number or written[0].isupper():
                self._months.update((MONTHS[piece],) if piece in MONTHS else ())
                self._days.update((DAYS[piece],) if piece in DAYS else ())

    def _take_relative(self, text: str, at: date | None) -> None:
        """Take what "last year" and the like come to by the document's date."""
        if at is None:
            return
        for found in _RELATIVE.finditer(text):
            step = _STEPS.get((found[1] or found[3]).lower(), 1)
            unit = (found[2] or "day").lower()
            if unit in ("month", "quarter"):
                months = at.year * 12 + at.month - 1 + step * (3 if unit == "quarter" else 1)
                self._months.add(months % 12 + 1)
                self._numbers.add(float(months // 12))
            elif unit in ("day", "week") or unit in DAYS:
                self._take_day(at, step * (1 if unit == "day" else 7))
            else:  # "last July" may have been in this year
                self._numbers.update((float(at.year + step), float(at.year if unit in MONTHS else at.year + step)))

    def _take_day(self, at: date, days: int) -> None:
        try:
            at += timedelta(days=days)
        except OverflowError:
            return
        self._numbers.update((float(at.year), float(at.day)))
        self._months.add(at.month)
        self._days.add(at.weekday())

    def _judged(self, statement: str) -> Iterator[tuple[str, bool]]:
        """Yield each number and name of a statement, and whether it stands here."""
        end = 0
        for found in _TOKEN.finditer(statement):
            begins = not end or bool(_BETWEEN_SENTENCES.search(statement, end, found.start()))
            end = found.end()
            word = found["word"]
            if word is None:
                if not found["spelled"] or (not found["many"] and max(_spelled(found["spelled"])) >= _FEWEST):
                    yield found[0].strip(), self._has_number(found)
                continue
            low = plain(_bare(word))
            is_name = any(char.isupper() for char in word)
            is_month = low in MONTHS and bool(_DIGIT_NEXT.match(statement, end))
            if is_name and begins and not is_month and self._is_first(word, low):
                continue
            if is_name or any(char.isdecimal() for char in word):
                yield _bare(word), self._has_name(_bare(word), low)

    def _is_first(self, word: str, low: str) -> bool:
        """Return whether the first word of a sentence may be capitalised for that alone."""
        if any(char.isupper() for char in word[1:]):
            return False
        return low in _CLOSED or low.endswith(_NEGATED) or low in self._lower or self._common(low)

    def _has_number(self, found: re.Match[str]) -> bool:
        if found["version"]:
            return found["version"] in self._versions
        if found["spelled"]:
            return all(value in self._numbers for value in _spelled(found["spelled"]) if value >= _FEWEST)
        if dates := _dates(found["date"]):
            return any(
                float(year) in self._numbers and month in self._months and float(day or year) in self._numbers
                for year, month, day in dates
            )
        known = self._numbers if "." in found[0] else self._numbers | self._rounded
        return any(all(value in known for value in reading) for reading in _readings(found))

    def _has_name(self, word: str, low: str) -> bool:
        if low in MONTHS or low in DAYS:
            return MONTHS.get(low) in self._months or DAYS.get(low) in self._days
        if low in _CLOSED or low.endswith(_NEGATED):
            return len(word) < 2 or not word.isupper() or word in self._written
        whole, *parts = _stems(word)
        return whole in self._stems or all(
            part in self._stems or (part.isdecimal() and float(part) in self._numbers) for part in parts or (whole,)
        )


def _bare(word: str) -> str:
    """Return a word without the ending of a possessive or of a verb drawn to it, an acronym also without that of its plural."""
    return _ENDING.sub("", word)


def _stems(word: str) -> list[str]:
    """Return the stem of a word, and those of its parts: of hyphens, dots, capitals within."""
    bare = _bare(word)
    return [stem(plain(bare)), *(form for piece in _PIECE.findall(bare) for form in forms_of(piece))]


def _spelled(words: str) -> list[float]:
    """Return the values of number words in a row, each as long as it goes: "two hundred and five" is one."""
    found: list[float] = []
    whole = part = last = 0.0
    joined = True
    for word in re.findall(r"[a-z]+", words.lower()):
        if word == "and":
            joined = last >= 100
            continue
        value = _SPELLED.get(word) or _SPELLED.get(word.removesuffix("s"), 0.0)
        fits = value < 10 and 20 <= part % 100 < 100 and part % 10 == 0
        if value in _UNITS.values():
            part = (part or 1.0) * value
            if value > 100:
                whole, part = whole + part, 0.0
        elif joined and last and (last in _UNITS.values() or fits):
            part += value
        else:
            found += [whole + part] if last else []
            whole, part = 0.0, value
        last, joined = value, True
    return [*found, whole + part]


def _readings(found: re.Match[str]) -> list[tuple[float, ...]]:
    """Return what figures can mean: one number with marks between thousands or before decimals, or several numbers."""
    if found["number"] is None:
        return [tuple(map(float, re.findall(r"\d+", found[0])))]
    number = found["number"]
    unit = (found["unit"] or "").strip().lower()
    marks = re.findall(r"\D", number)
    readings: list[tuple[float, ...]]
    if not marks or marks == ["."]:
        readings = [(float(number),)]
        readings += [(float(number.replace(".", "")),)] if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", number) else []
    elif marks == [","] and not re.search(r",\d{3}$", number):
        readings = [(float(number.replace(",", ".")),), tuple(map(float, number.split(",")))]
    else:
        decimals = marks[-1] in ".," and marks[-1] != marks[0]
        whole, _, rest = number.rpartition(marks[-1]) if decimals else (number, "", "0")
        readings = [(float(re.sub(r"\D", "", whole) + "." + rest),)]
        readings += [tuple(map(float, re.findall(r"\d+", number)))] if marks[0].isspace() else []
    if not unit:
        return readings
    scaled = [(*reading[:-1], round(reading[-1] * _UNITS[unit], 6)) for reading in readings]
    return [*scaled, *readings] if unit == "m" else scaled


def _dates(figures: str | None) -> list[tuple[int, int, int]]:
    """Return the year, month and day that a date in figures can mean, day first or month first; the day is 0 if it has none."""
    parts = [int(part) for part in re.findall(r"\d+", figures or "")]
    if len(parts) == 2:
        year, month = (parts[0], parts[1]) if parts[0] > parts[1] else (parts[1], parts[0])
        return [(year, month, 0)] if 1 <= month <= 12 else []
    if len(parts) < 3:
        return []
    orders = [(0, 1, 2)] if parts[0] > 31 else [(2, 1, 0), (2, 0, 1)]
    found = [(parts[y], parts[m], parts[d]) for y, m, d in orders]
    return [one for one in dict.fromkeys(found) if 1 <= one[1] <= 12 and 1 <= one[2] <= 31]


def _day(iso: str) -> date | None:
    try:
        return date.fromisoformat(iso)
    except ValueError:
        return None


def _weekday(year: int, month: int, day: int) -> list[int]:
    try:
        return [date(year, month, day).weekday()]
    except ValueError:
        return []
