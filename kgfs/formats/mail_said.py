"""Tell who wrote a quoted message and when, from the line that introduces it or from the fields that it begins with.

What is not sure is left out: a date whose day might be its month, and whoever stands in words of another form.
"""

from __future__ import annotations

import re
from datetime import datetime

_ADDRESS = r"[\w.+'-]+@[\w-]+(?:\.[\w-]+)+"
_WHO = rf"(?P<who>[^<>\d@]{{0,80}}<{_ADDRESS}>\)?|{_ADDRESS}|[^<>\d@:,]{{2,80}})"
_ZONES = "UTC|GMT|WES?T|CES?T|EES?T|BST|MSK|IST|JST|[ECMP][SD]T"
_WHEN = (
    r"(?P<when>[^<>@\"]{0,80}\d\)?(?: ?[AaPp]\.?[Mm]\b\.?)?(?: Uhr)?"
    rf"(?: ?(?:Z|{_ZONES})\b)?(?: \((?:{_ZONES})\))?)"
)
_INTRODUCTIONS = tuple(
    (re.compile(form.format(when=_WHEN, who=_WHO)), day_first)
    for form, day_first in (
        ("On {when},? {who} wrote ?:", False),
        ("{who} wrote on {when} ?:", False),
        ("Am {when},? schrieb {who} ?:", True),
        ("{who} schrieb am {when} ?:", True),
        ("Le {when},? {who} a écrit ?:", True),
        ("El {when},? {who} escribió ?:", True),
        ("Il (?:giorno )?{when},? {who} ha scritto ?:", True),
        ("Em {when},? {who} escreveu ?:", True),
        ("Op {when},? schreef {who} ?:", True),
        ("Op {when},? {who} schreef ?:", True),
    )
)
"""Lines that introduce a quoted message, and whether a date like 3/6/2025 has its day first in their language."""
_WRITTEN_BY = re.compile(rf".{{0,200}}?<?({_ADDRESS})>?\)?,? (?:wrote|a écrit|escribió|ha scritto|escreveu|schreef) ?:")
"""An introduction of another form, in which the address still says who wrote."""
_LONGEST = 400
"""Characters of an introduction."""
_LINES = 3
"""Lines that such an introduction takes at most."""
_FIELD = re.compile(r"\*?([^\W\d_][\w .-]{0,20}):\*?[ \t]+(.*)")
_FROM = frozenset("from von de da van från fra от".split())  # noqa: SIM905  # as people read and edit it
_SENT = frozenset(
    ["date", "sent", "datum", "gesendet", "envoyé", "enviado", "enviado el", "enviada", "fecha", "data", "inviato",
     "verzonden", "skickat", "sendt", "дата", "отправлено"]
)  # fmt: skip

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier janv enero ene gennaio gen januari janeiro",
            "feb february februar février févr fév febrero febbraio februari fevereiro fev",
            "mar march märz mär mars marzo maart mrt março",
            "apr april avril avr abril abr aprile",
            "may mai mayo maggio mag mei maio",
            "jun june juni juin junio giugno giu junho",
            "jul july juli juillet juil julio luglio lug julho",
            "aug august août agosto ago augustus",
            "sep sept september septembre septiembre settembre set setembro",
            "oct october oktober okt octobre octubre ottobre ott outubro out",
            "nov november novembre noviembre novembro",
            "dec december dezember dez décembre déc diciembre dic dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = r"([^\W\d_]{3,10})"
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?[ -](?:de |of )?{_MONTH}\.?,?[ -](?:de )?(\d{{4}})\b")
_MONTH_DAY = re.compile(rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b")
_YEAR_FIRST = re.compile(r"(?<![\d/.-])(\d{4})(?:[-/.]|年 ?)(\d{1,2})(?:[-/.]|月 ?)(\d{1,2})(?![\d/.-])")
_NUMBERS = re.compile(r"(?<![\d/.-])(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d\d)(?![\d/.-])")
_TIME = re.compile(
    r"(?<![\d:])(\d{1,2})[:h](\d\d)(?::(\d\d))?(?!\d)(?: ?([AaPp])\.?[Mm]\b)?(?: ?(Z|UTC|GMT)\b(?! ?[+-]))?"
    r"(?: ?\(?(?:UTC|GMT)?([+-](?:0\d|1[0-4])):?([0-5]\d)\b)?"
)
_HALF_OF_DAY = re.compile("[上下]午|午[前後]|오[전후]")


def said_of(lines: list[str], *, has_fields: bool) -> tuple[str, str]:
    """Return sender and date of a quoted message; '' for each that is not sure. The date is ISO 8601, without a zone where
    none is told; a field that says it otherwise stands as it is.

    ``lines`` are its first ones without marks of quotation: the one that introduces it, or, with ``has_fields``, a rule and
    the fields below.
    """
    return _of_fields(lines[1:]) if has_fields else _of_introduction(lines)


def _of_introduction(lines: list[str]) -> tuple[str, str]:
    words = ""
    for line in lines[:_LINES]:
        words = f"{words} {line}".strip()
        if line.endswith(":"):
            break
    words = " ".join(words.split())
    if len(words) > _LONGEST:
        return "", ""
    for form, day_first in _INTRODUCTIONS:
        if found := form.fullmatch(words):
            return _person(found["who"]), date_said(found["when"], day_first=day_first)
    by = _WRITTEN_BY.fullmatch(words)
    return (by[1] if by else ""), ""


def _person(words: str) -> str:
    """Return a sender as a field would name it: without a name where the words may be none, and '' if nothing is left."""
    at = re.search(_ADDRESS, words)
    address = at[0] if at else ""
    name = words[: at.start()].strip(" ,(<") if at else words.strip()
    first = next(iter(name.split()), "")
    is_zone = first.isupper() and first.isalpha() and 2 <= len(first) <= 5 and first != name
    if not name or name[0].islower() or is_zone or ("," in name and name[0] not in "\"'“„"):
        return address
    return f"{name} <{address}>" if address else name


def _of_fields(lines: list[str]) -> tuple[str, str]:
    sender = sent = ""
    day_first = started = False
    for line in lines:
        field = _FIELD.match(line)
        if not line and started:
            break
        if field is None:
            continue
        started = True
        name, value = field[1].strip().casefold(), field[2].strip(" *")
        if name in _FROM and not sender:
            sender, day_first = value, name != "from"
        elif name in _SENT and not sent:
            sent = value
    is_date = any(map(str.isdigit, sent)) and len(sent) <= _LONGEST
    return sender[:_LONGEST], (date_said(sent, day_first=day_first) or sent) if is_date else ""


def date_said(words: str, *, day_first: bool) -> str:
    """Return the date, and the time if there is one, as ISO 8601; '' where it is not sure."""
    day = _day(words, day_first)
    if day is None:
        return ""
    try:
        at = datetime(*day)
        time = None if _HALF_OF_DAY.search(words) else _TIME.search(words)
        if time is None:
            return f"{at:%Y-%m-%d}"
        hour = int(time[1])
        if time[4]:
            if not 1 <= hour <= 12:
                return f"{at:%Y-%m-%d}"
            hour = hour % 12 + 12 * (time[4] in "pP")
        at = at.replace(hour=hour, minute=int(time[2]), second=int(time[3] or 0))
    except ValueError:  # there is no such day, or no such time
        return ""
    zone = f"{time[6]}:{time[7]}" if time[6] else "Z" if time[5] else ""
    return f"{at.isoformat(timespec='seconds' if time[3] else 'minutes')}{zone}"


def _day(words: str, day_first: bool) -> tuple[int, int, int] | None:
    """Return (year, month, day) if the words say one date, surely."""
    for form, (year, month, day) in ((_DAY_MONTH, (3, 2, 1)), (_MONTH_DAY, (3, 1, 2))):
        for found in form.finditer(words):
            if number := _MONTHS.get(found[month].casefold()):
                return int(found[year]), number, int(found[day])
    if found_numbers := _YEAR_FIRST.search(words):
        return int(found_numbers[1]), int(found_numbers[2]), int(found_numbers[3])
    if (found_numbers := _NUMBERS.search(words)) is None:
        return None
    first, mark, second, year_said = found_numbers.groups()
    a, b, year_number = int(first), int(second), int(year_said)
    if mark == ".":
        return (year_number if len(year_said) == 4 else 2000 + year_number), b, a
    if len(year_said) == 2:
        return None
    if day_first or a > 12 or a == b:
        return year_number, b, a
    return (year_number, a, b) if b > 12 else None
