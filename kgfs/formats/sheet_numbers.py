"""Numbers of sheets: dates in ISO 8601, percentages and elapsed times as their format shows them, others as stored."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache

BUILT_IN = {
    9: "0%",
    10: "0.00%",
    14: "m/d/yy",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "m/d/yy h:mm",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
}
"""The codes of the formats that a workbook does not define, of those that show another thing than a plain number."""

_LITERAL = r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]'
_QUOTED = re.compile(_LITERAL)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.I)
_SECTION = re.compile(rf"(?:{_LITERAL}|[^;])*")
_TOKEN = re.compile(rf"(?P<elapsed>\[(?:h+|m+|s+)\])|(?P<literal>{_LITERAL})|(?P<digits>[0#?][0#?,.]*)|(?P<unit>h+|m+|s+(?:\.0+)?)|.", re.I)  # fmt: skip
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_LARGEST = 1e15
"""Numbers beyond this are shown as stored, whatever their format."""


def shown(words: str, code: str, epoch: datetime) -> str:
    """Return the words of a cell that stores the number ``words`` in the format ``code``.

    ``epoch`` is the day 0 of the workbook. What is no number is returned as it is.
    """
    if not code:
        return _shortest(words)
    section, kind = _kind_of(code)
    try:
        number = float(words)
    except ValueError:
        return words
    if not kind or not abs(number) < _LARGEST:
        return _shortest(words)
    if kind == "%":
        return _percentage(words, section)
    return _elapsed(number, section) if kind == "e" else _date(epoch, number, words, kind)


@lru_cache(maxsize=1000)
def _kind_of(code: str) -> tuple[str, str]:
    """Return the section of a code for positive numbers, and what it shows: ``%`` a percentage, ``e`` an elapsed time,
    ``d``, ``t`` or ``dt`` a date or time of day, nothing another number."""
    section = (_SECTION.match(code) or [""])[0]
    plain = _QUOTED.sub("", section).lower()
    if _ELAPSED.search(section):
        return section, "e"
    if "%" in plain and "e" not in plain and any(found["digits"] for found in _TOKEN.finditer(section)):
        return section, "%"
    if "general" in plain or "%" in plain:
        return section, ""
    day = "d" if re.search(r"[dy]|mmm", plain) or ("m" in plain and not re.search("[hs]", plain)) else ""
    return section, day + ("t" if re.search(r"[hs]", plain) else "")


def _percentage(words: str, section: str) -> str:
    """Return a percentage with as many decimals as the format shows, and the literals around it."""
    pattern = next(found["digits"] for found in _TOKEN.finditer(section) if found["digits"])
    places = pattern.partition(".")[2]
    try:
        rounded = Decimal(words).scaleb(2 * _QUOTED.sub("", section).count("%"))
        rounded = rounded.quantize(Decimal(1).scaleb(-min(len(places), 30)), ROUND_HALF_UP)
    except InvalidOperation:  # more digits than a format shows
        return _shortest(words)
    whole, _, fraction = f"{abs(rounded):{',' if ',' in pattern else ''}f}".partition(".")
    while fraction and len(fraction) > places.count("0") and fraction.endswith("0"):
        fraction = fraction[:-1]
    number = f"{whole}.{fraction}" if fraction else whole
    parts = [number if found["digits"] == pattern else _literal(found) for found in _TOKEN.finditer(section)]
    return ("-" if rounded < 0 else "") + "".join(parts).strip()


def _elapsed(number: float, section: str) -> str:
    """Return a span of time, which goes on past a day: ``36:00``."""
    total = round(abs(number) * 86400)
    left = total
    parts = []
    for found in _TOKEN.finditer(section):
        unit = (found["elapsed"] or "").strip("[]") or (found["unit"] or "").partition(".")[0]
        if unit and found["literal"] is None:
            seconds = _SECONDS[unit[0].lower()]
            parts.append(f"{left // seconds:0{min(len(unit), 9)}d}")
            left %= seconds
        else:
            parts.append(_literal(found))
    return ("-" if number < 0 and total else "") + "".join(parts).strip()


def _literal(found: re.Match[str]) -> str:
    """Return what a token of a format shows by itself."""
    token = found[0]
    if found["literal"] is None:
        return token
    return {'"': token[1:-1], "\\": token[1:], "_": " "}.get(token[0], "")


def _date(epoch: datetime, days: float, words: str, kind: str) -> str:
    """Return a date (``d``) or a time of day (``t``), or both. The time is kept where the format hides it."""
    try:
        at = epoch + timedelta(seconds=round(days * 86400))
    except OverflowError:
        return words
    if epoch.year < 1900 and 0 <= days < 60:
        at += timedelta(days=1)  # Excel counts a 29 February 1900
    timed = bool(at.hour or at.minute or at.second)
    if 0 <= days < 1 and ("t" in kind or timed):
        return at.strftime("%H:%M:%S")
    return at.strftime("%Y-%m-%dT%H:%M:%S" if "t" in kind or timed else "%Y-%m-%d")


def _shortest(words: str) -> str:
    """Return a stored number in its shortest form: ``1`` for ``1.0``, ``0.1`` for ``0.10000000000000001``."""
    try:
        number = float(words)
    except ValueError:
        return words
    if number != number or number in (float("inf"), float("-inf")):
        return words
    if re.fullmatch(r"-?[1-9][0-9]{0,99}", words):  # more digits than a float has
        return words
    if number.is_integer() and abs(number) < 1e16:
        return str(int(number))
    return repr(number)
