"""The automatic numbers of paragraphs in Word documents, as Word shows them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kgfs.formats.package import attribute, child, local

_PLACEHOLDER = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


class _Level(NamedTuple):
    start: int
    format: str
    text: str


class Numbering:
    """Counts the numbered paragraphs of one document in their order."""

    def __init__(self, numbering: Any | None, styles: Any | None) -> None:
        """Take the roots of ``numbering.xml`` and ``styles.xml``; either may be missing."""
        abstract: dict[str, dict[int, _Level]] = {}
        self._lists: dict[str, tuple[str, dict[int, _Level]]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._styles: dict[str, tuple[str, str]] = {}
        for element in numbering if numbering is not None else ():
            if local(element) == "abstractNum":
                abstract[attribute(element, "abstractNumId")] = dict(map(_level, _all(element, "lvl")))
            elif local(element) == "num":
                base = attribute(child(element, "abstractNumId"), "val")
                levels = dict(abstract.get(base, {}))
                counted = base
                for changed in _all(element, "lvlOverride"):
                    depth = _number(attribute(changed, "ilvl"), 0)
                    if (level := child(changed, "lvl")) is not None:
                        levels[depth] = _level(level)[1]
                    start = child(changed, "startOverride")
                    if start is not None and depth in levels:
                        levels[depth] = levels[depth]._replace(start=_number(attribute(start, "val"), 1))
                        counted = f"{base}/{attribute(element, 'numId')}"
                self._lists[attribute(element, "numId")] = counted, levels
        for style in styles if styles is not None else ():
            if local(style) == "style":
                found = child(child(style, "pPr"), "numPr")
                parent = attribute(child(style, "basedOn"), "val")
                own = attribute(child(found, "numId"), "val"), attribute(child(found, "ilvl"), "val")
                self._styles[attribute(style, "styleId")] = own if own[0] else self._styles.get(parent, ("", ""))

    def next_label(self, properties: Any | None, style: str) -> tuple[str, int]:
        """Return (number or bullet, depth from 0) of the next paragraph; ('', 0) if it has none."""
        found = child(properties, "numPr")
        id_, depth_word = self._styles.get(style, ("", ""))
        if found is not None:
            id_ = attribute(child(found, "numId"), "val") or id_
            depth_word = attribute(child(found, "ilvl"), "val") or depth_word
        depth = _number(depth_word, 0)
        counted, levels = self._lists.get(id_, ("", {}))
        level = levels.get(depth)
        if level is None:
            return "", 0
        counts = self._counts.setdefault(counted, {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [other for other in counts if other > depth]:
            del counts[deeper]
        if level.format == "bullet":
            return "-", depth
        if level.format == "none":
            return "", 0

        def shown(placeholder: re.Match[str]) -> str:
            of = int(placeholder[1]) - 1
            each = levels.get(of, _Level(1, "decimal", ""))
            return _shown(counts.get(of, each.start), each.format)

        return _PLACEHOLDER.sub(shown, level.text).strip(), depth


def _all(element: Any, name: str) -> list[Any]:
    return [found for found in element if local(found) == name]


def _level(element: Any) -> tuple[int, _Level]:
    start = _number(attribute(child(element, "start"), "val"), 1)
    format_ = attribute(child(element, "numFmt"), "val") or "decimal"
    return _number(attribute(element, "ilvl"), 0), _Level(start, format_, attribute(child(element, "lvlText"), "val"))


def _number(word: str, default: int) -> int:
    return int(word) if word.isdecimal() and len(word) < 9 else default


def _shown(number: int, format_: str) -> str:
    if format_ in ("lowerLetter", "upperLetter") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 9)
        return letter.upper() if format_ == "upperLetter" else letter
    if format_ in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        roman, left = "", number
        for value, letters in _ROMAN:
            roman += letters * (left // value)
            left %= value
        return roman.upper() if format_ == "upperRoman" else roman
    return f"{number:02d}" if format_ == "decimalZero" else str(number)
