"""The date that a document gives itself in its front matter, or in the fields that its text begins with. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

HEAD = 4096
"""The characters of a text that are looked at."""
FIRST_YEAR, LAST_YEAR = 1678, 2261
"""Years whose nanoseconds since 1970 have 64 bits; a date of another year is none."""

_FIELD = re.compile(r":?([A-Za-z][\w-]*)[ \t]{0,8}[:=][ \t]*(.*)")
_ISO = re.compile(
    r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?[ ]*(?:(Z)|([+-]\d{2}):?(\d{2}))?)?)?)?"
    r"(?![\w:])"
)
_DAY_FIRST = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?[ .-]+([A-Za-z]{3,9})[ .,-]+(\d{4})\b")
_MONTH_FIRST = re.compile(r"\b([A-Za-z]{3,9})\.?[ ]+(\d{1,2})(?:st|nd|rd|th)?,?[ ]+(\d{4})\b")
_DAY = re.compile(rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|{_DAY_FIRST.pattern}|{_MONTH_FIRST.pattern}")
FIRST_LINES = 600
"""The characters of a text in which a date without a field is taken for its own."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def own_date(text: str) -> int | None:
    """Return the date of the field ``date``, else of ``created``, in nanoseconds (UTC where it has no zone).

    None without such a field, or where it has no date. A day without a time is its first moment.
    """
    found: dict[str, int] = {}
    for name, value in _fields(text[:HEAD].removeprefix("\ufeff").lstrip("\r\n")):
        if (name := name.casefold()) in ("date", "created") and name not in found and (at := moment(value)) is not None:
            found[name] = at
    return found.get("date", found.get("created"))


def own_day(text: str) -> str:
    """Return the day of :func:`own_date`, else the first whole date in the text's first lines, such as ``2025-06-30``; '' without
    one."""
    at = own_date(text)
    if at is None:
        dated = (moment(found[0]) for found in _DAY.finditer(text[:FIRST_LINES]))
        at = next((one for one in dated if one is not None), None)
    return "" if at is None else datetime.fromtimestamp(at / 1e9, UTC).date().isoformat()


def _fields(head: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of the front matter, or of the lines that a text begins with, without nested ones."""
    lines = head.splitlines()
    fence = lines[0].rstrip() if lines and lines[0].rstrip() in ("---", "+++") else ""
    for line in lines[1:] if fence else lines:
        field = _FIELD.fullmatch(line.rstrip())
        if field is not None:
            yield field[1], field[2]
        elif fence and line.rstrip() in (fence, "..."):
            return
        elif not fence and not line.startswith((" ", "\t")):
            return  # an indented line goes on with the field above


def moment(value: str) -> int | None:
    """Return the time that a value begins with, in nanoseconds; None if it is no date."""
    value = value.strip().strip("\"'[]").strip()
    try:
        if iso := _ISO.match(value):
            year, month, day, hour, minute, second = (int(iso[n] or (1 if n in (2, 3) else 0)) for n in range(1, 7))
            zone = timezone(_offset(iso[8], iso[9])) if iso[8] else UTC
            return _nanoseconds(datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone))
        if said := _DAY_FIRST.search(value):
            return _nanoseconds(datetime(int(said[3]), _month(said[2]), int(said[1]), tzinfo=UTC))
        if said := _MONTH_FIRST.search(value):
            return _nanoseconds(datetime(int(said[3]), _month(said[1]), int(said[2]), tzinfo=UTC))
    except ValueError:  # a month 13, a word that is no month, an offset of days
        return None
    return None


def _offset(hours: str, minutes: str) -> timedelta:
    ahead = timedelta(hours=abs(int(hours)), minutes=int(minutes))
    return -ahead if hours.startswith("-") else ahead


def _month(word: str) -> int:
    return _MONTHS.index(word[:3].casefold()) + 1


def _nanoseconds(at: datetime) -> int | None:
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        return None
    return round((at - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)) * 10**9
