"""Find where the quoted messages begin in the body of a mail, as far as its form alone makes that sure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgfs.formats.mail_said import said_of

_MARKS = re.compile(r"[ \t]*((?:>[ \t]?)*)")
_RULE = re.compile(r"[ \t]*(?:[-_*=]{3,}[^-_*=\n]{0,60}[-_*=]{3,}|[-_]{10,})[ \t]*$")
_FIELD = re.compile(r"[ \t]*\*?[^\W\d_][\w .-]{0,20}:\*?[ \t]+\S")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
FIELDS = 3
"""Consecutive lines like ``From: …`` below a rule that make it the beginning of a forwarded message."""


HEAD = 20
"""Lines in which a quoted message says who wrote it and when."""


def quoted_from(words: str) -> list[int]:
    """Return where each quoted message begins in the text of a mail, in order, by characters.

    Sure are two forms, in any language. A line with a date or an address that ends with a colon, behind which all lines
    to the end are quoted one mark deeper. And a rule, below which FIELDS header fields stand.
    """
    lines = list(_lines(words))
    full = [index for index, line in enumerate(lines) if line[2]]
    deepest_after = [0] * (len(full) + 1)
    deepest_after[len(full)] = 1 << 30
    for at in range(len(full) - 1, -1, -1):
        deepest_after[at] = min(deepest_after[at + 1], lines[full[at]][1])
    found: list[int] = []
    for at, index in enumerate(full[:-1]):
        start, depth, line = lines[index]
        if line.endswith(":") and lines[full[at + 1]][1] == depth + 1 and deepest_after[at + 1] > depth:
            before = lines[index - 1] if index and lines[index - 1][1] == depth else (start, depth, "")
            if _tells(line):
                found.append(start)
            elif before[2] and _tells(before[2]):
                found.append(before[0])
        elif len(full) > at + FIELDS and _RULE.match(line):
            below = full[at + 1 : at + 1 + FIELDS]
            found += [start] if all(_FIELD.match(lines[other][2]) for other in below) else []
    return sorted(set(found) - {0})


def header_of(quoted: str) -> tuple[str, str]:
    """Return sender and date of a quoted message that begins where :func:`quoted_from` found it; '' where not sure."""
    lines = [line for _, _, line in _lines("\n".join(quoted.lstrip("\n").split("\n")[:HEAD]))]
    return said_of(lines, has_fields=_RULE.match(lines[0]) is not None)


def addresses_in(words: str) -> list[str]:
    """Return the addresses that a text names, each once."""
    return list(dict.fromkeys(_ADDRESS.findall(words)))


def _tells(line: str) -> bool:
    return any(char.isdigit() for char in line) or "@" in line


def _lines(words: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, marks of quotation, the words behind them) of each line."""
    at = 0
    for line in words.split("\n"):
        marks = _MARKS.match(line)
        assert marks is not None
        yield at, marks[1].count(">"), line[marks.end() :].strip()
        at += len(line) + 1
