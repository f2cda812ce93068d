"""The automatic numbers of paragraphs in Word documents, as Word shows them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kgfs.formats.numerals import numeral, whole_number
from kgfs.formats.package import attribute, child, local

_PLACEHOLDER = re.compile(r"%([1-9])")
_FORMATS = {
    "lowerLetter": "a",
    "upperLetter": "A",
    "lowerRoman": "i",
    "upperRoman": "I",
    "decimalZero": "01",
    "ordinal": "1st",
}
"""Word's name of a format → that of ``numerals``; all others count in decimal digits."""


class _Level(NamedTuple):
    start: int
    format: str
    text: str
    restart: int
    """The level, from 1, whose numbers (and whose parents' numbers) let this one begin anew; 0 for none."""
    style: str
    """The paragraph style that stands for this level; '' if none does."""
    decimal: bool
    """Whether the numbers of other levels are shown in decimal digits."""


class _Numbers(NamedTuple):
    list: str
    """The id of the list; '0' or '' for none."""
    depth: str
    """Its level from 0; '' where the levels themselves tell of which style they are."""
    style: str
    """The style that names the list."""


_NO_NUMBERS = _Numbers("", "", "")


class Numbering:
    """Counts the numbered paragraphs of one document in their order."""

    def __init__(self, numbering: Any | None, styles: Any | None) -> None:
        """Take the roots of ``numbering.xml`` and ``styles.xml``; either may be missing."""
        self._counts: dict[str, dict[int, int]] = {}
        self._restarted: set[tuple[str, int]] = set()
        """The lists, with their levels, that began where they say that they begin."""
        self._styles = _numbers_of_styles(styles)
        abstract: dict[str, dict[int, _Level]] = {}
        linked: dict[str, str] = {}
        numbers: dict[str, Any] = {}
        for element in numbering if numbering is not None else ():
            if local(element) == "abstractNum":
                id_ = attribute(element, "abstractNumId")
                abstract[id_] = dict(map(_level, _all(element, "lvl")))
                linked[id_] = attribute(child(element, "numStyleLink"), "val")
            elif local(element) == "num":
                numbers[attribute(element, "numId")] = element
        bases: dict[str, str] = {}
        for id_, style in linked.items():
            if style and not abstract[id_]:  # its levels stand at the list style that it names
                number = numbers.get(self._styles.get(style, _NO_NUMBERS).list)
                bases[id_] = attribute(child(number, "abstractNumId"), "val")
        self._lists = {id_: _list(element, abstract, bases) for id_, element in numbers.items()}

    def next_label(self, properties: Any | None, style: str) -> tuple[str, int]:
        """Return (number or bullet, depth from 0) of the next paragraph; ('', 0) if it has none."""
        found = child(properties, "numPr")
        inherited = self._styles.get(style, _NO_NUMBERS)
        own = attribute(child(found, "numId"), "val")
        id_ = own or inherited.list
        counted, levels, restarts = self._lists.get(id_, ("", {}, {}))
        if word := attribute(child(found, "ilvl"), "val") or ("" if own else inherited.depth):
            depth = whole_number(word, 0)
        else:
            depth = next((at for at, level in levels.items() if level.style and level.style == inherited.style), 0)
        level = levels.get(depth)
        if level is None:
            return "", 0
        counts = self._counts.setdefault(counted, {})
        if depth in restarts and (id_, depth) not in self._restarted:
            self._restarted.add((id_, depth))
            counts[depth] = restarts[depth] - 1
        for outer in (outer for outer in range(depth) if outer in levels):
            counts.setdefault(outer, levels[outer].start)  # a level that was left out counts as begun
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [other for other in counts if other > depth]:
            if deeper not in levels or depth < levels[deeper].restart:
                del counts[deeper]
        if level.format == "bullet":
            return "-", depth
        if level.format == "none":
            return "", 0

        def shown(placeholder: re.Match[str]) -> str:
            of = int(placeholder[1]) - 1
            each = levels.get(of, level)
            if each.format in ("none", "bullet"):
                return ""
            format_ = "decimal" if level.decimal and of != depth else each.format
            return numeral(counts.get(of, each.start), _FORMATS.get(format_, "1"))

        return _PLACEHOLDER.sub(shown, level.text).strip(), depth


def _numbers_of_styles(styles: Any | None) -> dict[str, _Numbers]:
    """Return what each style says of numbers, inherited ones included."""
    own: dict[str, _Numbers] = {}
    parents: dict[str, str] = {}
    for style in styles if styles is not None else ():
        if local(style) == "style":
            found = child(child(style, "pPr"), "numPr")
            id_ = attribute(style, "styleId")
            own[id_] = _Numbers(attribute(child(found, "numId"), "val"), attribute(child(found, "ilvl"), "val"), id_)
            parents[id_] = attribute(child(style, "basedOn"), "val")
    numbers: dict[str, _Numbers] = {}
    for id_ in own:
        depth, at, seen = "", id_, set[str]()
        while at in own and at not in seen and not own[at].list:
            seen.add(at)
            depth, at = depth or own[at].depth, parents[at]
        if at in own and own[at].list:
            numbers[id_] = own[at]._replace(depth=depth or own[at].depth)
    return numbers


def _list(
    element: Any, abstract: dict[str, dict[int, _Level]], bases: dict[str, str]
) -> tuple[str, dict[int, _Level], dict[int, int]]:
    """Return (base, levels, where levels begin anew) of a list. All lists of one base are counted on, in the order of the
    paragraphs; one that says where a level begins lets it begin there when it is met first."""
    base = attribute(child(element, "abstractNumId"), "val")
    base = bases.get(base, base)
    levels = dict(abstract.get(base, {}))
    restarts: dict[int, int] = {}
    for changed in _all(element, "lvlOverride"):
        depth = whole_number(attribute(changed, "ilvl"), 0)
        if (level := child(changed, "lvl")) is not None:
            levels[depth] = _level(level)[1]
        start = child(changed, "startOverride")
        if start is not None and depth in levels:
            restarts[depth] = whole_number(attribute(start, "val"), 1)
            levels[depth] = levels[depth]._replace(start=restarts[depth])
    return base, levels, restarts


def _all(element: Any, name: str) -> list[Any]:
    return [found for found in element if local(found) == name]


def _level(element: Any) -> tuple[int, _Level]:
    depth = whole_number(attribute(element, "ilvl"), 0)
    decimal = child(element, "isLgl")
    level = _Level(
        whole_number(attribute(child(element, "start"), "val"), 0),  # as the standard says
        attribute(child(element, "numFmt"), "val") or "decimal",
        attribute(child(element, "lvlText"), "val"),
        whole_number(attribute(child(element, "lvlRestart"), "val"), depth),
        attribute(child(element, "pStyle"), "val"),
        decimal is not None and attribute(decimal, "val") not in ("0", "false", "off"),
    )
    return depth, level
