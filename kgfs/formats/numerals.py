"""Numbers in documents: those of list items in the ways that word processors write them, and those of attributes."""

from __future__ import annotations

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


def numeral(number: int, form: str) -> str:
    """Write a number as ``1``, ``01``, ``1st``, ``a`` (after z comes aa), ``A``, ``i`` or ``I`` is written.

    Numbers that a form has no way to write, and unknown forms, are written in decimal digits.
    """
    if form in ("a", "A") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 9)
        return letter.upper() if form == "A" else letter
    if form in ("i", "I") and 0 < number < 4000:
        roman, left = "", number
        for value, letters in _ROMAN:
            roman += letters * (left // value)
            left %= value
        return roman.upper() if form == "I" else roman
    if form == "1st":
        last = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        return f"{number}{last}"
    return f"{number:02d}" if form == "01" else str(number)


def whole_number(word: str, default: int) -> int:
    """Return the number of an attribute of a document; ``default`` where it is none, or has more than eight digits."""
    return int(word) if word.isdecimal() and len(word) < 9 else default
