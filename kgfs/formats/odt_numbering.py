"""The automatic numbers of lists and headings in OpenDocument texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kgfs.formats.numerals import numeral, whole_number
from kgfs.formats.package import attribute, local


class _Level(NamedTuple):
    form: str
    """As ``numerals`` names it; '' for a level that is not numbered, ``-`` for bullets."""
    start: int
    prefix: str
    suffix: str
    shown: int
    """How many levels are shown, this one the last of them."""


_PLAIN = _Level("-", 1, "", "", 1)


class Numbering:
    """Counts the items of one document in their order."""

    def __init__(self, roots: Iterable[Any]) -> None:
        """Take the roots that define list styles and the outline."""
        self._styles: dict[str, dict[int, _Level]] = {}
        self._outline: dict[int, _Level] = {}
        self._of_paragraphs: dict[str, str] = {}
        for style in (found for root in roots if root is not None for found in root.iter()):
            name = local(style)
            if name in ("list-style", "outline-style"):
                levels = dict(_levels(style))
                if name == "list-style":
                    self._styles[attribute(style, "name")] = levels
                else:
                    self._outline = levels
            elif name == "style" and attribute(style, "list-style-name"):
                self._of_paragraphs[attribute(style, "name")] = attribute(style, "list-style-name")
        self._counts: dict[int, int] = {}
        self._lists: dict[str, dict[int, int]] = {}
        """The counts of each list style that is counted on, and of each list by its id."""

    def style_of(self, element: Any, outer: str) -> str:
        """Return the style of a list: its own one, else that of its first paragraph, else the outer list's one."""
        if own := attribute(element, "style-name") or outer:
            return own
        for each in element.iter():
            if local(each) in ("p", "h") and (found := self._of_paragraphs.get(attribute(each, "style-name"), "")):
                return found
        return ""

    def begin(self, element: Any, style: str) -> dict[int, int]:
        """Return the counts with which an outermost list begins: those of the list that it continues, else none."""
        key = attribute(element, "continue-list")
        if not key and attribute(element, "continue-numbering") == "true":
            key = f"style {style}"
        counts = dict(self._lists.get(key, {})) if key else {}
        self._lists[f"style {style}"] = counts
        if own := attribute(element, "id"):
            self._lists[own] = counts
        return counts

    def item(self, item: Any, style: str, depth: int, counts: dict[int, int]) -> str:
        """Return the number or bullet of the next item (``depth`` from 0), and count it; '' for one without a number."""
        level = self._styles.get(style, {}).get(depth, _PLAIN)
        return _next(self._styles.get(style, {}), level, depth, counts, attribute(item, "start-value"))

    def heading(self, element: Any, depth: int) -> str:
        """Return the number of the next heading (``depth`` from 0) by the document's outline; '' if it has none."""
        level = self._outline.get(depth)
        if level is None or attribute(element, "is-list-header") == "true":
            return ""
        return _next(self._outline, level, depth, self._counts, attribute(element, "start-value"))


def _next(levels: dict[int, _Level], level: _Level, depth: int, counts: dict[int, int], start: str) -> str:
    if start.isdecimal() and len(start) < 9:
        counts[depth] = int(start)
    else:
        counts[depth] = counts.get(depth, level.start - 1) + 1
    for deeper in [other for other in counts if other > depth]:
        del counts[deeper]
    if level.form in ("", "-"):
        return level.form
    numbers = []
    for at in range(max(0, depth + 1 - level.shown), depth + 1):
        each = levels.get(at, level)
        if each.form not in ("", "-"):
            numbers.append(numeral(counts.get(at, each.start), each.form))
    return f"{level.prefix}{'.'.join(numbers)}{level.suffix}".strip()


def _levels(style: Any) -> Iterator[tuple[int, _Level]]:
    for level in style:
        kind = local(level)
        if kind in ("list-level-style-number", "outline-level-style"):
            form = attribute(level, "num-format")
            known = _Level(
                form if form in ("", "a", "A", "i", "I") else "1",
                whole_number(attribute(level, "start-value"), 1),
                attribute(level, "num-prefix"),
                attribute(level, "num-suffix"),
                whole_number(attribute(level, "display-levels"), 1),
            )
        elif kind in ("list-level-style-bullet", "list-level-style-image"):
            known = _PLAIN
        else:
            continue
        yield whole_number(attribute(level, "level"), 1) - 1, known
