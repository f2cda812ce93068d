"""The words that a Source is also found by: title and section path or, in program code, the names defined around it.

All functions are pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kgfs.domain.word_forms import words_in
from kgfs.formats.code import DEFINITION, is_code, names_defined

NAMES = 6
"""The number of names of a file of code."""
LINE = 100
"""Characters of the line that encloses a Source of code. Of one to three such lines one did best."""


def headers(title: str, sources: Sequence[tuple[str, Sequence[str]]]) -> tuple[bool, list[str]]:
    """Return whether a document is program code, and the header of each of its Sources.

    ``sources`` are all of the document's, in order: text and section path.
    """
    text = "".join(piece for piece, _ in sources)
    if not is_code(text):
        return False, [header_of_prose(title, path) for _, path in sources]
    names = " ".join(defined(text))
    lines = text.split("\n")
    found, at = [], 0
    for piece, _ in sources:
        found.append(f"{names}\n{enclosing(lines, at, piece)}")
        at += piece.count("\n")
    return True, found


def header_of_prose(title: str, path: Sequence[str]) -> str:
    return " ".join((title, *path))


def defined(text: str) -> list[str]:
    """Return those NAMES of the names that a text defines which stand in it most often, in order of definition."""
    names = dict.fromkeys(names_defined(text))
    counts = Counter(dict.fromkeys(names, 0))
    counts.update(word for word in words_in(text) if word in names)
    most = {name for name, _ in counts.most_common(NAMES)}  # of equals the first ones
    return [name for name in names if name in most]


def enclosing(lines: Sequence[str], at: int, piece: str) -> str:
    """Return the innermost definition around a Source that begins in line ``at``, told by indentation; '' for none."""
    indent = _indent(next((line for line in piece.split("\n") if line.strip()), ""))
    for number in range(at - 1, -1, -1):
        if not indent:
            break
        line = lines[number]
        if line.strip() and _indent(line) < indent and DEFINITION.match(line):
            return line.strip()[:LINE]
    return ""


def _indent(line: str) -> int:
    spaced = line.expandtabs(4)
    return len(spaced) - len(spaced.lstrip())
